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
