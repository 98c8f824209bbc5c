"""Occupancy against what an H200's driver answered, and its parts against worked examples."""

import csv
from pathlib import Path
from typing import get_args

import pytest

from engine.devices.architectures import architectures
from engine.devices.occupancy import block_limits, curve, occupancy
from protocol.base import Architecture
from protocol.kernel import Resources

TRUTH = Path(__file__).parent.parent / "data" / "truth" / "occupancy_sm_90.csv"


def test_every_answer_of_the_driver() -> None:
    limits = architectures()["sm_90"]
    rows = list(csv.DictReader(TRUTH.read_text().splitlines()))
    assert len(rows) == 12_600
    wrong = []
    for row in rows:
        registers, static, block, dynamic, wanted = (int(value) for value in row.values())
        # The probe's kernels have one barrier where they use static shared memory.
        found = block_limits(limits, block, registers, static + dynamic, 1 if static else 0)
        if min(item.blocks for item in found) != wanted:
            wrong.append(row)
    assert wrong == []


def test_every_architecture_of_the_protocol_has_limits() -> None:
    pattern = next(item.pattern for item in get_args(Architecture) if hasattr(item, "pattern"))
    named = {f"sm_{number}" for number in pattern.split("(")[1].split(")")[0].split("|")}
    assert set(architectures()) == named


@pytest.mark.parametrize(
    ("architecture", "registers", "static", "dynamic", "barriers", "threads", "blocks", "limiters"),
    [
        ("sm_90", 32, 0, 0, 0, 256, 8, ("warps", "registers")),
        ("sm_90", 16, 0, 0, 0, 32, 32, ("blocks",)),
        ("sm_90", 255, 0, 0, 0, 256, 1, ("registers",)),
        ("sm_90", 255, 0, 0, 0, 288, 0, ("registers",)),
        ("sm_90", 32, 49_152, 0, 1, 128, 4, ("shared",)),
        ("sm_90", 32, 0, 232_449, 0, 128, 0, ("shared",)),
        ("sm_90", 16, 0, 0, 16, 32, 4, ("barriers",)),
        ("sm_80", 16, 0, 0, 16, 32, 32, ("blocks",)),
        ("sm_86", 16, 0, 0, 0, 1024, 1, ("warps",)),
        ("sm_89", 40, 0, 0, 0, 512, 3, ("warps", "registers")),
        ("sm_75", 32, 0, 0, 0, 1024, 1, ("warps",)),
        ("sm_75", 32, 65_536, 0, 0, 64, 1, ("shared",)),
        ("sm_120", 32, 0, 50_000, 0, 64, 2, ("shared",)),
        ("sm_110", 16, 0, 0, 0, 32, 24, ("blocks",)),
    ],
)
def test_limits(
    architecture: str,
    registers: int,
    static: int,
    dynamic: int,
    barriers: int,
    threads: int,
    blocks: int,
    limiters: tuple[str, ...],
) -> None:
    resources = Resources(registers=registers, static_shared_bytes=static, barriers=barriers)
    found = occupancy(architecture, resources, (1,), (threads,), dynamic)
    assert (found.blocks_per_sm, found.limiters) == (blocks, limiters)
    assert found.warps_per_sm == blocks * -(-threads // 32)


@pytest.mark.parametrize(
    ("blocks", "waves", "tail"),
    [(0, 0.0, 0.0), (132 * 8, 1.0, 0.0), (132 * 8 + 1, 1057 / 1056, 1055 / 1056), (528, 0.5, 0.5)],
)
def test_waves_and_tail(blocks: int, waves: float, tail: float) -> None:
    found = occupancy("sm_90", Resources(registers=32), (blocks,), (256,), 0)
    assert (found.gpu, found.sm_count) == ("H200", 132)
    assert (found.waves, found.tail) == pytest.approx((waves, tail))


def test_curve_stops_at_the_launch_bounds() -> None:
    points = curve("sm_90", Resources(registers=64, max_threads_per_block=256), 0)
    assert [point.block_threads for point in points] == list(range(32, 1025, 32))
    assert {point.blocks_per_sm for point in points if point.block_threads > 256} == {0}
    assert points[8].limiters == ("launch-bounds",)
    assert points[7].warps_per_sm == 32
