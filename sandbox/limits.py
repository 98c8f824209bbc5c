"""Every limit of a job as data: its default, its verdict and what enforces it."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What one job may use; each field's verdict stands in `RULES`. Times in seconds, sizes in bytes."""

    wall: float = 10.0
    cpu: float = 20.0
    memory: int = 1 * GIB
    output: int = 256 * KIB
    log: int = 4 * MIB
    result: int = 256 * MIB
    frames: int = 100_000
    pids: int = 32
    open_files: int = 64
    scratch: int = 64 * MIB
    scratch_files: int = 1024

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"{field.name} must be positive, not {value!r}")


def limits_for(wall: float, memory: int) -> JobLimits:
    """CPU time for every thread of a job during its wall time, so that more processors do not shorten a run."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return JobLimits(wall=wall, cpu=wall * (processors + 1), memory=memory)


@dataclass(frozen=True, slots=True)
class Rule:
    """One limit: the fields of JobLimits that set it, the verdict of a job that meets it, and the means."""

    fields: tuple[str, ...]
    verdict: str
    means: str


RULES: tuple[Rule, ...] = (
    Rule(("wall",), "limit:wall", "the supervisor's deadline, then SIGKILL of the job's whole tree"),
    Rule(("cpu",), "limit:cpu", "RLIMIT_CPU; no profile may fork, so one process is the whole job"),
    Rule(
        ("memory",),
        "limit:memory",
        "memory cgroup (v1 or v2); without one RLIMIT_DATA and a watchdog of the resident size every 25 ms",
    ),
    Rule(("output",), "limit:output", "bytes of stdout and stderr together, counted by the supervisor"),
    Rule(("log",), "limit:log", "bytes of all frame headers (events, diagnostics, printf text), counted outside"),
    Rule(("result", "frames"), "limit:result", "bytes of all frame payloads, and frames; counted outside"),
    Rule(
        ("pids",),
        "limit:pids",
        "the watchdog, every 25 to 100 ms; in strong mode RLIMIT_NPROC refuses 8 above it; threads count",
    ),
    Rule(
        ("open_files", "scratch", "scratch_files"),
        "limit:files",
        "RLIMIT_FSIZE, size and inodes of the job's tmpfs; a descriptor that RLIMIT_NOFILE refuses is the job's error",
    ),
)

# Bounds on what the child may say in one frame; none of them is the user's to set.
MAX_HEADER = 1 * MIB
MAX_DEPTH = 32

WATCH_INTERVAL = 0.025
"""Seconds between two looks at the resident size where there is no memory cgroup."""

START_TIMEOUT = 20.0
"""Seconds for a zygote to come up; a loaded machine imports slowly."""

RECYCLE_AFTER = 2000
"""Jobs that one zygote serves before a fresh one takes over: forks share their parent's address layout."""

SPARE_SEATS = 2
"""Inits of a zygote that wait for jobs: a run takes two in a row, one to compile and one to launch."""

SPARE_GPU_SEATS = 1
"""The same for jobs on a GPU, where each that waits holds a context in the GPU's memory."""
