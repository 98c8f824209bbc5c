"""Process 1 of a job: furnishes its namespaces, starts the child, reaps, and reports how the child ended."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
from dataclasses import dataclass
from typing import Any, NoReturn

from sandbox import child, control, linux, namespaces
from sandbox.confinement import Confinement
from sandbox.profiles import PROFILES

_STATUS_LOST = 125


@dataclass(frozen=True, slots=True)
class Household:
    """What a zygote hands to the init of each of its jobs."""

    kind: str
    strong: bool
    readable: tuple[str, ...]
    devices: tuple[str, ...]
    proc: int
    uid: int
    gid: int


def run(house: Household, status: socket.socket, order: dict[str, Any], streams: list[int]) -> NoReturn:
    """Become the init of one job. `streams`: stdout, stderr, the event pipe, the sealed input."""
    code = _STATUS_LOST
    try:
        _run(house, status, order, streams)
        code = 0
    except BaseException as error:
        control.send(status, {"error": f"the job's init failed: {error!r}"[:500]})
    finally:
        os._exit(code)


def _run(house: Household, status: socket.socket, order: dict[str, Any], streams: list[int]) -> None:
    linux.close_all_but({0, status.fileno(), house.proc, *streams})
    profile = PROFILES[house.kind]
    limits = order["limits"]
    scratch = (int(limits["scratch"]), int(limits["scratch_files"])) if profile.scratch else None
    if house.strong:
        namespaces.furnish_job(house.uid, house.gid, house.proc, scratch, profile.proc)
    else:
        linux.die_with_parent()
        linux.become_subreaper()
    _prefer_as_oom_victim(house.proc)
    linux.set_dumpable(False)
    go, _ = control.receive(status)
    if go is None:
        return
    # Beyond the limit of the watchdog, so that the verdict is the watchdog's unless the job is faster than it.
    spare = int(limits["memory"] * 1.25) + (64 << 20)
    data = _data_in_use(house.proc) + spare if go["memory_by_rlimit"] else None
    me = os.getpid()
    pid = linux.fork()
    if pid == 0:
        status.close()
        writable = ("/job", "/tmp") if house.strong and profile.scratch else ()
        walls = Confinement(
            strong=house.strong,
            syscalls=tuple(profile.syscalls),
            readable=_readable(house),
            writable=writable,
            devices=house.devices,
            limits=limits,
            init=me,
            data=data,
        )
        child.become(house.kind, walls, streams, "/job" if writable else "/", bool(order["canary"]))
    if not house.strong:
        handle = os.pidfd_open(pid)
        control.send(status, {"child": True}, [handle])
        os.close(handle)
    linux.close_all_but({0, status.fileno()})
    report: dict[str, Any] = {}
    while not report:
        done, exit_status, usage = os.wait4(-1, 0)
        if done == pid:
            report = {
                "exit": exit_status,
                "cpu": usage.ru_utime + usage.ru_stime,
                "max_rss": usage.ru_maxrss * 1024,
                "scratch_full": scratch is not None and house.strong and _is_full("/job"),
            }
    control.send(status, report)


def _readable(house: Household) -> tuple[str, ...]:
    if not house.strong:
        return house.readable
    return (*house.readable, "/etc", "/proc") if PROFILES[house.kind].proc else house.readable


def _is_full(folder: str) -> bool:
    room = os.statvfs(folder)
    return room.f_bavail == 0 or room.f_favail == 0


def _prefer_as_oom_victim(proc: int) -> None:
    """If the machine runs out of memory after all, a job goes before anything else. A wish, not a wall."""
    with contextlib.suppress(OSError):
        fd = os.open("self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            os.write(fd, b"1000")
        finally:
            os.close(fd)


def _data_in_use(proc: int) -> int:
    """Private writable memory inherited from the zygote: RLIMIT_DATA counts it, our limit does not."""
    fd = os.open("self/statm", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return int(os.read(fd, 256).split()[5]) * resource.getpagesize()
    finally:
        os.close(fd)
