"""Two runs side by side: where their results differ, and whether their times do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Model, Name, Seconds
from protocol.dtypes import DType, Number
from protocol.events import Timed
from protocol.timing import differ

Clock = Literal["wall", "gpu-events"]


class BufferDifference(Model):
    """One buffer that a run read back, beside the other run's of the same name."""

    name: Name
    dtype: DType | None = None
    equal: bool = False
    """To the bit."""
    why_not: str = ""
    """Why the elements were not compared: missing on one side, of another dtype or shape, no longer kept."""
    elements: Annotated[int, Field(ge=0)] = 0
    differing: Annotated[int, Field(ge=0)] = 0
    """Elements whose bits differ."""
    beyond: Annotated[int, Field(ge=0)] | None = None
    """Of these the ones beyond the tolerance that was asked for; None where none was."""
    index: tuple[int, ...] | None = None
    """The first of them, in row-major order, and what the two runs have there."""
    first: Number | None = None
    second: Number | None = None
    largest_absolute: Number | None = None
    """Difference of two finite elements."""
    largest_ulps: Annotated[int, Field(ge=0)] | None = None
    """The same in units in the last place, for floats."""


class TimeComparison(Model):
    """Times of the launches of one step in two runs."""

    step: str
    first: Seconds
    second: Seconds
    first_clock: Clock
    second_clock: Clock
    verdict: Literal["faster", "slower", "same", "not-comparable"]
    """Of the second beside the first. Only times of the same clock compare; a processor's time is never a GPU's.
    Faster and slower: by `protocol.timing.differ`, with the data in the L2 cache as far as it fits."""
    reason: str


class Comparison(Model):
    """Of two runs, by id."""

    first: str
    second: str
    same_source: bool
    buffers: tuple[BufferDifference, ...]
    times: tuple[TimeComparison, ...]

    @property
    def equal(self) -> bool:
        """Whether all results are the same to the bit."""
        return all(item.equal for item in self.buffers)


def compare_times(first: Sequence[Timed], second: Sequence[Timed]) -> tuple[TimeComparison, ...]:
    """Of the steps that both runs timed."""
    others = {timed.step: timed for timed in second if timed.stage == "run"}
    return tuple(
        _compared(timed, others[timed.step]) for timed in first if timed.stage == "run" and timed.step in others
    )


def _compared(first: Timed, second: Timed) -> TimeComparison:
    verdict, reason = _judged(first, second)
    return TimeComparison(
        step=first.step,
        first=first.seconds,
        second=second.seconds,
        first_clock=first.clock,
        second_clock=second.clock,
        verdict=verdict,
        reason=reason,
    )


def _judged(first: Timed, second: Timed) -> tuple[Literal["faster", "slower", "same", "not-comparable"], str]:
    if first.clock != second.clock:
        return "not-comparable", "one is GPU time and the other that of a processor"
    if first.launches != second.launches:
        return "not-comparable", f"the times are of {first.launches:,} and of {second.launches:,} launches"
    if first.clock == "wall":
        return "not-comparable", "both were emulated on a processor, whose time says nothing of a GPU's"
    if first.measured is None or second.measured is None:
        return "not-comparable", "a single launch was timed, so that nothing is known of its spread"
    one, other = first.measured.of("warm"), second.measured.of("warm")
    if not differ(one, other):
        return "same", f"{other.words()} beside {one.words()}"
    times = max(one.median, other.median) / min(one.median, other.median)
    verdict: Literal["faster", "slower"] = "faster" if other.median < one.median else "slower"
    return verdict, f"by {times:.2f} times, {other.words()} beside {one.words()}"
