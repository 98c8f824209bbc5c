"""Launches of tests/data/ptx/asynchronous*.ptx with what NumPy says they compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """Arrays become buffers, ints are int32. `expected`: position of an argument -> its contents afterwards."""

    entry: str
    threads: int
    arguments: tuple[Array | int, ...]
    expected: dict[int, Array]
    blocks: int = 1
    cluster: int | None = None
    label: str = ""

    @property
    def name(self) -> str:
        return f"{self.entry}-{self.label}" if self.label else self.entry


def zeros(count: int, dtype: Any = np.int32) -> Array:
    return np.zeros(count, dtype)


DATA = np.random.default_rng(11).integers(0, 1000, 2048).astype(np.int32)
TILES = DATA.reshape(-1, 128)


def library_cases() -> list[Case]:
    """Of asynchronous.cu."""
    t64, t128, t256 = (np.arange(n) for n in (64, 128, 256))
    rotated = 5 * DATA[(t64 + 1) % 64] + sum(range(5)) + (t64 != 3)
    piped = TILES[:9, t128 * 7 % 128].sum(axis=0)
    lanes = t128 % 32
    grouped = DATA[t128 ^ 3] + np.where(lanes < 30, DATA[64 + lanes], DATA[t128]) + DATA[1 + lanes]
    rows: list[tuple[str, int, tuple[int, ...], Any]] = [
        ("block_barrier", 64, (5,), rotated),
        ("memcpy_async", 256, (), DATA[t256 ^ 1] + DATA[2 * t256]),
        ("block_pipeline", 128, (9,), piped),
        ("role_pipeline", 160, (9,), piped[(t128 + 32) % 128]),
        ("thread_pipeline", 64, (), DATA[t64] * DATA[t64 + 64]),
        ("primitives", 64, (), DATA[t64 * 4 + 3] + DATA[t64 * 4 + 2]),
        ("group_copies", 128, (), grouped),
    ]
    cases = [
        Case(entry, threads, (zeros(want.size), DATA, *numbers), {0: want}) for entry, threads, numbers, want in rows
    ]
    return [*cases, Case("timed_wait", 64, (zeros(64),), {0: np.full(64, 7, np.int32)})]


def _reductions() -> list[Case]:
    """Three blocks combine 64 elements each into what is there."""
    random = np.random.default_rng(17)
    small = random.integers(-40, 40, 256)
    folds: dict[str, Any] = {
        "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }  # fmt: skip
    kinds = ["add_u32", "add_s32", "add_u64", "add_f32", "add_f64", "add_f16", "min_u32", "max_s32", "min_s64"]
    kinds += ["max_u64", "min_f16", "and_b32", "or_b64", "xor_b32"]
    types: dict[str, Any] = {
        "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64, "f32": np.float32, "f64": np.float64,
        "f16": np.float16, "b32": np.uint32, "b64": np.uint64,
    }  # fmt: skip
    found: list[Case] = []
    for kind in kinds:
        operation, type = kind.split("_")
        values = small.astype(types[type])
        first, rest = values[:64], values[64:].reshape(3, 64)
        total = folds[operation].reduce(np.vstack([first, rest]), axis=0)
        found.append(Case(f"reduce_{kind}", 64, (first, rest.reshape(-1)), {0: total.astype(types[type])}, blocks=3))
    # bfloat16 are the upper halves of float32; sums of small integers are exact.
    singles = small.astype(np.float32)
    halves = (singles.view(np.uint32) >> 16).astype(np.uint16)
    for operation in ("add", "max"):
        total = folds[operation].reduce(singles.reshape(4, 64), axis=0).astype(np.float32)
        want = (total.view(np.uint32) >> 16).astype(np.uint16)
        found.append(Case(f"reduce_{operation}_bf16", 64, (halves[:64], halves[64:]), {0: want}, blocks=3))
    # Subnormal numbers stay, infinities and NaNs are made.
    start = np.array([1e-40, -2e-39, 1.1754944e-38, 3.0, np.inf, -np.inf, np.nan, 0.0] * 8, np.float32)
    steps = np.array([2e-40, 2e-39, -1.0e-38, 1e-45, -np.inf, 1.0, 2.0, -0.0] * 8, np.float32)
    with np.errstate(invalid="ignore"):
        total = start + steps + steps + steps
    found.append(Case("reduce_add_f32", 64, (start, np.tile(steps, 3)), {0: total}, blocks=3, label="special"))
    # Counters wrap at the limit that each block gives; here all give the same.
    limits = np.tile(random.integers(1, 6, 64).astype(np.uint32), 3)
    start, limit = np.arange(64, dtype=np.uint32) % 4, limits[:64]
    up, down = start.copy(), start.copy()
    for _ in range(3):
        up = np.where(up >= limit, 0, up + 1).astype(np.uint32)
        down = np.where((down == 0) | (down > limit), limit, down - 1).astype(np.uint32)
    found.append(Case("reduce_inc_u32", 64, (start, limits), {0: up}, blocks=3))
    return [*found, Case("reduce_dec_u32", 64, (start, limits), {0: down}, blocks=3)]


# What the manual says of every step of the kernel `counts`.
_COUNTS = [
    *(5, 0, 0, 1), 4, *(2, 0, 0), 0, *(1, 1, 1, 0), *(5, 0), 3, 2, *(0, 0), *(1, 1, 1), 1, *(1, 1, 1, 0), 1, 1, 0xC0DE,
]  # fmt: skip


def bulk_cases() -> list[Case]:
    """Of bulk.cu."""
    t64, t128 = np.arange(64), np.arange(128)
    staged = sum(TILES[k, (t128 * 5 + k) % 128] for k in range(7))
    specialised = 2 * TILES[:9, :64].sum(axis=0) + TILES[:9, 64:].sum(axis=0)
    ragged = np.full((32, 32), -1, np.int32)
    for lane in range(32):
        count = lane % 8 * 4
        ragged[lane, :count] = DATA[4 * lane : 4 * lane + count]
    pairs = DATA[:128]
    filled = np.r_[np.where(np.arange(256) < 101, DATA[:256], 0), np.where(4 * t64 < 101, DATA[4 * t64], 0)]
    exchanged = [np.where(t64 < 32, DATA[64 * other + t64], DATA[64 * other + t64] + 1) for other in (1, 0)]
    shared = np.where(t128 // 32 == 2, -1, DATA[t128])
    rows: list[tuple[str, int, tuple[int, ...], Any, int]] = [
        ("staged", 128, (7,), staged, 1),
        ("specialised", 96, (9,), specialised, 1),
        ("stored", 256, (), DATA[:1024] * 3, 4),
        ("ragged", 32, (), ragged.reshape(-1), 1),
        ("tracked", 64, (), pairs[:64] + pairs[127 - t64], 1),
        ("filled", 64, (101,), filled, 1),
        ("exchanged", 64, (), np.concatenate(exchanged), 2),
        ("multicast", 128, (), np.tile(shared, 4), 4),
    ]
    cases = [
        Case(entry, threads, (zeros(want.size), DATA[:101] if entry == "filled" else DATA, *numbers), {0: want}, blocks)
        for entry, threads, numbers, want, blocks in rows
    ]
    counts = np.array(_COUNTS, np.uint32)
    moved = np.where((t128 >= 32) & (t128 < 96), DATA[t128 - 32], 0)
    cases.append(Case("within", 128, (zeros(128), DATA), {0: moved}, cluster=1))
    return [*cases, Case("counts", 1, (zeros(counts.size, np.uint32),), {0: counts}), *_reductions()]
