"""What a launch would do on a GPU, told from a sample of its blocks: averages a block, and what the grid touches."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from emulator import LaunchError, Loaded, Memory
from emulator.runtime.sample import SECTOR, BlockProfile, Sampler, Sectors

Extents = tuple[int, int, int]
LEAST_ANCHORS = 6
MOST_ANCHORS = 48
EXACT_ENOUGH = 0.03
"""Relative standard error of a block's issue slots at which no more blocks are sampled."""
# Roberts' sequence in three dimensions: spreads any number of points evenly. The root of x⁴ = x + 1.
_ROOT = 1.2207440846057596


@dataclass(frozen=True, slots=True)
class Profile:
    """Averages over the sampled blocks, each of one block, and totals where the name says so.

    Slots, cycles and waits are sums over the block's warps; sectors have 32 bytes, lines 128.
    """

    grid: Extents
    block: Extents
    sampled: int
    """Blocks that were run."""
    slots: float
    lanes: float
    """Active lanes of an instruction, 0 to 32."""
    alu_cycles: float
    fma_cycles: float
    imad_cycles: float
    fp64_cycles: float
    xu_cycles: float
    matrix_operations: float
    chain_cycles: float
    memory_waits: float
    barriers: float
    """Arrivals of warps."""
    shared_wavefronts: float
    local_lines: float
    global_read_lines: float
    global_write_lines: float
    global_read_sectors: float
    global_write_sectors: float
    global_atomic_sectors: float
    global_atomic_lines: float
    atomic_lanes: float
    unique_read: float
    """Sectors that the block reads, each once."""
    unique_read_pairs: float
    """Pairs of sectors, which DRAM moves together, likewise."""
    unique_read_lines: float
    fresh_read: float
    """Those of them that no neighbour (one block before along an axis) reads."""
    unique_written: float
    fresh_written: float
    bound_read: int
    """Sectors of all buffers that the sample reads from: the whole grid reads no more of them, each once."""
    bound_written: int
    atomic_places: int
    """Different sectors that the sample's atomics went to."""
    slowest: float
    """Issue slots of the sampled block with the most, over the average."""

    @property
    def blocks(self) -> int:
        x, y, z = self.grid
        return x * y * z

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z

    @property
    def warps(self) -> int:
        """Of a block."""
        return -(-self.threads // 32)


AVERAGES = tuple(
    item.name
    for item in fields(Profile)
    if item.name.endswith(("_cycles", "_lines", "_sectors", "_waits", "_lanes", "_operations"))
    and item.name[:7] != "unique_"
)


class Unestimated(Exception):
    """Why there is no estimate, in words for the user."""


def sampled(
    loaded: Loaded,
    memory: Memory,
    grid: Extents,
    block: Extents,
    arguments: Sequence[bytes],
    dynamic_shared_bytes: int,
    budget_seconds: float,
) -> Profile:
    """What a launch does, told from some of its blocks, which run on the memory as it is. Unestimated."""
    try:
        sampler = Sampler(loaded, memory, grid, arguments, dynamic_shared_bytes)
    except LaunchError as error:
        raise Unestimated(str(error)) from None
    try:
        found = profile_launch(sampler, memory, grid, block, budget_seconds)
    finally:
        sampler.close()
    if found is None:
        raise Unestimated("a block that was to be sampled met a defect, or took too long")
    return found


def profile_launch(
    sampler: Sampler, memory: Memory, grid: Extents, block: Extents, budget_seconds: float
) -> Profile | None:
    """Samples blocks until they tell enough, or the time is up. None where a sampled block met a fault or no end."""
    begin = time.perf_counter()
    collected = _Collected(grid, block)
    for anchor in _anchors(grid):
        group: list[BlockProfile] = []
        for place in _neighbourhood(anchor, grid):
            left = budget_seconds - (time.perf_counter() - begin)
            if left <= 0 and collected.groups:
                return collected.told(memory)
            found = sampler.block(_linear(place, grid), max(left, 0.05))
            if found is None:
                return None
            group.append(found)
        collected.add(group)
        if collected.groups >= LEAST_ANCHORS and collected.error() <= EXACT_ENOUGH:
            break
    return collected.told(memory)


def _anchors(grid: Extents) -> Iterator[Extents]:
    """Blocks all over the grid, each at most once."""
    seen: set[Extents] = set()
    for number in range(1, MOST_ANCHORS + 1):
        x, y, z = (
            min(extent - 1, int(extent * ((0.5 + number * _ROOT ** -(axis + 1)) % 1)))
            for axis, extent in enumerate(grid)
        )
        if (x, y, z) not in seen:
            seen.add((x, y, z))
            yield x, y, z


def _neighbourhood(place: Extents, grid: Extents) -> Iterator[Extents]:
    """The blocks one before along each axis, then the block itself; at the grid's start the block moves by one."""
    x, y, z = (max(at, min(1, extent - 1)) for at, extent in zip(place, grid, strict=True))
    if x:
        yield x - 1, y, z
    if y:
        yield x, y - 1, z
    if z:
        yield x, y, z - 1
    yield x, y, z


def _linear(place: Extents, grid: Extents) -> int:
    return place[0] + grid[0] * (place[1] + grid[1] * place[2])


@dataclass(slots=True)
class _Collected:
    grid: Extents
    block: Extents
    groups: int = 0
    blocks: list[BlockProfile] = field(default_factory=list)
    fresh_read: list[int] = field(default_factory=list)
    fresh_written: list[int] = field(default_factory=list)

    def add(self, group: Sequence[BlockProfile]) -> None:
        """The last of a group is its anchor, the others are neighbours of that."""
        self.groups += 1
        self.blocks += group
        *others, anchor = group
        self.fresh_read.append(_without(anchor.read, [item.read for item in others]))
        self.fresh_written.append(_without(anchor.written, [item.written for item in others]))

    def error(self) -> float:
        """Relative standard error of the average of a block's slots."""
        slots = [item.counters["slots"] for item in self.blocks]
        average = statistics.fmean(slots)
        if len(slots) < 2 or not average:
            return 1.0
        return float(statistics.stdev(slots) / average / len(slots) ** 0.5)

    def told(self, memory: Memory) -> Profile:
        def average(name: str) -> float:
            return statistics.fmean(item.counters[name] for item in self.blocks)

        slots = [item.counters["slots"] for item in self.blocks]
        instructions = sum(item.counters["instructions"] for item in self.blocks)
        shared = ("shared_read_wavefronts", "shared_write_wavefronts", "shared_atomic_wavefronts")
        return Profile(
            grid=self.grid,
            block=self.block,
            sampled=len(self.blocks),
            slots=statistics.fmean(slots),
            lanes=sum(item.counters["thread_instructions"] for item in self.blocks) / max(1, instructions),
            barriers=average("barriers"),
            shared_wavefronts=sum(average(name) for name in shared),
            unique_read=statistics.fmean(len(item.read) for item in self.blocks),
            unique_read_pairs=statistics.fmean(len(np.unique(item.read // 2)) for item in self.blocks),
            unique_read_lines=statistics.fmean(len(np.unique(item.read // 4)) for item in self.blocks),
            fresh_read=statistics.fmean(self.fresh_read),
            unique_written=statistics.fmean(len(item.written) for item in self.blocks),
            fresh_written=statistics.fmean(self.fresh_written),
            bound_read=_bound(memory, [item.read for item in self.blocks]),
            bound_written=_bound(memory, [item.written for item in self.blocks]),
            atomic_places=len(np.unique(np.concatenate([item.atomic for item in self.blocks]))),
            slowest=max(slots) / (statistics.fmean(slots) or 1),
            **{name: average(name) for name in AVERAGES},
        )


def _without(sectors: Sectors, others: Sequence[Sectors]) -> int:
    """How many sectors are in none of the others."""
    return len(np.setdiff1d(sectors, np.concatenate(others), assume_unique=True)) if others else len(sectors)


def _bound(memory: Memory, touched: Sequence[Sectors]) -> int:
    """Sectors of all buffers that these touch."""
    places = np.unique(np.concatenate(touched)) * SECTOR + memory.base // SECTOR * SECTOR
    total = 0
    for buffer in memory.buffers:
        first, last = np.searchsorted(places, [buffer.address // SECTOR * SECTOR, buffer.address + buffer.nbytes])
        if last > first:
            total += -(-buffer.nbytes // SECTOR)
    return total
