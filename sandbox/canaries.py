"""Our own attempts to break out, made behind the same walls as user code; each must be refused."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import child, linux
from sandbox.child import Emit
from sandbox.syscalls import NUMBERS

_PTRACE_SEIZE = 0x4206  # attaches without stopping: harmless should it succeed
_EXPECTED_ENVIRONMENT = {"PATH", "HOME", "TMPDIR", "LANG"}
_LAST_DESCRIPTOR = 3


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the supervisor plants for the attempts to find."""

    secret: str
    """A file that every user of the machine may read."""
    port: int
    """A loopback port that somebody listens on."""
    supervisor: int
    """The supervisor's pid."""
    writable: tuple[str, ...]
    """Folders in which a job of this kind may write."""


def run_job(request: bytes, blobs: Mapping[str, memoryview], emit: Emit) -> None:
    """Make every attempt and tell each outcome: {"attempt": name, "refused": bool, "detail": text}."""
    values: dict[str, Any] = json.loads(request)
    around = Surroundings(**{**values, "writable": tuple(values["writable"])})
    for name, attempt in ATTEMPTS.items():
        try:
            detail = attempt(around)
            refused = False
        except OSError as error:
            refused, detail = True, error.strerror or type(error).__name__
        emit({"attempt": name, "refused": refused, "detail": detail}, b"")


def _read_planted_file(around: Surroundings) -> str:
    return f"read a file outside: {len(Path(around.secret).read_bytes())} bytes"


def _read_shadow(_: Surroundings) -> str:
    return f"read /etc/shadow: {len(Path('/etc/shadow').read_bytes())} bytes"


def _read_supervisor_environment(around: Surroundings) -> str:
    environment = Path(f"/proc/{around.supervisor}/environ").read_bytes()
    return f"read the supervisor's environment: {len(environment)} bytes"


def _connect(around: Surroundings) -> str:
    with socket.create_connection(("127.0.0.1", around.port), 1):
        return "connected to a port of this machine"


def _open_unix_socket(_: Surroundings) -> str:
    with socket.socket(socket.AF_UNIX):
        return "opened a unix socket"


def _signal_supervisor(around: Surroundings) -> str:
    os.kill(around.supervisor, 0)
    return "may signal the supervisor"


def _own_supervisor(around: Surroundings) -> str:
    read, write = os.pipe()
    try:
        fcntl.fcntl(read, fcntl.F_SETOWN, around.supervisor)
    finally:
        os.close(read)
        os.close(write)
    return "may have signals sent to the supervisor"


def _write_outside(around: Surroundings) -> str:
    refusal = OSError(0, "nowhere to write")
    for folder in ("/", "/tmp", "/var/tmp", "/dev/shm", str(Path.cwd()), str(Path(__file__).parent)):
        if folder in around.writable:
            continue
        name = f"{folder}/sandbox-canary-{os.getpid()}"
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            refusal = error
        else:
            Path(name).unlink()
            return f"wrote to {folder}"
    raise refusal


def _raise_limit(_: Surroundings) -> str:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))
    except ValueError as error:  # how the module tells EPERM
        raise PermissionError(str(error)) from None
    return "may set its own limits"


def _outlive_parent(_: Surroundings) -> str:
    linux.prctl(1, 0)
    return "may outlive its init"


def _system_call(name: str, *arguments: object) -> Callable[[Surroundings], str]:
    def attempt(_: Surroundings) -> str:
        linux.syscall(NUMBERS[name], *arguments)
        return f"{name} was allowed"

    return attempt


def _trace_supervisor(around: Surroundings) -> str:
    linux.syscall(NUMBERS["ptrace"], _PTRACE_SEIZE, around.supervisor, 0, 0)
    return "may trace the supervisor"


def _inherited_environment(_: Surroundings) -> str:
    extra = set(os.environ) - _EXPECTED_ENVIRONMENT
    if extra:
        return f"{len(extra)} variables of the environment reach jobs"
    raise OSError(0, "nothing inherited")


def _inherited_descriptors(_: Surroundings) -> str:
    for fd in set(range(_LAST_DESCRIPTOR + 1, 64)) - child.opened_ahead:
        try:
            os.fstat(fd)
        except OSError:
            continue
        return f"descriptor {fd} reaches jobs"
    raise OSError(0, "nothing inherited")


def _fork(_: Surroundings) -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return "may start processes"


def _execute(_: Surroundings) -> str:
    os.execv("/bin/true", ["true"])


# Those that would end the job if they succeeded come last: a missing answer counts as a breach.
ATTEMPTS: dict[str, Callable[[Surroundings], str]] = {
    "planted file": _read_planted_file,
    "shadow file": _read_shadow,
    "supervisor's environment": _read_supervisor_environment,
    "loopback connection": _connect,
    "unix socket": _open_unix_socket,
    "signal": _signal_supervisor,
    "signal by descriptor": _own_supervisor,
    "trace": _trace_supervisor,
    "write": _write_outside,
    "raise a limit": _raise_limit,
    "outlive init": _outlive_parent,
    "user namespace": _system_call("unshare", ctypes.c_ulong(linux.CLONE_NEWUSER)),
    "io_uring": _system_call("io_uring_setup", 1, ctypes.create_string_buffer(120)),
    "memfd": _system_call("memfd_create", b"canary", 0),
    "bpf": _system_call("bpf", 0, 0, 0),
    "environment": _inherited_environment,
    "descriptors": _inherited_descriptors,
    "fork": _fork,
    "exec": _execute,
}
