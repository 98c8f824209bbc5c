"""From facts gathered outside the job to its one verdict."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from sandbox.limits import JobLimits


@dataclass(slots=True)
class Facts:
    """What the supervisor, the kernel and the job's init know about how a job went."""

    killed_for: str | None = None
    """The supervisor's own reason to end it: a verdict such as 'limit:wall' or 'cancelled'."""
    reason: str = ""
    exit_status: int | None = None
    """The child's wait status, as its init reported it; None if the init was killed before."""
    cpu: float = 0.0
    max_rss: int = 0
    scratch_full: bool = False
    out_of_memory: bool = False
    failure: str | None = None
    """The sandbox's own failure to run the job."""


def decide(facts: Facts, limits: JobLimits) -> tuple[str, str]:
    """The verdict and one sentence about it, naming the limit and its value."""
    if facts.killed_for is not None:
        return facts.killed_for, facts.reason
    if facts.out_of_memory:
        return "limit:memory", f"more memory than {limits.memory:,} bytes"
    if facts.failure is not None:
        return "error", facts.failure
    if facts.exit_status is None:
        return "signal:SIGKILL", "the job's processes were killed from outside"
    code = os.waitstatus_to_exitcode(facts.exit_status)
    if code == 0:
        return "ok", ""
    if code < 0:
        return _of_signal(-code, facts, limits)
    if facts.scratch_full:
        return "limit:files", f"the scratch folder is full: {limits.scratch:,} bytes, {limits.scratch_files:,} files"
    return "error", f"exit code {code}"


def _of_signal(number: int, facts: Facts, limits: JobLimits) -> tuple[str, str]:
    # SIGXCPU comes at the limit; a job that ignores it gets SIGKILL a second later.
    if number == signal.SIGXCPU or (number == signal.SIGKILL and facts.cpu >= limits.cpu):
        return "limit:cpu", f"more than {limits.cpu:g} s of CPU time"
    if number == signal.SIGXFSZ:
        return "limit:files", f"a file larger than {limits.scratch:,} bytes"
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"SIG{number}"
    return f"signal:{name}", signal.strsignal(number) or ""
