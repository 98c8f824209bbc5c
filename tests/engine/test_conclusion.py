"""What a sweep comes to, from figures that are given."""

from __future__ import annotations

from typing import Any

import pytest

from engine.conclusion import conclude
from protocol.estimate import Bound, Estimate
from protocol.kernel import Occupancy
from protocol.sweep import Swept


def held(warps: int, limiters: tuple[str, ...] = ("registers",), waves: float = 4.0, tail: float = 0.0) -> Occupancy:
    return Occupancy(
        architecture="sm_90", blocks_per_sm=1, warps_per_sm=warps, max_warps_per_sm=64, limits=(), limiters=limiters,
        gpu="H200", sm_count=132, waves=waves, tail=tail,
    )  # fmt: skip


def row(index: int, microseconds: float | None, limiter: str = "DRAM", **more: Any) -> Swept:
    estimate = None
    if microseconds is not None:
        bound = Bound(resource=limiter, seconds=microseconds * 0.8e-6)
        estimate = Estimate(gpu="H200 SXM", seconds=microseconds * 1e-6, limiter=limiter, bounds=(bound,))
    fields: dict[str, Any] = {
        "index": index, "step": "steps.0", "block": (32 << index, 1, 1), "grid": (8, 1, 1), "state": "ran",
        "registers": 20, "estimate": estimate, "occupancy": held(64),
    }  # fmt: skip
    return Swept(**fields | more)


def measured(index: int, microseconds: float, **more: Any) -> Swept:
    return row(index, None, seconds=microseconds * 1e-6, clock="gpu-events", samples=9, **more)


CASES = {
    "an estimate is called one": (
        [row(0, 20), row(1, 10)],
        1,
        "Best of 2: 64 at 10 µs (estimated for the H200 SXM, not measured); the slowest, 32, takes 2 × as long. "
        "It is limited by DRAM, which alone would take 8 µs, with every warp slot of an SM taken.",
    ),
    "a measurement too": (
        [measured(0, 5), measured(1, 50, occupancy=held(16))],
        0,
        "Best of 2: 32 at 5 µs (measured); the slowest, 64, takes 10 × as long. Every warp slot of an SM taken. "
        "64 keeps 16 warps on an SM instead of 64, limited by registers.",
    ),
    "near ones are named": (
        [row(0, 10), row(1, 10.2), row(2, 10.4), row(3, 20)],
        0,
        "the slowest, 256, takes 2 × as long. "
        "It is limited by DRAM, which alone would take 8 µs, with every warp slot of an SM taken. "
        "2 others lie within 5 % of it: 64, 128.",
    ),
    "all are near": (
        [row(0, 10), row(1, 10.2)],
        0,
        "Best of 2: 32 at 10 µs (estimated for the H200 SXM, not measured); all others lie within 5 % of it. It is",
    ),
    "why the slowest is": (
        [
            row(0, 10, occupancy=held(48)),
            row(
                1, 40, "latency", occupancy=held(16, ("shared",), waves=1.2, tail=0.8), spill_bytes=64, block=(33, 1, 1)
            ),
        ],
        0,
        "33 is limited by latency, keeps 16 warps on an SM instead of 48, limited by shared, leaves 80 % of its last "
        "wave empty, spills 64 bytes a thread and leaves 31 lanes of its last warp idle.",
    ),
    "wrong ones do not count": (
        [row(0, 10), row(1, 1, same_as_first=False), row(2, 2, passed=False, macros={"T": "8"})],
        0,
        "Not counted, since their results are wrong or differ: 64, 128 with T=8.",
    ),
    "without estimates occupancy decides": (
        [row(0, None, occupancy=held(32)), row(1, None, occupancy=held(48))],
        1,
        "Highest occupancy: 64, with 75 % of an SM's warp slots taken (registers allow no more). "
        "Times of the emulator say nothing of a GPU.",
    ),
    "nothing ran": ([row(0, None, state="failed"), row(1, None, state="refused")], None, "No cell ran right."),
}


@pytest.mark.parametrize("name", CASES)
def test_the_paragraph(name: str) -> None:
    rows, best, words = CASES[name]
    found = conclude(rows)
    assert found.best == best
    assert words in found.text
