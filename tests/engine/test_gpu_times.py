"""What a launch's time on a real GPU comes with, and which times are called different. Needs an NVIDIA GPU."""

from __future__ import annotations

from typing import Literal

import pytest

from protocol.timing import Measured, differ
from tests.engine.gpu_bench import Bench, bench, buffer, launch, request

__all__ = ["bench"]
pytestmark = pytest.mark.gpu

CACHES: tuple[Literal["warm", "cold"], ...] = ("warm", "cold")
SAXPY = "__global__ void f(const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] += x[i]; }"


def _saxpy(bench: Bench, block: int) -> Measured:
    count = 1 << 22
    steps = [launch("x", "y", grid=count // block, block=block)]
    result, end = bench.run(request(bench, SAXPY, steps, *(buffer(name, "float32", count) for name in "xy")))
    assert end.verdict == "ok", end
    (found,) = [item.measured for item in result.timings if item.measured]
    return found


def test_the_same_launch_is_seldom_called_different_and_a_slower_one_always(bench: Bench) -> None:
    pairs = [(_saxpy(bench, 256), _saxpy(bench, 256)) for _ in range(20)]
    called = [differ(one.of(cache), two.of(cache)) for one, two in pairs for cache in CACHES]
    assert sum(called) <= len(called) // 20
    slow = _saxpy(bench, 32)
    assert all(differ(slow.of(cache), pairs[0][0].of(cache)) for cache in CACHES)


def test_a_time_has_its_series_its_floor_and_what_the_card_could_do(bench: Bench) -> None:
    peaks = bench.use.measure_peaks(lambda run, emit: bench.told(run, emit))
    found = _saxpy(bench, 256)
    for series in found.series:
        assert series.low <= series.median <= series.high
        assert len(series.samples) >= 15 or series.stopped == "time"
    warm, cold = (found.of(cache).median for cache in CACHES)
    assert found.floor_seconds and found.floor_seconds < warm < cold
    assert found.peaks == peaks
    assert found.work and found.work.bytes == 4 * 4 * (1 << 22)
    assert 0.3 < 3 * 4 * (1 << 22) / cold / peaks.bytes_per_second < 1.05
    if bench.use.telemetry is not None:
        assert found.conditions is not None
        assert 0 < found.conditions.sm_mhz[0] <= found.conditions.sm_mhz[1]
