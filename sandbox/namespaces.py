"""Entering the namespaces: once for a zygote, and once more for each job."""

from __future__ import annotations

import os

from sandbox import linux

NOBODY = 65534
"""The uid that a zygote started by root drops to."""

JOB_UID = 1000
"""The only uid and gid that exist inside a job."""

_ZYGOTE = (
    linux.CLONE_NEWNS
    | linux.CLONE_NEWPID
    | linux.CLONE_NEWNET
    | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
    | linux.CLONE_NEWCGROUP
)


def open_proc() -> int:
    """The machine's /proc, through which this process can map its ids after it has left that root."""
    return os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def enter(proc: int, keep: int) -> None:
    """Go on as process 1 of fresh namespaces with an empty network; the caller waits outside and exits with us.

    Root uses its own rights. Others, and a root without them, map themselves into a user namespace first.
    `keep` is the one descriptor that only the inner process may hold. Raises OSError where the kernel refuses.
    """
    uid, gid = os.getuid(), os.getgid()
    inner = -1
    if uid == 0:
        try:
            inner = linux.fork(_ZYGOTE)
        except PermissionError:
            linux.become_user(NOBODY)
            uid = gid = NOBODY
    if inner < 0:
        inner = linux.fork(_ZYGOTE | linux.CLONE_NEWUSER)
        if inner == 0:
            linux.map_ids(JOB_UID, uid, gid, proc)
    if inner == 0:
        # Also the first thing that a security module refuses, before anything costly is done.
        linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
        return
    os.close(keep)
    _, status = os.waitpid(inner, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def settle() -> None:
    """Give up what building the root took: the bounding set, and root itself where we are the machine's root."""
    linux.set_host_name(b"sandbox")
    linux.drop_bounding_set()
    if os.getuid() == 0:
        linux.become_user(NOBODY)


def job_flags(mounts: bool) -> int:
    """A job's own user, process and ipc namespaces; a mount namespace where it gets folders of its own."""
    flags = linux.CLONE_NEWUSER | linux.CLONE_NEWPID | linux.CLONE_NEWIPC
    return flags | linux.CLONE_NEWNS if mounts else flags


def furnish(scratch: tuple[int, int], own_tmp: bool, own_proc: bool) -> None:
    """Inside a job's fresh namespaces, ids mapped: mount a scratch folder of (bytes, files), its own /tmp and /proc."""
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("job", "/job", "tmpfs", flags, f"size={scratch[0]},nr_inodes={scratch[1]},mode=700")
    if own_tmp:
        os.mkdir("/job/tmp", 0o700)  # noqa: PTH102
        linux.mount("/job/tmp", "/tmp", None, linux.MS_BIND)
    if own_proc:
        linux.mount("proc", "/proc", "proc", flags, "subset=pid")


def mount_proc() -> None:
    """Inside a job's fresh namespaces, ids mapped: a /proc of its own, with what the kernel's modules tell there."""
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
