"""Fits the model's constants on timings: damped Gauss-Newton on the logarithms of both, robust, every kernel alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.estimating.model import Constants, Machine, estimate
from engine.estimating.profile import Profile

START = Constants(
    launch_seconds=6.4e-6,  # an empty kernel between events (tests/data/truth/README.md)
    dispatch_seconds=1e-9,  # the order of a clock
    turnover_cycles=500,
    raggedness=0.1,
    l1_cycles=40,  # these three: Luo et al., arXiv:2402.13499, for the H100
    l2_cycles=222,
    dram_cycles=216,
    issue_share=0.9,
    dram_share=0.874,  # a copy of 1 GiB, 4,196 of 4,800 GB/s (tests/data/truth/README.md)
    l2_bytes_per_cycle=28,  # 5.5 to 7 TB/s, Chips and Cheese, "Nvidia's H100: Funny L2, and Tons of Bandwidth"
    l2_requests_per_cycle=0.5,
    lines_per_cycle=1,  # the L1 cache has one tag stage, which looks up one line a cycle
    atomic_cycles=1,  # one operation of a slice of the L2 cache a clock
    sharpness=3,
)
"""What is known without the timings, or plain guesses; a constant that no kernel informs stays there."""

NAMES = tuple(item.name for item in fields(Constants) if item.name != "launch_seconds")
"""All but what was measured by itself."""
_ROBUST = 0.3
"""Errors beyond this (of the logarithm) count linearly."""
_HOLD = 0.1
"""Weight of a constant's way from its start: one kernel's weight at a factor of e^3."""
_STEP = 1e-3
_ROUNDS = 20
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed launch: `blocks_per_sm` are resident at once; seconds that a GPU took."""

    kernel: str
    profile: Profile
    blocks_per_sm: int
    seconds: float


def fit(samples: Sequence[Sample], machine: Machine, start: Constants = START) -> Constants:
    """The constants that explain the samples best."""
    counts = Counter(sample.kernel for sample in samples)
    weights = np.array([1 / counts[sample.kernel] for sample in samples])
    origin = np.log([getattr(start, name) for name in NAMES])
    at, damping = origin.copy(), 1e-2

    def errors(place: Vector) -> Vector:
        constants = _constants(place)
        return np.array(
            [
                math.log(
                    estimate(item.profile, item.blocks_per_sm, machine, constants=constants).seconds / item.seconds
                )
                for item in samples
            ]
        )

    def loss(found: Vector, place: Vector) -> float:
        size = np.abs(found)
        each = np.where(size < _ROBUST, size**2, _ROBUST * (2 * size - _ROBUST))
        return float((weights * each).sum() + _HOLD * _HOLD * ((place - origin) ** 2).sum())

    found = errors(at)
    before = loss(found, at)
    for _ in range(_ROUNDS):
        columns = [(errors(at + _STEP * direction) - found) / _STEP for direction in np.eye(len(at))]
        slopes = np.array(columns).T
        pull = weights * np.where(np.abs(found) < _ROBUST, 1, _ROBUST / np.maximum(np.abs(found), _ROBUST))
        curvature = slopes.T @ (slopes * pull[:, None]) + _HOLD * _HOLD * np.eye(len(at))
        gradient = slopes.T @ (pull * found) + _HOLD * _HOLD * (at - origin)
        while damping < 1e6:
            step = -np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), gradient).clip(-0.7, 0.7)
            tried = errors(at + step)
            after = loss(tried, at + step)
            if after < before:
                break
            damping *= 4
        else:
            break
        at, found, damping = at + step, tried, max(damping / 4, 1e-6)
        if before - after < 1e-5 * before:
            break
        before = after
    return _constants(at)


def _constants(place: Vector) -> Constants:
    given: dict[str, Any] = dict(zip(NAMES, np.exp(place).tolist(), strict=True))
    return replace(START, **given)
