"""The statistics of a series of launches, against their definition and by simulation; needs no GPU."""

from __future__ import annotations

import math
import random
from typing import Literal

import pytest

from engine.devices.gpu_timing import LEAST, PRECISE, Stopped, budget, interval, rank, series, stop
from protocol.timing import MOST_SAMPLES


def missed(count: int, k: int) -> float:
    """Probability that the values at ranks k and count + 1 - k both lie on one side of the median, by definition."""
    return 2 * sum(math.comb(count, below) for below in range(k)) / float(2**count)


@pytest.mark.parametrize("count", range(1, MOST_SAMPLES + 1))
def test_the_rank_is_the_highest_that_misses_the_median_in_at_most_one_series_of_twenty(count: int) -> None:
    k = rank(count)
    assert missed(count, k) <= 0.05
    assert missed(count, k + 1) > 0.05
    assert 2 * k <= count


def test_the_interval_does_not_depend_on_the_order_of_the_launches() -> None:
    values = [float(value) for value in range(1, 26)]
    for seed in range(20):
        random.Random(seed).shuffle(values)
        assert interval(values) == (8.0, 18.0)


@pytest.mark.parametrize("count", [6, 15, 25, 60])
def test_the_interval_holds_the_median_of_the_distribution(count: int) -> None:
    draws, dice, held = 2000, random.Random(count), 0
    for _ in range(draws):
        low, high = interval([dice.lognormvariate(0.0, 0.5) for _ in range(count)]) or (0.0, 0.0)
        held += low <= 1.0 <= high
    assert held / draws >= 0.95
    assert held / draws == pytest.approx(1 - missed(count, rank(count)), abs=0.015)


WIDE = [1.0, 1.5] * (MOST_SAMPLES // 2)


@pytest.mark.parametrize(
    ("values", "spent", "stopped"),
    [
        # Width against median: ranks 4 and 12 of 15.
        ([1.0] * 4 + [1.0 + PRECISE / 2] * 11, 0.0, "precise"),
        ([1.0] * 4 + [1.0 + 2 * PRECISE] * 11, 0.0, None),
        # What lies outside of the ranks does not count.
        ([0.5] * 3 + [1.0] * 9 + [9.0] * 3, 0.0, "precise"),
        ([0.5] * 4 + [1.0] * 7 + [9.0] * 4, 0.0, None),
        ([1.0] * (LEAST - 5), 0.0, None),
        ([1.0] * 17, 0.0, None),
        ([1.0] * 20, 0.0, "precise"),
        (WIDE[:-1], 0.0, None),
        (WIDE, 0.0, "count"),
        (WIDE, 9.0, "count"),
        (WIDE[:1], 0.3, "time"),
        (WIDE[:1], 0.29, None),
        ([1.0] * 15, 9.0, "precise"),
        ([0.0] * 15, 0.0, None),
        ([], 9.0, None),
    ],
)
def test_when_a_series_is_long_enough(values: list[float], spent: float, stopped: Stopped | None) -> None:
    assert stop(values, spent, 0.3) == stopped


@pytest.mark.parametrize(
    ("values", "low", "median", "high"),
    [
        ([3.0], 3.0, 3.0, 3.0),
        ([5.0, 1.0], 1.0, 3.0, 5.0),
        ([4.0, 1.0, 9.0, 2.0, 3.0], 1.0, 3.0, 9.0),
        ([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 1.0, 3.5, 6.0),
        ([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 2.0, 5.0, 8.0),
    ],
)
@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_of_few_values_all_span_the_median(
    cache: Literal["warm", "cold"], values: list[float], low: float, median: float, high: float
) -> None:
    found = series(cache, values, "time")
    assert (found.cache, found.low, found.median, found.high, found.stopped) == (cache, low, median, high, "time")
    assert found.samples == tuple(values)


@pytest.mark.parametrize(("left", "seconds"), [(1e9, 0.3), (10.0, 0.3), (5.0, 0.15), (0.0, 0.0), (-3.0, 0.0)])
def test_the_time_for_one_series(left: float, seconds: float) -> None:
    assert budget(left) == pytest.approx(seconds)
