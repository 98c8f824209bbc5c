"""How often a launch is repeated for its time, and when it is not; plain decisions that need no GPU."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from engine.devices.device import Repeated

MOST = 25
LEAST = 5
DISCARDED = 2
"""Of each series, as the first ones still fill caches of instructions and translations."""
BUDGET_SECONDS = 0.6
"""For both series together."""
LONGEST_SECONDS = 0.05
"""A launch that takes longer is known well enough by its one run."""
OVERHEAD_SECONDS = 2e-4
"""For what goes before each repetition: buffers are restored and the cache is emptied."""

PRINTS = "timed once: it prints"
KEEPS_STATE = "timed once: it has variables that the driver does not let be restored for a further launch"
TAKES_LONG = f"timed once: it takes more than {LONGEST_SECONDS * 1e3:g} ms"
NO_ROOM = "timed once: the GPU has no room for a copy of the buffers"
ENDED = "timed once: a further launch on the same data did not end well"
NO_TIME = "timed once: the run is near its limit"


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What is known of a launch once it has given the results."""

    seconds: float
    printed: bool
    keeps_state: bool
    """In variables that cannot be restored."""
    has_copy: bool
    seconds_left: float
    """Of the run's limit."""


def reason_against(first: FirstRun) -> str:
    """Why the launch is not repeated; empty where it is."""
    if first.printed:
        return PRINTS
    if first.keeps_state:
        return KEEPS_STATE
    if first.seconds > LONGEST_SECONDS:
        return TAKES_LONG
    if not first.has_copy:
        return NO_ROOM
    if first.seconds_left < 2 * BUDGET_SECONDS:
        return NO_TIME
    return ""


def repetitions(first_seconds: float) -> int:
    """Launches of each series, the discarded ones included."""
    affordable = int(BUDGET_SECONDS / 2 / (first_seconds + OVERHEAD_SECONDS))
    return max(LEAST, min(MOST, affordable)) + DISCARDED


def medians(warm: Sequence[float], cold: Sequence[float]) -> Repeated:
    """Of two series of seconds, without the first ones of each."""
    return Repeated(
        samples=len(warm) - DISCARDED,
        warm=statistics.median(warm[DISCARDED:]),
        cold=statistics.median(cold[DISCARDED:]),
    )
