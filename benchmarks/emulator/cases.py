"""The launches of the emulator's benchmark: what goes in, how it is launched, and NumPy doing the same."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Compute = Callable[..., Array]

FOLDER = Path(__file__).parent
MANY = 1 << 24
"""Elements of the kernels that move memory."""
SIDE = 4096
"""Rows and columns of the large 2-D arrays."""
MATRIX = 512


@dataclass(frozen=True)
class Case:
    """One kernel of kernels.cu, and the function of baseline.cpp with the name of the case."""

    name: str
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    inputs: Callable[[], dict[str, Array]]
    """Arrays by parameter; read-only ones and those that are updated, in the order of the kernel's parameters."""
    compute: Compute
    """NumPy: takes the inputs, returns the output."""
    output: str
    scalars: dict[str, float] = field(default_factory=dict)
    fresh: tuple[tuple[str, tuple[int, ...], str], ...] = ()
    """Outputs that begin as zeros: parameter, shape, dtype. They come after the inputs."""
    tolerance: float = 1e-5
    """Relative to the largest value of the result."""
    share: float = 0.0
    """Of the elements, how many may differ by more: a boundary that rounding moves."""


def _random(shape: int | tuple[int, ...], seed: int, kind: str = "float32") -> Array:
    return np.random.default_rng(seed).random(shape, dtype=np.float32).astype(kind)


@cache
def _long(seed: int) -> Array:
    return _random(MANY, seed)


@cache
def _square(seed: int) -> Array:
    return _random((SIDE, SIDE), seed)


def _matrices(kind: str = "float32") -> dict[str, Array]:
    return {"a": _random((MATRIX, MATRIX), 1, kind), "b": _random((MATRIX, MATRIX), 2, kind)}


def _product(a: Array, b: Array) -> Array:
    product: Array = a.astype(np.float32) @ b.astype(np.float32)
    return product


def _escape_rounds() -> Array:
    size, most = 1024, np.int32(256)
    at = np.arange(size, dtype=np.float32)
    c = (3 * at / size - 2)[None, :] + 1j * (3 * at / size - np.float32(1.5))[:, None]
    c = c.astype(np.complex64)
    z, rounds = np.zeros_like(c), np.zeros(c.shape, np.int32)
    inside = np.ones(c.shape, bool)
    for _ in range(most):
        inside &= z.real * z.real + z.imag * z.imag < 4
        if not inside.any():
            break
        rounds += inside
        z = np.where(inside, z * z + c, z)
    return rounds


def _forces(bodies: Array) -> Array:
    result = np.zeros_like(bodies)
    for start in range(0, len(bodies), 256):
        part = bodies[start : start + 256]
        to = bodies[None, :, :3] - part[:, None, :3]
        pull = bodies[None, :, 3] * ((to * to).sum(2) + np.float32(1e-3)) ** np.float32(-1.5)
        result[start : start + 256, :3] = (to * pull[:, :, None]).sum(1)
    return result


def _stencil(grid: Array) -> Array:
    result = np.zeros_like(grid)
    around = grid[1:-1, :-2] + grid[1:-1, 2:] + grid[:-2, 1:-1] + grid[2:, 1:-1]
    result[1:-1, 1:-1] = np.float32(0.5) * grid[1:-1, 1:-1] + np.float32(0.125) * around
    return result


_LATTICE = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
_WEIGHTS = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)
_RATE = 0.8


def _lattice_step(flow: Array) -> Array:
    f = np.stack([np.roll(flow[d], (dy, dx), (0, 1)) for d, (dx, dy) in enumerate(_LATTICE)])
    density = f.sum(0)
    ux = sum(f[d] * np.float32(dx) for d, (dx, _) in enumerate(_LATTICE)) / density
    uy = sum(f[d] * np.float32(dy) for d, (_, dy) in enumerate(_LATTICE)) / density
    square = np.float32(1.5) * (ux * ux + uy * uy)
    for d, (dx, dy) in enumerate(_LATTICE):
        along = np.float32(3) * (ux * np.float32(dx) + uy * np.float32(dy))
        rest = np.float32(_WEIGHTS[d]) * density * (1 + along + np.float32(0.5) * along * along - square)
        f[d] += np.float32(_RATE) * (rest - f[d])
    return f


def _softmax(rows: Array) -> Array:
    powers = np.exp(rows - rows.max(1, keepdims=True))
    result: Array = powers / powers.sum(1, keepdims=True)
    return result


def _part_sums(x: Array) -> Array:
    sums: Array = x.reshape(-1, 1024, 256).sum((0, 2))
    return sums


def _matmul(name: str, entry: str, grid: tuple[int, ...], block: tuple[int, ...]) -> Case:
    fresh = (("c", (MATRIX, MATRIX), "float32"),)
    return Case(name, entry, grid, block, _matrices, _product, "c", {"n": MATRIX}, fresh)


def _transpose(name: str, across: int) -> Case:
    return Case(
        name, name, (SIDE // 32, SIDE // across), (32, 8), lambda: {"in": _square(1)},
        lambda **given: np.ascontiguousarray(given["in"].T), "out", {"size": SIDE},
        (("out", (SIDE, SIDE), "float32"),), tolerance=0.0,
    )  # fmt: skip


def _along(count: int = MANY) -> tuple[tuple[int], tuple[int]]:
    return (count // 256,), (256,)


CASES: tuple[Case, ...] = (
    Case(
        "saxpy", "saxpy", *_along(), lambda: {"x": _long(1), "y": _long(2)},
        lambda x, y: np.float32(2.5) * x + y, "y", {"n": MANY, "a": 2.5},
    ),
    Case(
        "copy", "copy", *_along(), lambda: {"from": _long(1)}, lambda **given: given["from"].copy(), "to", {"n": MANY},
        (("to", (MANY,), "float32"),), tolerance=0.0,
    ),
    Case(
        "gather", "gather", *_along(),
        lambda: {"x": _long(1), "index": np.random.default_rng(3).integers(0, MANY, MANY, dtype=np.int32)},
        lambda x, index: x[index], "y", {"n": MANY}, (("y", (MANY,), "float32"),), tolerance=0.0,
    ),
    _transpose("transpose_naive", 8),
    _transpose("transpose_tiled", 32),
    _matmul("matmul_naive_16x16", "matmul_naive", (32, 32), (16, 16)),
    _matmul("matmul_naive_32x8", "matmul_naive", (16, 64), (32, 8)),
    _matmul("matmul_tiled_16", "matmul_tiled_16", (32, 32), (16, 16)),
    _matmul("matmul_tiled_32", "matmul_tiled_32", (16, 16), (32, 32)),
    _matmul("matmul_register_tiled", "matmul_register_tiled", (8, 8), (64,)),
    Case(
        "reduction", "reduction", (1024,), (256,), lambda: {"x": _long(1)}, _part_sums, "sums", {"n": MANY},
        (("sums", (1024,), "float32"),),
    ),
    Case(
        "scan", "scan", (MANY // 1024,), (1024,), lambda: {"x": _long(1)},
        lambda x: np.cumsum(x.reshape(-1, 1024), axis=1, dtype=np.float32).reshape(-1), "sums", {"n": MANY},
        (("sums", (MANY,), "float32"),),
    ),
    Case(
        "histogram", "histogram", (512,), (256,),
        lambda: {"data": np.random.default_rng(4).integers(0, 256, MANY, dtype=np.uint8)},
        lambda data: np.bincount(data, minlength=256).astype(np.uint32), "bins", {"n": MANY},
        (("bins", (256,), "uint32"),), tolerance=0.0,
    ),
    Case(
        "mandelbrot", "mandelbrot", (32, 128), (32, 8), dict, _escape_rounds, "rounds", {"size": 1024, "most": 256},
        (("rounds", (1024, 1024), "int32"),), tolerance=0.0, share=0.02,
    ),
    Case(
        "nbody", "nbody", (32,), (256,), lambda: {"bodies": _random((8192, 4), 5)}, _forces, "forces", {"n": 8192},
        (("forces", (8192, 4), "float32"),), tolerance=1e-4,
    ),
    Case(
        "stencil_2d", "stencil_2d", (SIDE // 32, SIDE // 8), (32, 8), lambda: {"in": _square(1)},
        lambda **given: _stencil(given["in"]), "out", {"size": SIDE}, (("out", (SIDE, SIDE), "float32"),),
    ),
    Case(
        "lbm_d2q9", "lbm_d2q9", (32, 128), (32, 8),
        lambda: {"in": _random((9, 1024, 1024), 6) / np.float32(9) + np.float32(0.05)},
        lambda **given: _lattice_step(given["in"]), "out", {"size": 1024, "rate": _RATE},
        (("out", (9, 1024, 1024), "float32"),),
    ),
    Case(
        "softmax", "softmax", (4096,), (256,), lambda: {"in": 8 * _random((4096, 1024), 7)},
        lambda **given: _softmax(given["in"]), "out", {"columns": 1024}, (("out", (4096, 1024), "float32"),),
    ),
    Case(
        "half_axpy", "half_axpy", *_along(MANY // 2),
        lambda: {"x": _random(MANY, 1, "float16"), "y": _random(MANY, 2, "float16")},
        lambda x, y: np.float16(2.5) * x + y, "y", {"n": MANY // 2, "a": 2.5}, tolerance=2e-3,
    ),
    Case(
        "wmma_matmul", "wmma_matmul", (8, 32), (128,), lambda: _matrices("float16"), _product, "c", {"n": MATRIX},
        (("c", (MATRIX, MATRIX), "float32"),),
    ),
)  # fmt: skip
