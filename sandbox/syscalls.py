"""System call numbers of x86-64 and aarch64 for the calls that the policy names."""

from __future__ import annotations

from sandbox.linux import X86_64

# Consecutive numbers from 0, as in arch/x86/entry/syscalls/syscall_64.tbl.
_X86_64_FROM_ZERO_TEXT = """
read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise
shmget shmat shmctl dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile socket connect accept
sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt
getsockopt clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv
msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat
link unlink symlink readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit getrusage sysinfo
times ptrace getuid syslog getgid setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid
setregid getgroups setgroups setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget
capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod uselib
personality ustat statfs fstatfs sysfs getpriority setpriority sched_setparam sched_getparam
sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval
mlock munlock mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex setrlimit
chroot sync acct settimeofday mount umount2
"""
_X86_64_FROM_ZERO = _X86_64_FROM_ZERO_TEXT.split()

_X86_64 = {name: number for number, name in enumerate(_X86_64_FROM_ZERO)} | {
    "gettid": 186, "tkill": 200, "time": 201, "futex": 202, "sched_setaffinity": 203,
    "sched_getaffinity": 204, "getdents64": 217, "set_tid_address": 218, "restart_syscall": 219,
    "fadvise64": 221, "timer_create": 222, "timer_settime": 223, "timer_gettime": 224, "timer_delete": 226,
    "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "epoll_wait": 232,
    "epoll_ctl": 233, "tgkill": 234, "get_mempolicy": 239, "waitid": 247, "add_key": 248, "request_key": 249,
    "keyctl": 250, "openat": 257, "mkdirat": 258, "mknodat": 259, "fchownat": 260, "newfstatat": 262,
    "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266, "readlinkat": 267, "fchmodat": 268,
    "faccessat": 269, "pselect6": 270, "ppoll": 271, "unshare": 272, "set_robust_list": 273,
    "get_robust_list": 274, "utimensat": 280, "epoll_pwait": 281, "timerfd_create": 283, "fallocate": 285,
    "timerfd_settime": 286, "eventfd2": 290, "epoll_create1": 291, "dup3": 292, "pipe2": 293, "preadv": 295,
    "pwritev": 296, "perf_event_open": 298, "prlimit64": 302, "open_by_handle_at": 304, "setns": 308,
    "getcpu": 309, "process_vm_readv": 310, "process_vm_writev": 311, "renameat2": 316, "seccomp": 317,
    "getrandom": 318, "memfd_create": 319, "bpf": 321, "execveat": 322, "userfaultfd": 323, "membarrier": 324,
    "copy_file_range": 326, "statx": 332, "rseq": 334, "pidfd_send_signal": 424, "io_uring_setup": 425,
    "pidfd_open": 434, "clone3": 435, "close_range": 436, "faccessat2": 439, "futex_waitv": 449,
}  # fmt: skip

# As in include/uapi/asm-generic/unistd.h.
_AARCH64 = {
    "getcwd": 17, "eventfd2": 19, "epoll_create1": 20, "epoll_ctl": 21, "epoll_pwait": 22, "dup": 23,
    "dup3": 24, "fcntl": 25, "ioctl": 29, "flock": 32, "mknodat": 33, "mkdirat": 34, "unlinkat": 35,
    "symlinkat": 36, "linkat": 37, "renameat": 38, "mount": 40, "pivot_root": 41, "statfs": 43, "fstatfs": 44,
    "truncate": 45, "ftruncate": 46, "fallocate": 47, "faccessat": 48, "chdir": 49, "fchdir": 50,
    "chroot": 51, "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "openat": 56, "close": 57,
    "pipe2": 59, "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66,
    "pread64": 67, "pwrite64": 68, "preadv": 69, "pwritev": 70, "pselect6": 72, "ppoll": 73, "readlinkat": 78,
    "newfstatat": 79, "fstat": 80, "fsync": 82, "fdatasync": 83, "timerfd_create": 85, "timerfd_settime": 86,
    "utimensat": 88, "exit": 93, "exit_group": 94, "waitid": 95, "set_tid_address": 96, "unshare": 97,
    "futex": 98, "set_robust_list": 99, "get_robust_list": 100, "nanosleep": 101, "getitimer": 102,
    "setitimer": 103, "timer_create": 107, "timer_gettime": 108, "timer_settime": 110, "timer_delete": 111,
    "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "ptrace": 117, "sched_getparam": 121,
    "sched_getscheduler": 120, "sched_setaffinity": 122, "sched_getaffinity": 123, "sched_yield": 124,
    "sched_get_priority_max": 125, "sched_get_priority_min": 126, "restart_syscall": 128, "kill": 129,
    "tkill": 130, "tgkill": 131, "sigaltstack": 132, "rt_sigsuspend": 133, "rt_sigaction": 134,
    "rt_sigprocmask": 135, "rt_sigpending": 136, "rt_sigtimedwait": 137, "rt_sigreturn": 139,
    "getpriority": 141, "setuid": 146, "times": 153, "getpgid": 155, "getsid": 156, "getgroups": 158,
    "uname": 160, "getrusage": 165, "umask": 166, "prctl": 167, "getcpu": 168, "gettimeofday": 169,
    "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177,
    "gettid": 178, "sysinfo": 179, "socket": 198, "socketpair": 199, "add_key": 217, "request_key": 218,
    "keyctl": 219, "brk": 214, "munmap": 215, "mremap": 216, "clone": 220, "execve": 221, "mmap": 222,
    "fadvise64": 223, "mprotect": 226, "msync": 227, "mlock": 228, "munlock": 229, "mincore": 232,
    "madvise": 233, "get_mempolicy": 236, "perf_event_open": 241, "wait4": 260, "prlimit64": 261,
    "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "renameat2": 276, "seccomp": 277, "getrandom": 278, "memfd_create": 279, "bpf": 280, "execveat": 281,
    "userfaultfd": 282, "membarrier": 283, "copy_file_range": 285, "statx": 291, "rseq": 293,
    "pidfd_send_signal": 424, "io_uring_setup": 425, "pidfd_open": 434, "clone3": 435, "close_range": 436,
    "faccessat2": 439, "futex_waitv": 449,
}  # fmt: skip

AUDIT_ARCHITECTURE = 0xC000003E if X86_64 else 0xC00000B7
NUMBERS = _X86_64 if X86_64 else _AARCH64
