"""Launches of tests/data/ptx/cooperation.cu with what NumPy says they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """Arrays become buffers, ints are int32. `expected`: position of an argument -> its contents afterwards."""

    entry: str
    grid: Dim3
    block: Dim3
    arguments: tuple[Array | int, ...]
    expected: dict[int, Array]
    label: str = ""
    cooperative: bool = False
    cluster: Dim3 | None = None
    shared: int = 0

    @property
    def name(self) -> str:
        return f"{self.entry}-{self.label}" if self.label else self.entry


def zeros(count: int, dtype: Any = np.int32) -> Array:
    return np.zeros(count, dtype)


def random(count: int, high: int = 100, dtype: Any = np.int32) -> Array:
    return np.random.default_rng(count + high).integers(0, high, count).astype(dtype)


def _scan(blocks: int) -> Case:
    data = random(128 * blocks)
    flags = (zeros(1, np.uint32), zeros(blocks), zeros(blocks), zeros(blocks))
    scanned = np.cumsum(data, dtype=np.int32)
    return Case(
        "lookback_scan", (blocks, 1, 1), (128, 1, 1), (data, zeros(128 * blocks), *flags),
        {1: scanned, 3: np.full(blocks, 2, np.int32), 5: scanned[127::128]}, str(blocks),
    )  # fmt: skip


def _warp_scan(blocks: int) -> Case:
    data = random(32 * blocks)
    scanned = np.cumsum(data, dtype=np.int32)
    return Case(
        "warp_lookback", (blocks, 1, 1), (32, 1, 1), (data, zeros(data.size), *(zeros(blocks) for _ in range(3))),
        {1: scanned, 2: np.full(blocks, 2, np.int32), 4: scanned[31::32]}, str(blocks),
    )  # fmt: skip


def _leader() -> Case:
    values = np.where(np.arange(256) % 2, 163241, 3241).astype(np.int32)
    return Case("leader_waits", (4, 1, 1), (64, 1, 1), (zeros(1), zeros(256)), {0: zeros(1) + 41, 1: values})


def _last_block() -> Case:
    data = random(10_000)
    arguments = (data, zeros(20), zeros(1, np.uint32), zeros(1), data.size)
    return Case("last_block_sum", (20, 1, 1), (128, 1, 1), arguments, {3: np.array([data.sum()], np.int32)})


def _spin_barrier(blocks: int, steps: int) -> Case:
    first = random(blocks * 64)
    values = first.reshape(blocks, 64)
    for step in range(steps):
        values = np.roll(values, -1, axis=0) + step
    place = steps % 2
    return Case(
        "spin_barrier", (blocks, 1, 1), (64, 1, 1), (first, zeros(first.size), zeros(1, np.uint32), steps),
        {place: values.reshape(-1).astype(np.int32), 2: np.array([steps * blocks], np.uint32)}, str(blocks),
    )  # fmt: skip


def _polled() -> Case:
    return Case(
        "polled_barrier", (9, 1, 1), (96, 1, 1), (zeros(9 * 96), zeros(1, np.uint32)),
        {0: np.full(9 * 96, 9, np.int32)},
    )  # fmt: skip


def _plain_flag() -> Case:
    return Case("plain_flag", (6, 1, 1), (64, 1, 1), (zeros(1), zeros(6 * 64)), {1: np.full(6 * 64, 7, np.int32)})


def _queue() -> Case:
    lengths = random(200, 300)
    values = []
    for item, length in enumerate(lengths.tolist()):
        value = item
        for _ in range(length):
            value = (value * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        values.append(value)
    expected = np.array(values, np.uint64).view(np.int64)
    return Case(
        "work_queue", (7, 1, 1), (64, 1, 1), (lengths, zeros(200, np.int64), zeros(1, np.uint32), zeros(1), 200),
        {1: expected, 2: np.array([207], np.uint32), 3: np.array([200], np.int32)},
    )  # fmt: skip


def _produce() -> Case:
    half, rounds, thread = 5, 4, np.arange(32)
    out = np.array([[sum(1000 * r + 10 * pair + t for r in range(rounds)) for t in thread] for pair in range(half)])
    return Case(
        "produce_consume", (2 * half, 1, 1), (32, 1, 1), (zeros(32 * half), zeros(half), zeros(32 * half), rounds),
        {1: np.full(half, 2 * rounds, np.int32), 2: out.reshape(-1).astype(np.int32)},
    )  # fmt: skip


def _lock() -> Case:
    return Case(
        "spin_lock", (12, 1, 1), (32, 1, 1), (zeros(1), zeros(1), 50),
        {0: zeros(1), 1: np.array([50 * sum(range(12))], np.int32)},
    )  # fmt: skip


def _grid_sum() -> Case:
    data = random(5000)
    return Case(
        "grid_sum", (11, 1, 1), (128, 1, 1), (data, zeros(11), zeros(11 * 128), data.size),
        {2: np.full(11 * 128, data.sum(), np.int32)}, cooperative=True,
    )  # fmt: skip


def _heat() -> Case:
    steps, first = 25, random(3000).astype(np.float32)
    values = first
    for _ in range(steps):
        left, right = np.concatenate([values[:1], values[:-1]]), np.concatenate([values[1:], values[-1:]])
        values = np.float32(0.5) * values + np.float32(0.25) * (left + right)
    arguments = (first, zeros(3000, np.float32), 3000, steps)
    return Case("heat", (10, 1, 1), (128, 1, 1), arguments, {steps % 2: values}, cooperative=True)


def _ranks(grid: Dim3, block: Dim3) -> Case:
    total = int(np.prod(grid) * np.prod(block))
    ranks = np.arange(total, dtype=np.uint64) * 3 + 1
    facts = np.array([1, total, np.prod(grid), grid[0] * 100 + grid[1] * 10 + grid[2]], np.int32)
    return Case(
        "grid_ranks", grid, block, (zeros(total, np.uint64), zeros(total, np.uint64), zeros(4)),
        {0: ranks, 1: ranks[::-1], 2: facts}, "x".join(map(str, grid)), cooperative=True,
    )  # fmt: skip


def _valid(cooperative: bool) -> Case:
    return Case(
        "grid_valid", (3, 1, 1), (32, 1, 1), (zeros(96),), {0: np.ones(96, np.int32)},
        "cooperative" if cooperative else "plain", cooperative,
    )  # fmt: skip


def _histogram(cluster: int) -> Case:
    data = random(6000, 1 << 20, np.uint32)
    return Case(
        "cluster_histogram", (2 * cluster, 1, 1), (96, 1, 1), (data, zeros(64), data.size, 64),
        {1: np.bincount(data % 64, minlength=64).astype(np.int32)}, str(cluster), cluster=(cluster, 1, 1),
        shared=64 // cluster * 4,
    )  # fmt: skip


def _cluster_sum() -> Case:
    data = random(8 * 128)
    sums = np.repeat(data.reshape(2, -1).sum(axis=1), 4 * 128).astype(np.int32)
    return Case("cluster_sum", (8, 1, 1), (128, 1, 1), (data, zeros(8 * 128)), {1: sums})


def _rank_of(x: int, y: int, z: int, cluster: Dim3) -> int:
    return (z % cluster[2] * cluster[1] + y % cluster[1]) * cluster[0] + x % cluster[0]


def _cluster_and_grid() -> Case:
    width, height, steps = 6, 4, 5
    a = random(width * height * 64)
    cells = a.reshape(height, width, 64).astype(np.int64)
    for _ in range(steps):
        b = np.zeros_like(cells)
        for y in range(height):
            for x in range(width):
                rank = _rank_of(x, y, 0, (2, 2, 1))
                other = (rank + 1) % 4
                b[y, x] = cells[y // 2 * 2 + other // 2, x // 2 * 2 + other % 2] * 3 + rank
        cells = np.roll(b.reshape(-1, 64), -1, axis=0).reshape(cells.shape) + 1
    return Case(
        "cluster_and_grid", (width, height, 1), (64, 1, 1), (a, zeros(a.size), steps),
        {0: cells.reshape(-1).astype(np.int32)}, cooperative=True,
    )  # fmt: skip


def _facts(grid: Dim3, cluster: Dim3 | None) -> Case:
    shape = cluster or (1, 1, 1)
    rows = []
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                place = list(zip((x, y, z), shape, strict=True))
                row = [at // extent for at, extent in place]
                row += [blocks // extent for blocks, extent in zip(grid, shape, strict=True)]
                row += [at % extent for at, extent in place]
                row += [*shape, _rank_of(x, y, z, shape), int(np.prod(shape)), int(cluster is not None)]
                rows.append([*row, x + 10 * y + 100 * z])
    expected = np.array(rows, np.uint32).reshape(-1)
    label = "none" if cluster is None else "x".join(map(str, cluster))
    return Case(
        "cluster_facts", grid, (32, 1, 1), (zeros(expected.size, np.uint32),), {0: expected}, label, cluster=cluster
    )


def _windows(cluster: int) -> Case:
    out = []
    thread = np.arange(32)
    for block in range(2 * cluster):
        rank = block % cluster
        after = (rank + 1) % cluster
        x = after * 1000 + thread
        four = after * 1000 + thread // 4 * 4
        written = (rank * 1000 + 31 - thread) + 5  # by the block before, of what it read here
        rows = np.stack([
            x, 4 * four + 1 + 2 + 3, written, np.full(32, thread.sum()), np.full(32, after), np.full(32, after),
            np.full(32, 2), rank * 1000 + thread + rank * 32 + thread + cluster * 32,
        ], axis=1)  # fmt: skip
        out.append(rows)
    expected = np.concatenate(out).reshape(-1).astype(np.int32)
    return Case(
        "cluster_windows", (2 * cluster, 1, 1), (32, 1, 1), (zeros(expected.size), 0), {0: expected}, str(cluster),
        cluster=(cluster, 1, 1),
    )  # fmt: skip


def _exits() -> Case:
    thread = np.arange(64)
    values = np.where(thread < 40, np.where(thread % 2, 110, 210), 0)
    return Case(
        "cluster_exits", (4, 1, 1), (64, 1, 1), (zeros(256),), {0: np.tile(values, 4).astype(np.int32)},
        cluster=(2, 1, 1),
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """All that end well."""
    makers: list[Callable[[], Case]] = [
        _leader, _last_block, _polled, _plain_flag, _queue, _produce, _lock, _grid_sum, _heat, _cluster_sum,
        _cluster_and_grid, _exits,
    ]  # fmt: skip
    yield from (maker() for maker in makers)
    yield from (_scan(1), _scan(40), _warp_scan(1), _warp_scan(100), _spin_barrier(3, 4), _spin_barrier(60, 7))
    yield from (_ranks((7, 1, 1), (64, 1, 1)), _ranks((3, 4, 1), (16, 4, 1)), _ranks((2, 3, 4), (8, 3, 2)))
    yield from (_valid(True), _valid(False))
    yield from (_histogram(size) for size in (1, 2, 4, 8))
    yield from (_facts((4, 2, 2), None), _facts((8, 1, 1), (2, 1, 1)), _facts((6, 4, 2), (3, 2, 1)))
    yield from (_facts((2, 4, 4), (2, 2, 2)), _windows(2), _windows(4))
