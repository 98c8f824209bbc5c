"""How often a launch is repeated for its time, and when it is not; plain decisions that need no GPU."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from protocol.timing import MOST_SAMPLES, Series

LEAST = 15
EVERY = 5
"""Launches between two looks at how precise the median is."""
DISCARDED = 2
"""Of each series, as the first ones still fill caches of instructions and translations."""
PRECISE = 0.01
"""A series ends once the interval of its median is narrower than this share of the median."""
MISSED = 0.05
"""Probability, at most, that the interval does not hold the median."""
MOST_SECONDS = 0.3
SHARE = 0.03
"""Of the time that the run still has, for one series: each of many shapes of a sweep leaves most to the next."""
LEAST_SECONDS_LEFT = 0.5
LONGEST_SECONDS = 0.05
"""A launch that takes longer is known well enough by its one run."""

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
    if first.seconds_left < LEAST_SECONDS_LEFT + 2 * (LEAST + DISCARDED) * first.seconds:
        return NO_TIME
    return ""


def budget(seconds_left: float) -> float:
    """Seconds for one series, what restores the data between its launches included."""
    return max(0.0, min(MOST_SECONDS, SHARE * seconds_left))


@functools.lru_cache(maxsize=2 * MOST_SAMPLES)
def rank(count: int) -> int:
    """Of `count` sorted values: those at ranks k and count + 1 - k, from 1, span the median. 0 with too few values.

    The number of values below the median is binomial (count, 1/2), whatever their distribution, so that the interval
    misses the median with twice the probability of less than k below it (David and Nagaraja, Order Statistics, 7.1).
    """
    below, k = 0.0, 0
    while k < count // 2:
        below += math.comb(count, k) / 2**count
        if 2 * below > MISSED:
            break
        k += 1
    return k


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """What holds the median with a probability of 95 % or more if the count is fixed; None of fewer than six values."""
    k = rank(len(values))
    if k == 0:
        return None
    ordered = sorted(values)
    return ordered[k - 1], ordered[len(ordered) - k]


Stopped = Literal["precise", "count", "time"]


def stop(values: Sequence[float], seconds_spent: float, seconds_allowed: float) -> Stopped | None:
    """Why a series of launches, the discarded ones left out, is long enough; None where it is not."""
    if len(values) >= LEAST and len(values) % EVERY == 0:
        found = interval(values)
        if found is not None and found[1] - found[0] < PRECISE * statistics.median(values):
            return "precise"
    if len(values) >= MOST_SAMPLES:
        return "count"
    if len(values) >= 1 and seconds_spent >= seconds_allowed:
        return "time"
    return None


def series(cache: Literal["warm", "cold"], values: Sequence[float], stopped: Stopped) -> Series:
    """Seconds of launches, the discarded ones left out. Of fewer than six, all of them span the median."""
    low, high = interval(values) or (min(values), max(values))
    return Series(
        cache=cache, samples=tuple(values), median=statistics.median(values), low=low, high=high, stopped=stopped
    )
