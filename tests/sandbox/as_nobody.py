"""Run as root: becomes uid 65534 and prints, as JSON, how a sample of jobs fares in both modes.

A mount namespace of its own first opens the way to interpreter, environment and checkout, should they lie below a
folder that only root may enter.
"""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(Path(__file__).parent)]

from conftest import KINDS  # noqa: E402

from cli.attacks.kernels import HARMLESS, fare  # noqa: E402
from sandbox import linux  # noqa: E402
from sandbox.launcher import JobLimits, Sandbox  # noqa: E402
from sandbox.namespaces import NOBODY  # noqa: E402
from sandbox.pipeline import PipelineLimits  # noqa: E402
from sandbox.probe import isolation  # noqa: E402

SAMPLE = {
    "answer": "print(6 * 7)",
    "spin": "while True: pass",
    "sleep": "import time; time.sleep(60)",
    "memory": "b = []\nwhile True: b.append(bytearray(4 << 20))",
    "output": "while True: print('A' * 1000)",
    "threads": "import threading, time\nwhile True:\n  try: threading.Thread(target=time.sleep, args=(9,)).start()\n"
    "  except RuntimeError: time.sleep(9)",
} | {
    name: (REPOSITORY / "tests" / "data" / "attacks" / f"{name}.py").read_text()
    for name in ("fr01_passwd", "fr05_proc_root", "nw08_other_families", "pr04_kill_all", "pr10_userns")
}


def closed_ancestor(path: Path) -> Path | None:
    """The outermost folder above `path` that others may not enter."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None


def open_the_way() -> None:
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    trees = [Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), REPOSITORY]
    closed = {tree: folder for tree in trees if (folder := closed_ancestor(tree)) is not None}
    handles = {tree: os.open(tree, os.O_PATH) for tree in closed}
    for folder in set(closed.values()):
        linux.mount("open", str(folder), "tmpfs", 0, "mode=755")
    for tree, handle in handles.items():
        tree.mkdir(parents=True, exist_ok=True)
        linux.mount(f"/proc/self/fd/{handle}", str(tree), None, linux.MS_BIND | linux.MS_REC)
        os.close(handle)


def main() -> None:
    child = linux.fork(linux.CLONE_NEWNS)
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    open_the_way()
    linux.become_user(NOBODY)
    os.chdir("/")
    patient = JobLimits(wall=60, cpu=20, memory=256 << 20, output=50_000, pids=8)
    hurried = dict.fromkeys(("sleep", "spin"), dataclasses.replace(patient, wall=1.5, cpu=1))
    report: dict[str, object] = {"isolation": isolation().mode}
    for mode in ("strong", "weak"):
        with Sandbox(mode, profiles=KINDS) as box, tempfile.TemporaryDirectory() as folder:  # type: ignore[arg-type]
            outcomes = {
                name: box.start("python", text.encode(), limits=hurried.get(name, patient)).wait()
                for name, text in SAMPLE.items()
            }
            kernel = fare(box, HARMLESS.encode(), Path(folder), limits=PipelineLimits())
            report[mode] = {
                "kernel": [kernel.verdict, kernel.buffers.get("b0", b"")[:4].hex()],
                "cgroup": box.report.cgroup,
                "jobs": {
                    name: [end.verdict, end.stdout[:2000].decode(errors="replace")] for name, end in outcomes.items()
                },
            }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
