"""The system calls that a job may make: an allow-list, assembled to a seccomp filter."""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox import linux
from sandbox.syscalls import AUDIT_ARCHITECTURE, NUMBERS

_SYS_SECCOMP = NUMBERS["seccomp"]
_SET_MODE_FILTER = 1
_ALL_THREADS = 1

# BPF operations: load a word of seccomp_data, jump if equal / at least / any bit set, and, return.
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_SET, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_ALLOW, _KILL_PROCESS = 0x7FFF0000, 0x80000000
_X32_BIT = 0x40000000

_NAMESPACES = (
    linux.CLONE_NEWNS
    | linux.CLONE_NEWCGROUP
    | linux.CLONE_NEWUTS
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUSER
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
)

# Everything that computing, threads, memory and reading the listed files take; no sockets, no fork, no exec.
_COMPUTE_TEXT = """
read write close stat fstat lstat poll lseek munmap brk rt_sigaction rt_sigprocmask rt_sigreturn pread64
pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise dup dup2 pause nanosleep
getitimer alarm setitimer getpid exit uname getdents getcwd chdir fchdir readlink umask gettimeofday
getrlimit getrusage sysinfo times getuid getgid geteuid getegid getppid getpgrp getgroups getresuid
getresgid getpgid getsid rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack statfs fstatfs getpriority
sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min mlock munlock arch_prctl
gettid time futex sched_getaffinity getdents64 set_tid_address restart_syscall fadvise64 timer_create
timer_settime timer_gettime timer_delete clock_gettime clock_getres clock_nanosleep exit_group epoll_wait
epoll_ctl epoll_create1 epoll_pwait open openat newfstatat readlinkat faccessat faccessat2 pselect6 ppoll
set_robust_list get_robust_list get_mempolicy timerfd_create timerfd_settime eventfd2 dup3 pipe2 preadv
pwritev getcpu getrandom membarrier statx rseq close_range futex_waitv waitid wait4 sendfile mmap mprotect
"""
COMPUTE = _COMPUTE_TEXT.split()

# For a job with a scratch folder of its own.
_SCRATCH_TEXT = """
flock fsync fdatasync truncate ftruncate rename mkdir rmdir creat link unlink symlink mkdirat unlinkat renameat
renameat2 linkat symlinkat fallocate copy_file_range utimensat
"""
SCRATCH = _SCRATCH_TEXT.split()

# For the start of a GPU's driver, before there is a job: sockets of the unix family, links to its device nodes and
# folders for its caches, which the read-only root refuses without harm, and files without a name for what it prints.
_DRIVER_START_TEXT = """
bind listen connect accept setsockopt getsockopt getsockname sendto recvfrom sendmsg recvmsg shutdown
mkdir symlink unlink memfd_create seccomp
"""

# Answered EPERM, which programs understand; whatever is named nowhere gets ENOSYS.
_REFUSED_TEXT = """
socket socketpair execve execveat fork vfork chmod fchmod fchmodat chown fchown lchown fchownat mknod
mknodat memfd_create ptrace process_vm_readv process_vm_writev mount umount2 pivot_root chroot unshare setns
setuid setgid bpf keyctl add_key request_key io_uring_setup userfaultfd perf_event_open open_by_handle_at
seccomp setrlimit sched_setaffinity pidfd_open pidfd_send_signal rt_sigqueueinfo syslog
"""
_REFUSED = _REFUSED_TEXT.split()

# Name of a thread, dumpable, keep-capabilities and no-new-privileges read, THP; never parent-death or filters.
_PRCTL = (3, 15, 16, 39, 42, 0x53564D41)
# TCGETS, TIOCGWINSZ, FIONREAD, FIONCLEX, FIOCLEX, FIONBIO.
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451, 0x5421)
# DUPFD, GETFD, SETFD, GETFL, SETFL, locks, pipe size, seals. F_SETOWN and F_SETSIG are absent: they send any
# signal to any process of the same user, past the rules for kill().
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1031, 1032, 1034)
# Requests to NVIDIA's device nodes: those of nvidiactl and nvidiaN have type 'F', those of nvidia-uvm are plain small
# numbers, but for the two that begin and end its use.
_NVIDIA_TYPE, _UVM_BELOW, _UVM = 0x46, 0x100, (0x30000001, 0x30000002)
_AF_UNIX = 1


@dataclass(frozen=True, slots=True)
class Policy:
    """Calls that are allowed by name, and whether NVIDIA's device nodes and unix sockets may be used."""

    calls: tuple[str, ...]
    nvidia: bool = False
    unix_sockets: bool = False


DRIVER = Policy(tuple(COMPUTE), nvidia=True)
"""A job on a GPU: requests to its device nodes, and else what every job may."""
DRIVER_START = Policy((*COMPUTE, *_DRIVER_START_TEXT.split()), nvidia=True, unix_sockets=True)

Instruction = tuple[int, int, int, int]


def _answer(value: int) -> Instruction:
    return (_RETURN, 0, 0, value)


def _refuse(number: int) -> Instruction:
    return _answer(0x00050000 | number)


def _load_argument(index: int, high: bool = False) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index + (4 if high else 0))


def _one_of(argument: int, values: Sequence[int], otherwise: Instruction) -> list[Instruction]:
    body = [_load_argument(argument)]
    for value in values:
        body += [(_JUMP_EQUAL, 0, 1, value), _answer(_ALLOW)]
    return [*body, otherwise]


def _nvidia_requests() -> list[Instruction]:
    """Allow a request by its type or number; falls through where it is none of NVIDIA's."""
    return [
        _load_argument(1),
        (_AND, 0, 0, 0xFF00),
        (_JUMP_EQUAL, 0, 1, _NVIDIA_TYPE << 8),
        _answer(_ALLOW),
        *(_load_argument(1), (_JUMP_AT_LEAST, 1, 0, _UVM_BELOW), _answer(_ALLOW)),
        *_one_of(1, _UVM, _load_argument(1)),
    ]


def assemble(policy: Policy, only_pid: int | None) -> bytes:
    """The filter's code. `only_pid`: the one process it may signal, where no pid namespace hides the others."""
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_EQUAL, 1, 0, AUDIT_ARCHITECTURE),
        _answer(_KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if linux.X86_64:
        program += [(_JUMP_AT_LEAST, 0, 1, _X32_BIT), _answer(_KILL_PROCESS)]

    def rule(name: str, body: Sequence[Instruction]) -> None:
        if name in NUMBERS:
            program.append((_JUMP_EQUAL, 0, len(body), NUMBERS[name]))
            program.extend(body)

    eperm = _refuse(errno.EPERM)
    for name in policy.calls:
        rule(name, [_answer(_ALLOW)])
    if policy.unix_sockets:
        rule("socket", _one_of(0, (_AF_UNIX,), eperm))
    # glibc falls back from clone3, whose flags lie in memory where no filter can see them, to clone.
    rule("clone3", [_refuse(errno.ENOSYS)])
    threads_only = (linux.CLONE_THREAD | _NAMESPACES) & 0xFFFFFFFF
    rule(
        "clone",
        [
            _load_argument(0),
            (_AND, 0, 0, threads_only),
            (_JUMP_EQUAL, 0, 1, linux.CLONE_THREAD),
            _answer(_ALLOW),
            eperm,
        ],
    )
    for name in ("kill", "tgkill"):
        rule(name, [_answer(_ALLOW)] if only_pid is None else _one_of(0, [only_pid], eperm))
    if only_pid is None:
        rule("tkill", [_answer(_ALLOW)])
    reads_own_limits: list[Instruction] = []
    for part in (_load_argument(0), _load_argument(2), _load_argument(2, high=True)):
        reads_own_limits += [part, (_JUMP_EQUAL, 1, 0, 0), eperm]
    rule("prlimit64", [*reads_own_limits, _answer(_ALLOW)])
    rule("prctl", _one_of(0, _PRCTL, eperm))
    own = _nvidia_requests() if policy.nvidia else []
    rule("ioctl", [*own, *_one_of(1, _IOCTL, _refuse(errno.ENOTTY))])
    rule("fcntl", _one_of(1, _FCNTL, eperm))
    for name in _REFUSED:
        rule(name, [eperm])
    program.append(_refuse(errno.ENOSYS))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(policy: Policy, only_pid: int | None, all_threads: bool = False) -> None:
    """Confine this process for good. Call last, after no-new-privileges, with one thread.

    `all_threads`: also those that run already, which must be under the same filters as this one. A further filter
    can only take away. Raises OSError where a thread could not be confined.
    """
    code = assemble(policy, only_pid)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    flags = _ALL_THREADS if all_threads else 0
    thread = linux.syscall(_SYS_SECCOMP, ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(flags), ctypes.byref(program))
    if thread:
        raise OSError(errno.EPERM, f"thread {thread} is under another filter")
