"""The estimate of GPU times, judged on what an H200 measured, and what it says a launch is limited by."""

from __future__ import annotations

import dataclasses
import math

import pytest

from benchmarks.estimate import judging
from benchmarks.estimate.counting import count, stored
from benchmarks.estimate.fit import fit
from benchmarks.estimate.jobs import JOBS, timings
from engine.estimating import quality
from engine.estimating.machines import RATES, STANDS_FOR, machine_of, machines
from engine.estimating.model import LAUNCH, Constants, estimate
from engine.estimating.profile import Profile
from protocol.gpus import gpu_table

SAMPLES = judging.samples()
MACHINE = machine_of(judging.GPU)


def test_the_figures_that_it_is_shown_with() -> None:
    judged = judging.figures(judging.judge(SAMPLES))
    assert (round(judged.median, 2), round(judged.p90, 2), round(judged.worst, 2)) == (1.08, 1.33, 2.5)
    assert (judged.close, judged.kernels) == (quality.GOOD_SHAPES, quality.SHAPED_KERNELS) == (18, 19)
    assert [round(error, 2) for error in judging.constant_figures()] == [2.08, 6.23, 27.12]
    assert (len(SAMPLES), len({item.kernel for item in SAMPLES})) == (quality.TIMINGS, quality.KERNELS) == (235, 25)


def test_the_constants_are_those_of_the_fit() -> None:
    fitted = dataclasses.asdict(fit(SAMPLES, MACHINE))
    assert fitted == pytest.approx(dataclasses.asdict(Constants()), rel=0.01)


@pytest.mark.long
def test_kernels_that_the_fit_has_not_seen() -> None:
    judged = judging.figures(judging.left_out(SAMPLES))
    assert (round(judged.median, 2), round(judged.p90, 2)) == (quality.MEDIAN_ERROR, quality.P90_ERROR)
    assert (judged.close, judged.kernels) == (quality.GOOD_SHAPES, quality.SHAPED_KERNELS)


def numbers(profile: Profile) -> dict[str, float]:
    given = dataclasses.asdict(profile)
    extents = {f"{name}.{axis}": value for name in ("grid", "block") for axis, value in enumerate(given.pop(name))}
    return given | extents


@pytest.mark.parametrize("kernel", ["gather_stride8", pytest.param("", marks=pytest.mark.long)])
def test_the_counts_are_those_of_the_emulator(kernel: str) -> None:
    kept = {(item.kernel, profile.block): profile for item, profile in zip(timings(), stored(), strict=True)}
    for timing, profile in count([kernel] if kernel else list(JOBS)):
        # Averages are kept with four digits.
        assert numbers(profile) == pytest.approx(numbers(kept[timing.kernel, timing.block]), rel=1e-3), timing


LIMITS = {
    ("copy", (32, 1, 1)): "block dispatch",
    ("copy", (256, 1, 1)): "latency",
    ("copy_float4", (256, 1, 1)): "DRAM",
    ("gather_random", (256, 1, 1)): "L2 requests",
    ("histogram_global", (256, 1, 1)): "atomics",
    ("collatz", (256, 1, 1)): "integer pipe",
    ("mandelbrot", (16, 16, 1)): "issue slots",
    ("matmul_naive", (1, 256, 1)): "L1 and shared memory",
    ("transpose_tiled", (32, 8, 1)): "L1 and shared memory",
    ("nbody", (128, 1, 1)): "latency",
}


@pytest.mark.parametrize("key", LIMITS, ids=lambda key: f"{key[0]}-{'x'.join(map(str, key[1]))}")
def test_what_limits(key: tuple[str, tuple[int, int, int]]) -> None:
    found = next(
        item for item in judging.judge(SAMPLES) if (item.timing.kernel, item.timing.block) == key
    ).estimated.bounds
    assert found[0].resource == LIMITS[key]
    assert [item.seconds for item in found] == sorted((item.seconds for item in found), reverse=True)


def of(kernel: str, **changes: object) -> Profile:
    """A profile of the kernel with 256 threads a block, changed."""
    found = next(item.profile for item in SAMPLES if item.kernel == kernel and item.profile.threads == 256)
    return dataclasses.replace(found, **changes)  # type: ignore[arg-type]


def test_laws() -> None:
    copy = of("copy")
    base = estimate(copy, 8, MACHINE).seconds
    twice = of("copy", grid=(2 * copy.blocks, 1, 1), bound_read=1 << 22, bound_written=1 << 22)
    assert estimate(twice, 8, MACHINE).seconds == pytest.approx(2 * base, rel=0.15)
    # Half as many resident blocks hide half as much latency.
    assert 1.3 < estimate(copy, 4, MACHINE).seconds / base < 2
    # One block does not get faster on a GPU of more SMs, and takes no less than an empty launch.
    lone = of("copy", grid=(1, 1, 1))
    many = dataclasses.replace(MACHINE, sm_count=1000)
    assert estimate(lone, 8, MACHINE).seconds == pytest.approx(estimate(lone, 8, many).seconds, rel=0.01)
    assert Constants().launch_seconds < estimate(lone, 8, MACHINE).seconds < 10e-6
    # What fits into the L2 cache is faster the second time.
    small = of("copy_float4", grid=(6144, 1, 1), bound_read=3 << 18, bound_written=3 << 18)
    assert estimate(small, 8, MACHINE, warm=False).seconds > 1.1 * estimate(small, 8, MACHINE).seconds


def test_a_short_launch_is_limited_by_being_launched() -> None:
    short = of("copy", grid=(64, 1, 1), bound_read=1 << 13, bound_written=1 << 13)
    found = estimate(short, 8, MACHINE)
    assert (found.bounds[0].resource, found.bounds[0].seconds) == (LAUNCH, Constants().launch_seconds)
    assert found.bounds[0].seconds > found.seconds / 2
    assert [item.resource for item in estimate(of("copy"), 8, MACHINE).bounds].index(LAUNCH) > 0


def test_double_precision_where_it_is_slow() -> None:
    heavy = of("double_functions", fp64_cycles=8000.0)
    found = estimate(heavy, 6, machine_of("RTX 4090"))
    assert found.bounds[0].resource == "FP64 pipe"
    assert estimate(heavy, 6, MACHINE).bounds[0].resource != "FP64 pipe"


def test_every_gpu_of_the_table_is_a_machine() -> None:
    assert machines().keys() == {facts.name for facts in gpu_table().gpus}
    assert {machine_of(name) for name in STANDS_FOR.values()} <= set(machines().values())
    assert STANDS_FOR.keys() == RATES.keys()
    for name, machine in machines().items():
        found = estimate(of("blur3x3"), 6, machine)
        assert all(math.isfinite(item.seconds) and item.seconds >= 0 for item in found.bounds), name
