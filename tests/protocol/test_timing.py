"""When two series are called different: seldom for one distribution, always for a real difference."""

from __future__ import annotations

import random
import statistics

import pytest

from engine.devices.gpu_timing import series, stop
from protocol.timing import CALLED_DIFFERENT, Series, differ


def drawn(dice: random.Random, median: float, noise: float) -> Series:
    """As a GPU would make it, with a time limit that never ends it."""
    values: list[float] = []
    while (stopped := stop(values, 0.0, 1.0)) is None:
        values.append(dice.lognormvariate(0.0, noise) * median)
    return series("warm", values, stopped)


def of_length(dice: random.Random, median: float, noise: float, count: int) -> Series:
    return series("warm", [dice.lognormvariate(0.0, noise) * median for _ in range(count)], "time")


def exactly(median: float, low: float, high: float) -> Series:
    return Series(cache="warm", samples=(median,), median=median, low=low, high=high, stopped="time")


@pytest.mark.parametrize(("noise", "pairs"), [(0.005, 1000), (0.05, 100)])
@pytest.mark.parametrize("median", [10e-6, 10e-3])
def test_one_launch_twice_is_seldom_called_different(median: float, noise: float, pairs: int) -> None:
    dice = random.Random(7)
    called = [differ(drawn(dice, median, noise), drawn(dice, median, noise)) for _ in range(pairs)]
    assert sum(called) <= 0.05 * pairs


@pytest.mark.parametrize("count", [6, 8, 15, 25])
def test_a_short_and_noisy_series_is_seldom_called_different(count: int) -> None:
    """Here the intervals decide, as the medians often lie far enough apart."""
    dice = random.Random(count)
    pairs = [(of_length(dice, 1e-3, 0.1, count), of_length(dice, 1e-3, 0.1, count)) for _ in range(1000)]
    apart = [abs(one.median - two.median) > CALLED_DIFFERENT * 1e-3 for one, two in pairs]
    assert statistics.mean(apart) > 0.3
    assert sum(differ(one, two) for one, two in pairs) <= 50


@pytest.mark.parametrize("factor", [1.05, 1 / 1.05])
@pytest.mark.parametrize("median", [10e-6, 10e-3])
def test_a_real_difference_is_always_called(median: float, factor: float) -> None:
    dice = random.Random(11)
    for _ in range(300):
        one, two = drawn(dice, median, 0.005), drawn(dice, factor * median, 0.005)
        assert differ(one, two)
        assert differ(two, one)


@pytest.mark.parametrize("factor", [1.0, 1.005, 1.0099, 1 / 1.0099])
@pytest.mark.parametrize("median", [1e-6, 10e-6, 1e-3, 1.0])
def test_less_than_one_percent_is_never_called(median: float, factor: float) -> None:
    one, two = (exactly(at, at, at) for at in (median, factor * median))
    assert not differ(one, two)
    assert not differ(two, one)


@pytest.mark.parametrize(
    ("first", "second", "different"),
    [
        # Medians: 2 % of the smaller, and 0.3 µs, whichever is more.
        ((1e-3, 1e-3, 1e-3), (1.021e-3, 1.021e-3, 1.021e-3), True),
        ((1e-3, 1e-3, 1e-3), (1.019e-3, 1.019e-3, 1.019e-3), False),
        ((5e-6, 5e-6, 5e-6), (5.29e-6, 5.29e-6, 5.29e-6), False),
        ((5e-6, 5e-6, 5e-6), (5.31e-6, 5.31e-6, 5.31e-6), True),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), False),
        # Intervals: apart, touching, one within the other.
        ((1.0, 0.9, 1.1), (1.3, 1.11, 1.4), True),
        ((1.0, 0.9, 1.1), (1.3, 1.1, 1.4), False),
        ((1.0, 0.9, 2.0), (1.3, 1.2, 1.4), False),
    ],
)
def test_both_the_intervals_and_the_medians_decide(
    first: tuple[float, float, float], second: tuple[float, float, float], different: bool
) -> None:
    assert differ(exactly(*first), exactly(*second)) is different
    assert differ(exactly(*second), exactly(*first)) is different
