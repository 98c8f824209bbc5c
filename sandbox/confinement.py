"""The last steps of a job's process before user code: limits, then every right given up, in this order."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox import landlock, linux, seccomp
from sandbox.seccomp import Policy

_STACK = 16 << 20


@dataclass(frozen=True, slots=True)
class Confinement:
    """Of one job: what it may read and write, which calls it may make, and its kernel-kept limits."""

    strong: bool
    policy: Policy
    readable: Sequence[str]
    writable: Sequence[str]
    devices: Sequence[str]
    driven: Sequence[str]
    """Device nodes that take requests."""
    init: int
    """Pid of the job's init, as this process sees it."""
    limits: Mapping[str, float] | None
    """None where the job is not known yet: init sets `job_limits` on this process later."""
    data: int | None = None
    """RLIMIT_DATA in bytes, where no memory cgroup holds the job."""


def confine(walls: Confinement) -> None:
    """Apply every layer to this one-threaded process; there is no way back. Raises OSError if one fails."""
    limits = FIXED | (job_limits(walls.limits, walls.strong, walls.data) if walls.limits is not None else {})
    for which, pair in limits.items():
        resource.setrlimit(which, pair)
    linux.no_new_privileges()
    linux.drop_capabilities()
    if not walls.strong:
        # No pid namespace takes this process along when its init dies; the filter keeps it from undoing this.
        linux.die_with_parent()
        if os.getppid() != walls.init:
            raise ProcessLookupError("the job's init is gone")
    landlock.restrict(walls.readable, walls.writable, walls.devices, walls.driven)
    # Without a pid namespace the others are in sight: then this process may signal itself alone.
    seccomp.install(walls.policy, None if walls.strong else os.getpid())


def narrow(policy: Policy, strong: bool) -> None:
    """Take calls away from a process that is confined already, in all of its threads."""
    seccomp.install(policy, None if strong else os.getpid(), all_threads=True)


FIXED: dict[int, tuple[int, int]] = {
    resource.RLIMIT_CORE: (0, 0),
    resource.RLIMIT_STACK: (_STACK, _STACK),
    resource.RLIMIT_MEMLOCK: (0, 0),
    resource.RLIMIT_MSGQUEUE: (0, 0),
    resource.RLIMIT_SIGPENDING: (64, 64),
    resource.RLIMIT_RTPRIO: (0, 0),
    resource.RLIMIT_NICE: (0, 0),
}
"""Limits of every job's process, soft and hard."""


def job_limits(limits: Mapping[str, float], strong: bool, data: int | None) -> dict[int, tuple[int, int]]:
    """What the kernel keeps of a job's own limits. `data` as in Confinement."""
    cpu = math.ceil(limits["cpu"])
    values = {
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_FSIZE: (int(limits["scratch"]),) * 2,
        resource.RLIMIT_NOFILE: (int(limits["open_files"]),) * 2,
    }
    if strong:
        # Counts this user namespace alone (init is one of them); in weak mode it would count the whole uid.
        # The watchdog ends a job above its limit; this is the wall that it cannot outrun.
        values[resource.RLIMIT_NPROC] = (int(limits["pids"]) + 8,) * 2
    if data is not None:
        values[resource.RLIMIT_DATA] = (data, data)
    return values
