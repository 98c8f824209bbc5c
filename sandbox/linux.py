"""The kernel calls that the sandbox needs and the standard library lacks, through ctypes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import struct
from collections.abc import Iterable
from pathlib import Path

X86_64 = platform.machine() == "x86_64"

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_NEWTIME = 0x00000080
CLONE_THREAD = 0x00010000
_SIGCHLD = 17

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522

_SYS_CLONE = 56 if X86_64 else 220
_SYS_PIVOT_ROOT = 155 if X86_64 else 41
_SYS_CAPSET = 126 if X86_64 else 91
_SYS_CLOSE_RANGE = 436

_F_ADD_SEALS = 1033
_ALL_SEALS = 0xF  # seal | shrink | grow | write
_F_SETPIPE_SZ = 1031

_libc = ctypes.CDLL(None, use_errno=True)
# clone() must not run with the interpreter lock released: the child has only this one thread.
_libc_with_lock = ctypes.PyDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    """Call the kernel directly; raises OSError with the call's number on failure."""
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def prctl(option: int, *values: int) -> int:
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(option, *padded), f"prctl {option}")


def die_with_parent() -> None:
    """SIGKILL this process when the thread that started it ends."""
    prctl(_PR_SET_PDEATHSIG, 9)


def set_dumpable(on: bool) -> None:
    """Non-dumpable processes cannot be read or traced by others of their uid; their /proc is root's."""
    prctl(_PR_SET_DUMPABLE, int(on))


def become_subreaper() -> None:
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def no_new_privileges() -> None:
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def fork(namespace_flags: int = 0) -> int:
    """fork() that puts the child straight into new namespaces; 0 in the child. For one-threaded callers."""
    ctypes.pythonapi.PyOS_BeforeFork()
    result = _libc_with_lock.syscall(
        ctypes.c_long(_SYS_CLONE), ctypes.c_ulong(namespace_flags | _SIGCHLD), None, None, None, None
    )
    number = ctypes.get_errno()
    if result == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    if result < 0:
        raise OSError(number, f"clone: {os.strerror(number)}")
    return int(result)


def map_ids(inside: int, uid: int, gid: int, proc: int) -> None:
    """Map one uid and gid of the parent namespace to `inside`; `proc` is a descriptor of a /proc folder."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inside} {uid} 1"), ("gid_map", f"{inside} {gid} 1")):
        fd = os.open(f"self/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    def encoded(text: str | None) -> bytes | None:
        return None if text is None else os.fsencode(text)

    result = _libc.mount(encoded(source), encoded(target), encoded(kind), ctypes.c_ulong(flags), encoded(data))
    _checked(result, f"mount {kind or source} on {target}")


def pivot_root(new_root: str) -> None:
    """Make `new_root` the root and let go of the old one."""
    os.chdir(new_root)
    syscall(_SYS_PIVOT_ROOT, b".", b".")
    _checked(_libc.umount2(b".", _MNT_DETACH), "umount of the old root")
    os.chdir("/")


def set_host_name(name: bytes) -> None:
    _checked(_libc.sethostname(name, ctypes.c_size_t(len(name))), "sethostname")


def drop_bounding_set() -> None:
    """Give up the capability bounding set, where we hold the right to."""
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break


def drop_capabilities() -> None:
    """Give up every capability of this process and the means to regain one."""
    drop_bounding_set()
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = ctypes.create_string_buffer(struct.pack("Ii", _CAPABILITY_VERSION_3, 0))
    syscall(_SYS_CAPSET, header, ctypes.create_string_buffer(bytes(24)))


def become_user(uid: int) -> None:
    """Drop to `uid` for good, and stay dumpable so that a new user namespace can be mapped."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    set_dumpable(True)


def close_all_but(keep: Iterable[int]) -> None:
    low = 0
    for fd in [*sorted(set(keep)), 0x7FFFFFFF]:
        if fd > low:
            syscall(_SYS_CLOSE_RANGE, ctypes.c_uint(low), ctypes.c_uint(fd - 1), ctypes.c_uint(0))
        low = fd + 1


def sealed_memfd(name: str, parts: Iterable[bytes | bytearray | memoryview]) -> int:
    """An anonymous file that holds `parts` and that nobody can change any more."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        for part in parts:
            view = memoryview(part).cast("B") if len(part) else memoryview(b"")
            while view.nbytes:
                view = view[os.write(fd, view) :]
        fcntl.fcntl(fd, _F_ADD_SEALS, _ALL_SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def widen_pipe(fd: int, size: int) -> None:
    """Ask for a pipe buffer of `size` bytes; a smaller one (the user's quota is spent) is slower, not wrong."""
    try:
        fcntl.fcntl(fd, _F_SETPIPE_SZ, size)
    except PermissionError:
        return


def pid_of(pidfd: int) -> int:
    """The pid, in this process's pid namespace, of the process behind `pidfd`; -1 once it is gone."""
    for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        if line.startswith("Pid:"):
            return int(line.split()[1])
    return -1


def thread_count(proc: int) -> int:
    """Threads of this process; `proc` is a descriptor of a /proc folder."""
    fd = os.open("self/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return len(os.listdir(fd))  # noqa: PTH208 - a descriptor
    finally:
        os.close(fd)
