"""The launches that an H200 was timed on, as tests/data/truth/timing.py made them, with their arguments."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

TRUTH = Path(__file__).parents[2] / "tests" / "data" / "truth"
Array = npt.NDArray[Any]
Extents = tuple[int, int, int]
Made = tuple[Array | np.generic, ...]
"""Arguments in the kernel's order."""
N = 1 << 24


@dataclass(frozen=True, slots=True)
class Timing:
    """One block shape of one kernel on the H200; medians in seconds, with a warm and with a flushed L2 cache."""

    kernel: str
    entry: str
    grid: Extents
    block: Extents
    registers: int
    warm: float
    cold: float


@dataclass(frozen=True, slots=True)
class Job:
    """A kernel of the truth's sources, by file and name, and what makes its arguments: arrays and scalars."""

    file: str
    arguments: Callable[[np.random.Generator], Made]


def timings() -> list[Timing]:
    """Every row of timing_sm_90.tsv."""
    with (TRUTH / "timing_sm_90.tsv").open(encoding="utf-8") as table:
        return [
            Timing(
                row["kernel"], row["entry"], _extents(row["grid"]), _extents(row["block"]), int(row["registers"]),
                float(row["warm_us"]) * 1e-6, float(row["cold_us"]) * 1e-6,
            )
            for row in csv.DictReader(table, delimiter="\t")
        ]  # fmt: skip


def _extents(text: str) -> Extents:
    x, y, z = (*map(int, text.split("x")), 1, 1)[:3]
    return x, y, z


def _floats(generator: np.random.Generator, count: int, kind: npt.DTypeLike = np.float32) -> Array:
    return generator.random(count, dtype=np.float32).astype(kind)


def _integers(generator: np.random.Generator, low: int, high: int, count: int, kind: npt.DTypeLike = np.int32) -> Array:
    return generator.integers(low, high, count).astype(kind)


def _zeros(count: int, kind: npt.DTypeLike = np.float32) -> Array:
    return np.zeros(count, kind)


def _image(count: int, kind: npt.DTypeLike, side: int) -> Callable[[np.random.Generator], Made]:
    def arguments(generator: np.random.Generator) -> Made:
        given = _floats(generator, count) if kind == np.float32 else _integers(generator, 0, 2, count, kind)
        return np.int32(side), np.int32(side), given, _zeros(count, kind)

    return arguments


def _square(generator: np.random.Generator) -> Made:
    return np.int32(1024), _floats(generator, 1 << 20), _floats(generator, 1 << 20), _zeros(1 << 20)


def _turned(generator: np.random.Generator) -> Made:
    return np.int32(4096), _floats(generator, N), _zeros(N)


JOBS: dict[str, Job] = {
    "copy": Job("copy", lambda g: (np.int32(N), _floats(g, N), _zeros(N))),
    "copy_float4": Job("copy", lambda g: (np.int32(N // 4), _floats(g, N), _zeros(N))),
    "copy_bytes": Job("copy", lambda g: (np.int32(N), _integers(g, 0, 255, N, np.uint8), _zeros(N, np.uint8))),
    "gather_stride8": Job("copy", lambda g: (np.int32(N // 8), np.int32(8), _floats(g, N), _zeros(N // 8))),
    "gather_random": Job("copy", lambda g: (np.int32(N), _integers(g, 0, N, N), _floats(g, N), _zeros(N))),
    "aos_read": Job("copy", lambda g: (np.int32(N // 4), _floats(g, N), _zeros(N // 4))),
    "block_sum": Job("warp", lambda g: (np.int32(N), _floats(g, N), _zeros(N // 32))),
    "histogram_global": Job("warp", lambda g: (np.int32(N), _integers(g, 0, 256, N, np.uint8), _zeros(256, np.uint32))),
    "collatz": Job("control_flow", lambda g: (np.int32(1 << 21), _zeros(1 << 21, np.int32))),
    "diverge_parity": Job("control_flow", lambda g: (np.int32(N), _floats(g, N), _zeros(N))),
    "mandelbrot": Job(
        "control_flow",
        lambda g: (
            np.int32(2048),
            np.int32(2048),
            np.int32(400),
            np.float32(-2),
            np.float32(-1.25),
            np.float32(2.5 / 2048),
            np.float32(2.5 / 2048),
            _zeros(1 << 22, np.int32),
        ),
    ),
    "matmul_naive": Job("compute", _square),
    "blur3x3": Job("compute", _image(N, np.float32, 4096)),
    "life_step": Job("compute", _image(N, np.uint8, 4096)),
    "integer_math": Job(
        "compute",
        lambda g: (
            np.int32(1 << 22),
            _integers(g, -(2**31), 2**31 - 1, 1 << 22),
            _integers(g, -999, 999, 1 << 22),
            _zeros(1 << 22, np.int32),
            _zeros(1 << 22, np.int64),
        ),
    ),
    "float_functions": Job("compute", lambda g: (np.int32(1 << 20), _floats(g, 1 << 20), _zeros(20 << 20))),
    "double_functions": Job(
        "compute", lambda g: (np.int32(1 << 20), _floats(g, 1 << 20, np.float64), _zeros(10 << 20, np.float64))
    ),
    "local_array": Job(
        "compute", lambda g: (np.int32(1 << 20), _integers(g, 0, 1 << 20, 1 << 20), _zeros(1 << 20, np.int32))
    ),
    "half2_axpy": Job(
        "modern", lambda g: (np.int32(N // 2), np.float32(1.5), _floats(g, N, np.float16), _floats(g, N, np.float16))
    ),
    "transpose_naive": Job("shared_memory", _turned),
    "transpose_tiled": Job("shared_memory", _turned),
    "transpose_padded": Job("shared_memory", _turned),
    "matmul_tiled16": Job("compute", _square),
    "matmul_tiled32": Job("compute", _square),
    "nbody": Job("compute", lambda g: (np.int32(16384), np.float32(0.01), _floats(g, 65536), _floats(g, 65536))),
}
