"""Process 1 of a job: waits for it, furnishes its namespaces, starts the child, reports how the child ended."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from sandbox import child, control, linux, namespaces
from sandbox.confinement import Confinement, job_limits
from sandbox.profiles import DRIVER_PROC, DRIVER_WRITES, PROFILES

_STATUS_LOST = 125


@dataclass(frozen=True, slots=True)
class Household:
    """What a zygote hands to the init of each of its jobs."""

    strong: bool
    readable: Mapping[str, tuple[str, ...]]
    """By kind of job."""
    devices: tuple[str, ...]
    driven: tuple[str, ...]
    """Device nodes of the GPU, where its jobs get one."""
    proc: int
    uid: int
    gid: int

    @property
    def ahead(self) -> str | None:
        """The kind of job whose process begins before the job is known."""
        return next((kind for kind in self.readable if PROFILES[kind].gpu), None)


def run(house: Household, status: socket.socket) -> NoReturn:
    """Become an init that waits at `status` for its one job: the order and, with it, the job's streams."""
    code = _STATUS_LOST
    try:
        _run(house, status)
        code = 0
    except BaseException as error:
        control.send(status, {"error": f"the job's init failed: {error!r}"[:500]})
    finally:
        os._exit(code)


def _run(house: Household, status: socket.socket) -> None:
    linux.close_all_but({0, status.fileno(), house.proc})
    if house.strong:
        linux.map_ids(namespaces.JOB_UID, house.uid, house.gid, house.proc)
    else:
        linux.die_with_parent()
        linux.become_subreaper()
    _prefer_as_oom_victim(house.proc)
    linux.set_dumpable(False)
    if house.ahead is not None:
        _run_ahead(house, status, house.ahead)
        return
    order, streams = control.receive(status)  # stdout, stderr, the event pipe, the sealed input
    if order is None:
        return
    kind = order["kind"]
    profile = PROFILES[kind]
    limits = order["limits"]
    scratch = (int(limits["scratch"]), int(limits["scratch_files"])) if profile.scratch and house.strong else None
    if scratch is not None:
        # A checkout or an environment below /tmp would be hidden by a /tmp of the job's own.
        own_tmp = not any(path.startswith("/tmp/") for path in house.readable[kind])
        namespaces.furnish(scratch, own_tmp, profile.proc)
    data = _data_in_use(house.proc, "self") + _spare_data(limits) if order["memory_by_rlimit"] else None
    me = os.getpid()
    pid = linux.fork()
    if pid == 0:
        status.close()
        writable = () if scratch is None else ("/job", "/tmp")
        walls = Confinement(
            strong=house.strong,
            policy=profile.policy,
            readable=(*house.readable[kind], *(("/etc", "/proc") if house.strong and profile.proc else ())),
            writable=writable,
            devices=house.devices,
            driven=(),
            init=me,
            limits=limits,
            data=data,
        )
        child.become(kind, walls, streams, "/job" if writable else "/", bool(order["canary"]))
    _await(house, status, pid, scratch is not None)


def _run_ahead(house: Household, status: socket.socket, kind: str) -> None:
    """Start the process of a job of this kind, then wait for the job and hand it over."""
    begin, _ = control.receive(status)  # once this init is in its cgroup, so that the process is too
    if begin is None:
        return
    if house.strong:
        namespaces.mount_proc()
    ours, theirs = control.pair()
    me = os.getpid()
    pid = linux.fork()
    if pid == 0:
        status.close()
        ours.close()
        walls = Confinement(
            strong=house.strong,
            policy=PROFILES[kind].start_policy,
            readable=(*house.readable[kind], *(("/etc",) if house.strong else ()), *DRIVER_PROC),
            writable=DRIVER_WRITES,
            devices=house.devices,
            driven=house.driven,
            init=me,
            limits=None,
        )
        child.become_ahead(kind, walls, theirs)
    theirs.close()
    order, streams = control.receive(status)
    if order is None:
        return
    # The process's number is that of this namespace, so its /proc is asked.
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    data = _data_in_use(proc, str(pid)) + _spare_data(order["limits"]) if order["memory_by_rlimit"] else None
    os.close(proc)
    for which, pair in job_limits(order["limits"], house.strong, data).items():
        resource.prlimit(pid, which, pair)
    control.send(ours, order, streams)
    ours.close()
    _await(house, status, pid)


def _spare_data(limits: Mapping[str, float]) -> int:
    """Beyond the limit of the watchdog, so that the verdict is the watchdog's unless the job is faster than it."""
    return int(limits["memory"] * 1.25) + (64 << 20)


def _await(house: Household, status: socket.socket, pid: int, scratch: bool = False) -> None:
    """Wait for the job's process and report how it ended."""
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
                "scratch_full": scratch and _is_full("/job"),
            }
    control.send(status, report)


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


def _data_in_use(proc: int, process: str) -> int:
    """Private writable memory that a process has before its job: RLIMIT_DATA counts it, our limit does not."""
    fd = os.open(f"{process}/statm", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return int(os.read(fd, 256).split()[5]) * resource.getpagesize()
    finally:
        os.close(fd)
