"""How a GPU's time of a launch was measured: the series, what the card did meanwhile, and what it could do at most."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Bytes, Model, Seconds

MOST_SAMPLES = 256
"""Of one series."""
CALLED_DIFFERENT = 0.02
CALLED_DIFFERENT_SECONDS = 0.3e-6
"""Medians closer than this share of the smaller, or than this time, are never called different: medians of one launch
in two jobs lie that far apart on an H200, although the interval of each is narrower (docs/adding-a-device.md)."""

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]


class Series(Model):
    """Launches one after another on the same data, each between two events of the GPU.

    `low` to `high` is spanned by two order statistics that hold the median of all such launches with a probability of
    95 % or more, whatever their distribution, where the number of launches is fixed. A series ends early on a narrow
    interval: simulated, that leaves 94 to 95 % for one mode and 87 to 92 % for two that lie 10 % apart.
    """

    cache: Literal["warm", "cold"]
    """Cold: the L2 cache holds none of the launch's data, and nothing that is still to be written."""
    samples: Annotated[tuple[Seconds, ...], Field(min_length=1, max_length=MOST_SAMPLES)]
    """In the order in which they ran."""
    median: Seconds
    low: Seconds
    high: Seconds
    stopped: Literal["precise", "count", "time"]
    """Why no more were made: the interval is below 1 % of the median, MOST_SAMPLES, or the time for it is up."""

    def words(self) -> str:
        """The median and its interval in microseconds."""
        low, median, high = (f"{seconds * 1e6:,.2f}" for seconds in (self.low, self.median, self.high))
        return f"{median} µs ({low} to {high}, {len(self.samples)} launches)"


class Conditions(Model):
    """What the card's own sensors said while the series ran; the lowest and the highest of several looks."""

    looks: Annotated[int, Field(ge=1)]
    sm_mhz: tuple[Count, Count]
    memory_mhz: tuple[Count, Count]
    celsius: Count
    """The highest."""
    watts: Annotated[float, Field(ge=0)]
    """The highest."""
    throttled: tuple[str, ...] = ()
    """Reasons in words for which the card ran below its highest clock."""


class Peaks(Model):
    """What this card was measured to do at most when its worker started."""

    bytes_per_second: Positive
    """Read and written together, by a copy of much more than the L2 cache holds."""
    flops_per_second: Positive
    """Of fused multiply-adds in FP32, each of which counts as two."""


class Work(Model):
    """Bytes that one launch must move to and from the GPU's memory, and its operations in floating point."""

    bytes: Bytes | None = None
    flops: Count | None = None
    origin: Literal["declared", "buffers"] = "declared"
    """Buffers: each buffer that the launch gets is taken to be read or written once, as its role says."""


class Measured(Model):
    """Everything beside the one number."""

    series: Annotated[tuple[Series, ...], Field(max_length=2)]
    floor_seconds: Seconds | None = None
    """An empty kernel, timed the same way: no launch can appear shorter."""
    conditions: Conditions | None = None
    work: Work | None = None
    peaks: Peaks | None = None
    remark: str = ""
    """What is odd about the figures, in words."""

    def of(self, cache: Literal["warm", "cold"]) -> Series:
        """KeyError where there is no such series."""
        return {item.cache: item for item in self.series}[cache]


def differ(first: Series, second: Series) -> bool:
    """Whether two series tell of different times: their intervals are apart, and their medians by more than two
    jobs of the same launch differ."""
    apart = first.high < second.low or second.high < first.low
    least = max(CALLED_DIFFERENT * min(first.median, second.median), CALLED_DIFFERENT_SECONDS)
    return apart and abs(first.median - second.median) >= least
