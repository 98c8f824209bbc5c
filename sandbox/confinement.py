"""The last steps of a job's process before user code: limits, then every right given up, in this order."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox import landlock, linux, seccomp

_STACK = 16 << 20


@dataclass(frozen=True, slots=True)
class Confinement:
    """Of one job: what it may read and write, which calls it may make, and its kernel-kept limits."""

    strong: bool
    syscalls: Sequence[str]
    readable: Sequence[str]
    writable: Sequence[str]
    devices: Sequence[str]
    limits: Mapping[str, float]
    init: int
    """Pid of the job's init, as this process sees it."""
    data: int | None
    """RLIMIT_DATA in bytes, where no memory cgroup holds the job."""


def confine(walls: Confinement) -> None:
    """Apply every layer to this one-threaded process; there is no way back. Raises OSError if one fails."""
    _set_rlimits(walls)
    linux.no_new_privileges()
    linux.drop_capabilities()
    if not walls.strong:
        # No pid namespace takes this process along when its init dies; the filter keeps it from undoing this.
        linux.die_with_parent()
        if os.getppid() != walls.init:
            raise ProcessLookupError("the job's init is gone")
    landlock.restrict(walls.readable, walls.writable, walls.devices)
    # Without a pid namespace the others are in sight: then this process may signal itself alone.
    seccomp.install(walls.syscalls, None if walls.strong else os.getpid())


def _set_rlimits(walls: Confinement) -> None:
    limits = walls.limits
    cpu = math.ceil(limits["cpu"])
    values = {
        resource.RLIMIT_CPU: (cpu, cpu + 1),
        resource.RLIMIT_FSIZE: (int(limits["scratch"]),) * 2,
        resource.RLIMIT_NOFILE: (int(limits["open_files"]),) * 2,
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_STACK: (_STACK, _STACK),
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
        resource.RLIMIT_SIGPENDING: (64, 64),
        resource.RLIMIT_RTPRIO: (0, 0),
        resource.RLIMIT_NICE: (0, 0),
    }
    if walls.strong:
        # Counts this user namespace alone (init is one of them); in weak mode it would count the whole uid.
        # The watchdog ends a job above its limit; this is the wall that it cannot outrun.
        values[resource.RLIMIT_NPROC] = (int(limits["pids"]) + 8,) * 2
    if walls.data is not None:
        values[resource.RLIMIT_DATA] = (walls.data, walls.data)
    for which, pair in values.items():
        resource.setrlimit(which, pair)
