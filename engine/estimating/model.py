"""The estimate itself: a launch takes as long as what it needs most of, and a little longer for the rest.

Each resource of the GPU gives a bound, the time that the launch would take if that resource alone were scarce (as in
roofline models; Williams et al., CACM 52(4), 2009); latency gives one more, by Little's law: the waves of blocks times
the life of a block. Bounds are combined by a norm, which lies at the greatest where one stands out and above it where
several are near. `Constants` are all that is fitted, on 235 timings of an H200 (benchmarks/estimate).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from emulator.instruments.machine import PROLOGUE
from engine.estimating.profile import Profile

SECTOR_BYTES = 32
_FEW_WAVES = 4


@dataclass(frozen=True, slots=True)
class Machine:
    """A GPU as the model sees it. Rates are of one SM and clock, in lanes unless said otherwise."""

    sm_count: int
    clock_hz: float
    dram_bytes_per_second: float
    l2_bytes: int
    alu: float
    fma: float
    imad: float
    fp64: float
    xu: float
    matrix_operations: float
    """Operations of the tensor cores on half precision."""


@dataclass(frozen=True, slots=True)
class Constants:
    """Fitted on the H200's timings; `benchmarks.estimate.fit.START` says what was known of each before."""

    launch_seconds: float = 6.4e-6
    """Of an empty kernel between two events: measured, not fitted."""
    dispatch_seconds: float = 5.95e-10
    """A block, by the one unit that gives blocks to SMs."""
    turnover_cycles: float = 311
    """From a block's end to the first instruction of the next one in its place."""
    raggedness: float = 0.131
    """How much longer a block's place is taken for each doubling of its warps, the last of which frees it."""
    l1_cycles: float = 37.6
    l2_cycles: float = 168
    dram_cycles: float = 413
    """Beyond the L2's."""
    issue_share: float = 1.0
    """Of the peak rate of instructions that kernels reach, as we count them."""
    dram_share: float = 0.992
    """Of the peak bandwidth; some of what is counted stays in the L2 cache."""
    l2_bytes_per_cycle: float = 18.9
    """An SM."""
    l2_requests_per_cycle: float = 0.218
    """An SM, of one line each, whether it moves one sector or four."""
    lines_per_cycle: float = 0.966
    """That an SM's L1 cache looks up, or wavefronts of its shared memory."""
    atomic_cycles: float = 15.9
    """Between atomics of the GPU on one sector. A single kernel of the timings has any."""
    sharpness: float = 3.85
    """Of the norm."""


LAUNCH = "launch overhead"


@dataclass(frozen=True, slots=True)
class Bound:
    """What one resource alone would make of the launch."""

    resource: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Estimated:
    """Seconds as events around the launch would read, and every bound, LAUNCH among them, the greatest first."""

    seconds: float
    bounds: tuple[Bound, ...]


def estimate(
    profile: Profile, blocks_per_sm: int, machine: Machine, warm: bool = True, constants: Constants | None = None
) -> Estimated:
    """Time of a launch of which an SM holds `blocks_per_sm` blocks, 1 or more; `warm`: L2 may hold its data before."""
    use = constants or Constants()
    bounds = sorted(_bounds(profile, blocks_per_sm, machine, warm, use), key=lambda item: -item.seconds)
    greatest = bounds[0].seconds
    norm = greatest * sum((item.seconds / greatest) ** use.sharpness for item in bounds) ** (1 / use.sharpness)
    # It comes on top of what the launch does, and may be most of it.
    told = sorted([*bounds, Bound(LAUNCH, use.launch_seconds)], key=lambda item: -item.seconds)
    return Estimated(use.launch_seconds + norm, tuple(told))


def _bounds(p: Profile, blocks_per_sm: int, machine: Machine, warm: bool, use: Constants) -> list[Bound]:
    clock, blocks = machine.clock_hz, p.blocks
    busiest = math.ceil(blocks / machine.sm_count)
    dram_read, dram_written = _dram_sectors(p, machine, warm)
    l2_sectors = p.unique_read + p.global_write_sectors + p.global_atomic_sectors
    l2_lines = p.unique_read_lines + p.global_write_lines + p.global_atomic_lines
    lines = p.global_read_lines + p.global_write_lines + p.local_lines + p.shared_wavefronts

    def of_sm(amount: float, rate: float) -> float:
        """Seconds that the SM with the most blocks takes for an amount a block."""
        return busiest * amount / rate / clock

    slots = p.slots + PROLOGUE * p.warps
    bounds = {
        "issue slots": of_sm(slots, 4 * use.issue_share),
        "integer pipe": of_sm(p.alu_cycles * 32, machine.alu * use.issue_share),
        "FP32 pipe": of_sm(max(p.fma_cycles * 32 / machine.fma, p.imad_cycles * 32 / machine.imad), use.issue_share),
        "FP64 pipe": of_sm(p.fp64_cycles * 32, machine.fp64 * use.issue_share),
        "special functions": of_sm(p.xu_cycles * 32, machine.xu * use.issue_share),
        "tensor cores": of_sm(p.matrix_operations, machine.matrix_operations * use.issue_share),
        "L1 and shared memory": of_sm(lines, use.lines_per_cycle),
        "L2 bandwidth": blocks * l2_sectors * SECTOR_BYTES / (use.l2_bytes_per_cycle * machine.sm_count * clock),
        "L2 requests": blocks * l2_lines / (use.l2_requests_per_cycle * machine.sm_count * clock),
        "DRAM": (dram_read + dram_written) * SECTOR_BYTES / (machine.dram_bytes_per_second * use.dram_share),
        "atomics": _atomics(p, use) / clock,
        "block dispatch": blocks * use.dispatch_seconds,
        "latency": _latency(p, busiest, blocks_per_sm, dram_read, use) / clock,
    }
    return [Bound(name, seconds) for name, seconds in bounds.items()]


def _dram_sectors(p: Profile, machine: Machine, warm: bool) -> tuple[float, float]:
    """Sectors that come from DRAM and go there."""
    cache = machine.l2_bytes / SECTOR_BYTES
    read = min(p.bound_read, p.unique_read * p.blocks)
    written = min(p.bound_written, p.unique_written * p.blocks)
    footprint = read + written
    if not footprint:
        return 0.0, 0.0
    # What neighbours do not share is asked for again at some distance, and is still in the cache by chance.
    again = max(0.0, p.fresh_read * p.blocks - read) * max(0.0, 1 - cache / footprint)
    again *= 2 * p.unique_read_pairs / p.unique_read if p.unique_read else 1
    kept = min(1.0, max(0.0, 2 - footprint / cache)) if warm else 0.0
    return read * (1 - kept) + again, written * (1 - kept)


def _atomics(p: Profile, use: Constants) -> float:
    """Cycles: atomics on one sector go one after the other."""
    if not p.atomic_places:
        return 0.0
    return p.atomic_lanes * p.blocks / p.atomic_places * use.atomic_cycles


def _latency(p: Profile, busiest: int, blocks_per_sm: int, dram_read: float, use: Constants) -> float:
    """Cycles that the waves of blocks take one after the other."""
    misses_l1 = min(1.0, p.unique_read / p.memory_waits) if p.memory_waits else 0.0
    misses_l2 = min(misses_l1, dram_read / p.blocks / p.memory_waits) if p.memory_waits else 0.0
    wait = use.l1_cycles + misses_l1 * use.l2_cycles + misses_l2 * use.dram_cycles
    life = (p.chain_cycles + p.slots + p.memory_waits * wait) / p.warps
    life += use.turnover_cycles
    life *= 1 + use.raggedness * math.log2(p.warps)
    waves = busiest / blocks_per_sm
    # Blocks of few waves end together, so that the last wave lasts as long as a full one.
    return (math.ceil(waves) if waves < _FEW_WAVES else waves) * life
