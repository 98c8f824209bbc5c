"""How good the estimate is on the H200's timings, beside a constant, and on kernels that it was not fitted on."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.estimate.counting import ratio, stored
from benchmarks.estimate.fit import Sample, fit
from benchmarks.estimate.jobs import TRUTH, Timing, timings
from engine.devices.occupancy import occupancy
from engine.estimating.machines import machine_of
from engine.estimating.model import Constants, Estimated, estimate
from engine.estimating.profile import Profile
from protocol.kernel import Resources

GPU = "H200 SXM"
CLOSE = 1.1
"""A recommended shape is good where the GPU's best is at most this much faster."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One timed launch with its estimate; ratios are 1 or more."""

    timing: Timing
    estimated: Estimated

    @property
    def error(self) -> float:
        return ratio(self.estimated.seconds, self.timing.warm)


@dataclass(frozen=True, slots=True)
class Figures:
    """Over all launches: quantiles of the ratio error, and how many kernels get a shape that is close to the best."""

    median: float
    p90: float
    worst: float
    close: int
    kernels: int
    """That were timed with several shapes."""


def samples(profiles: Sequence[Profile] | None = None) -> list[Sample]:
    """The timed launches with their profiles, those that are kept unless others are given."""
    shared = _static_shared()
    made = []
    for timing, profile in zip(timings(), profiles or stored(), strict=True):
        resources = Resources(registers=timing.registers, static_shared_bytes=shared.get(timing.entry, 0))
        held = occupancy("sm_90", resources, timing.grid, timing.block, 0).blocks_per_sm
        made.append(Sample(timing.kernel, profile, held, timing.warm))
    return made


def _static_shared() -> dict[str, int]:
    """Bytes by entry. Keys of the table are names of cases."""
    table = json.loads((TRUTH / "resources_sm_90.json").read_text(encoding="utf-8"))
    cases = json.loads((TRUTH / "cases.json").read_text(encoding="utf-8"))
    return {case["entry"]: table[case["name"]]["shared_size_bytes"] for case in cases if case["name"] in table}


def judge(given: Sequence[Sample], constants: Constants | None = None) -> list[Judged]:
    """Every launch with these constants, or the model's own."""
    return _judged(given, lambda kernel: constants)


def left_out(given: Sequence[Sample]) -> list[Judged]:
    """Every launch with constants that were fitted on all other kernels."""
    machine = machine_of(GPU)
    kernels = dict.fromkeys(item.kernel for item in given)
    fitted = {name: fit([item for item in given if item.kernel != name], machine) for name in kernels}
    return _judged(given, lambda kernel: fitted[kernel])


def _judged(given: Sequence[Sample], constants: Callable[[str], Constants | None]) -> list[Judged]:
    machine = machine_of(GPU)
    return [
        Judged(timing, estimate(item.profile, item.blocks_per_sm, machine, constants=constants(item.kernel)))
        for timing, item in zip(timings(), given, strict=True)
    ]


def figures(judged: Sequence[Judged]) -> Figures:
    errors = [item.error for item in judged]
    found = regrets(judged).values()
    return Figures(*_quantiles(errors), sum(regret <= CLOSE for regret in found), len(found))


def constant_figures() -> tuple[float, float, float]:
    """Median, p90 and worst ratio error of the best that one number can do."""
    times = [timing.warm for timing in timings()]
    guess = math.exp(statistics.median(math.log(time) for time in times))
    return _quantiles([ratio(guess, time) for time in times])


def _quantiles(errors: Sequence[float]) -> tuple[float, float, float]:
    ordered = sorted(errors)
    return statistics.median(ordered), ordered[math.ceil(0.9 * len(ordered)) - 1], ordered[-1]


def regrets(judged: Sequence[Judged]) -> dict[str, float]:
    """By kernel: the GPU's time of the shape with the least estimate, over its best time. Of several shapes."""
    by_kernel: dict[str, list[Judged]] = {}
    for item in judged:
        by_kernel.setdefault(item.timing.kernel, []).append(item)
    return {
        kernel: min(group, key=lambda item: item.estimated.seconds).timing.warm / min(i.timing.warm for i in group)
        for kernel, group in by_kernel.items()
        if len(group) > 1
    }
