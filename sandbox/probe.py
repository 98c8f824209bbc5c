"""What isolation this machine gives to this process, found out by trying it in a short-lived process."""

from __future__ import annotations

import functools
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox import landlock, linux, namespaces, root
from sandbox.cgroup import Cgroups
from sandbox.profiles import DEVICES, import_path, system_folders

_TIMEOUT = 10.0
_BOOTSTRAP = "import sys; sys.path[:0] = sys.argv[1:]; from sandbox.probe import main; main()"


@dataclass(frozen=True, slots=True)
class IsolationReport:
    """`reasons` says what is missing for more; `canaries` counts attempts that were made and refused."""

    mode: Literal["strong", "weak", "none"]
    reasons: tuple[str, ...]
    landlock_abi: int
    namespaces: bool
    cgroup: bool
    canaries: int = 0


def kernel_facts() -> IsolationReport:
    """What can be asked without trying: mode stays 'none' until something is tried."""
    return IsolationReport("none", (), landlock.abi(), namespaces=False, cgroup=False)


@functools.lru_cache(maxsize=1)
def isolation() -> IsolationReport:
    """The mode in which jobs would run here. About 60 ms the first time, then remembered.

    Runs no job: `Sandbox(...).report` is the word after the canaries.
    """
    reasons: list[str] = []
    abi = landlock.abi()
    refusal = _try_namespaces()
    if refusal:
        reasons.append(f"no namespaces: {refusal}")
    if not abi:
        reasons.append("this kernel has no Landlock")
    try:
        Cgroups().close()
        cgroup = True
    except OSError as error:
        cgroup = False
        reasons.append(f"no memory cgroup: {error.strerror or error}")
    mode: Literal["strong", "weak", "none"] = "weak" if abi else "none"
    if not refusal:
        mode = "strong"
    return IsolationReport(mode, tuple(reasons), abi, not refusal, cgroup)


def _try_namespaces() -> str:
    """Why strong mode is refused here; empty if it is not."""
    command = [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, *import_path()]
    try:
        done = subprocess.run(
            command,
            env={"PATH": "/usr/bin", "LANG": "C.UTF-8"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_TIMEOUT:g} s"
    try:
        return str(json.loads(done.stdout))
    except ValueError:
        return f"the trial ended with code {done.returncode}"


def main() -> None:
    """In the short-lived process: go the zygote's way and a job's, and print what refused."""
    refusal = ""
    out = os.dup(1)
    try:
        proc = namespaces.open_proc()
        namespaces.enter(proc, keep=1)
        root.build(system_folders(), (), DEVICES, proc=True)
        namespaces.settle()
        uid, gid = os.getuid(), os.getgid()
        pid = linux.fork(namespaces.job_flags(mounts=True))
        if pid == 0:
            try:
                linux.map_ids(namespaces.JOB_UID, uid, gid, proc)
                namespaces.furnish((1 << 20, 16), own_tmp=True, own_proc=True)
                os._exit(0)
            except OSError as error:
                os.write(out, json.dumps(str(error)).encode())
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        if status:
            os._exit(0)  # the job has written its reason
    except OSError as error:
        refusal = str(error)
    os.write(out, json.dumps(refusal).encode())
    os._exit(0)


def open_to_others(paths: Iterable[str]) -> bool:
    """Whether a user without rights of its own could read these: every folder above open, itself readable."""
    for name in paths:
        path = Path(name).resolve()
        for folder in path.parents:
            if not folder.stat().st_mode & stat.S_IXOTH:
                return False
        wanted = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        if path.stat().st_mode & wanted != wanted:
            return False
    return True
