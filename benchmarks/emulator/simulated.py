"""The kernels in Python for Numba's simulator, small: `python -m benchmarks.emulator.simulated NAME…`

Needs NUMBA_ENABLE_CUDASIM=1. Prints the seconds that each full case would take, as JSON: those of a launch of the
small size, divided by the share of the full case's work that it does. The simulator lacks shuffles and tensor cores:
kernels that need them are not here.
"""

# Kernels are untyped: Numba types them.
# mypy: ignore-errors

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float32

Launch = tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], tuple[Any, ...], float]


@cuda.jit
def saxpy(n, a, x, y):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@cuda.jit
def copy(n, origin, to):
    i = cuda.grid(1)
    if i < n:
        to[i] = origin[i]


@cuda.jit
def gather(n, x, index, y):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[index[i]]


@cuda.jit
def transpose_naive(size, origin, to):
    x, y = cuda.grid(2)
    if x < size and y < size:
        to[x, y] = origin[y, x]


@cuda.jit
def transpose_tiled(size, origin, to):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
    for row in range(0, 32, 8):
        tile[ty + row, tx] = origin[y + row, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    for row in range(0, 32, 8):
        to[y + row, x] = tile[tx, ty + row]


@cuda.jit
def matmul_naive(n, a, b, c):
    column, row = cuda.grid(2)
    if row < n and column < n:
        total = float32(0)
        for k in range(n):
            total += a[row, k] * b[k, column]
        c[row, column] = total


def tiled(tile):
    @cuda.jit
    def matmul_tiled(n, a, b, c):
        left = cuda.shared.array((tile, tile), float32)
        right = cuda.shared.array((tile, tile), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        total = float32(0)
        for start in range(0, n, tile):
            left[y, x] = a[row, start + x]
            right[y, x] = b[start + y, column]
            cuda.syncthreads()
            for k in range(tile):
                total += left[y, k] * right[k, x]
            cuda.syncthreads()
        c[row, column] = total

    return matmul_tiled


@cuda.jit
def scan(n, x, sums):
    part = cuda.shared.array((2, 1024), float32)
    i, t, now, distance = cuda.grid(1), cuda.threadIdx.x, 0, 1
    part[0, t] = x[i]
    cuda.syncthreads()
    while distance < cuda.blockDim.x:
        part[1 - now, t] = part[now, t] + part[now, t - distance] if t >= distance else part[now, t]
        now = 1 - now
        distance *= 2
        cuda.syncthreads()
    sums[i] = part[now, t]


@cuda.jit
def histogram(n, data, bins):
    mine = cuda.shared.array(256, np.uint32)
    t = cuda.threadIdx.x
    mine[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(mine, data[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, mine[t])


@cuda.jit
def mandelbrot(size, most, rounds):
    x, y = cuda.grid(2)
    cr, ci = -2.0 + 3.0 * x / size, -1.5 + 3.0 * y / size
    re, im, n = 0.0, 0.0, 0
    while n < most and re * re + im * im < 4.0:
        re, im = re * re - im * im + cr, 2.0 * re * im + ci
        n += 1
    rounds[y, x] = n


@cuda.jit
def nbody(n, bodies, forces):
    i = cuda.grid(1)
    fx = fy = fz = float32(0)
    for k in range(n):
        dx, dy, dz = bodies[k, 0] - bodies[i, 0], bodies[k, 1] - bodies[i, 1], bodies[k, 2] - bodies[i, 2]
        inverse = 1 / math.sqrt(dx * dx + dy * dy + dz * dz + 1e-3)
        pull = bodies[k, 3] * inverse * inverse * inverse
        fx, fy, fz = fx + dx * pull, fy + dy * pull, fz + dz * pull
    forces[i, 0], forces[i, 1], forces[i, 2] = fx, fy, fz


@cuda.jit
def stencil_2d(size, origin, to):
    x, y = cuda.grid(2)
    if 0 < x < size - 1 and 0 < y < size - 1:
        around = origin[y, x - 1] + origin[y, x + 1] + origin[y - 1, x] + origin[y + 1, x]
        to[y, x] = 0.5 * origin[y, x] + 0.125 * around


_DX, _DY = (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)
_WEIGHTS = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)


@cuda.jit
def lbm_d2q9(size, rate, flow, to):
    x, y = cuda.grid(2)
    f = cuda.local.array(9, float32)
    density = ux = uy = float32(0)
    for d in range(9):
        f[d] = flow[d, (y - _DY[d]) % size, (x - _DX[d]) % size]
        density, ux, uy = density + f[d], ux + f[d] * _DX[d], uy + f[d] * _DY[d]
    ux, uy = ux / density, uy / density
    square = 1.5 * (ux * ux + uy * uy)
    for d in range(9):
        along = 3.0 * (ux * _DX[d] + uy * _DY[d])
        rest = _WEIGHTS[d] * density * (1.0 + along + 0.5 * along * along - square)
        to[d, y, x] = f[d] + rate * (rest - f[d])


@cuda.jit
def half_axpy(n, a, x, y):
    i = cuda.grid(1)
    if i < n:
        for k in (2 * i, 2 * i + 1):
            y[k] = a * x[k] + y[k]


def _line(count: int = 2048) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.ones(count, np.float32)


def _plane(side: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.ones((side, side), np.float32)


def _along(kernel: Callable[..., Any], *arrays: Any, first: tuple[Any, ...] = (2048,)) -> Launch:
    return kernel, (8,), (256,), (*first, *arrays), 2048 / (1 << 24)


def _matmul(kernel: Callable[..., Any], side: int, block: tuple[int, int]) -> Launch:
    grid = side // block[0], side // block[1]
    return kernel, grid, block, (side, _plane(side), _plane(side), _plane(side)), (side / 512) ** 3


LAUNCHES: dict[str, Callable[[], Launch]] = {
    "saxpy": lambda: _along(saxpy, _line(), _line(), first=(2048, np.float32(2.5))),
    "copy": lambda: _along(copy, _line(), _line()),
    "gather": lambda: _along(gather, _line(), np.arange(2048), _line()),
    "transpose_naive": lambda: (transpose_naive, (2, 8), (32, 8), (64, _plane(64), _plane(64)), (64 / 4096) ** 2),
    "transpose_tiled": lambda: (transpose_tiled, (2, 2), (32, 8), (64, _plane(64), _plane(64)), (64 / 4096) ** 2),
    "matmul_naive_16x16": lambda: _matmul(matmul_naive, 32, (16, 16)),
    "matmul_naive_32x8": lambda: _matmul(matmul_naive, 32, (32, 8)),
    "matmul_tiled_16": lambda: _matmul(tiled(16), 32, (16, 16)),
    "matmul_tiled_32": lambda: _matmul(tiled(32), 32, (32, 32)),
    "scan": lambda: (scan, (2,), (1024,), (2048, _line(), _line()), 2048 / (1 << 24)),
    "histogram": lambda: (
        histogram, (2,), (256,), (8192, np.arange(8192) % 256, np.zeros(256, np.uint32)), 8192 / (1 << 24)
    ),
    "mandelbrot": lambda: (mandelbrot, (1, 4), (32, 8), (32, 256, np.zeros((32, 32), np.int32)), (32 / 1024) ** 2),
    "nbody": lambda: (
        nbody, (1,), (128,), (128, np.random.default_rng(1).random((128, 4), np.float32), np.zeros((128, 4))),
        (128 / 8192) ** 2,
    ),
    "stencil_2d": lambda: (stencil_2d, (2, 8), (32, 8), (64, _plane(64), _plane(64)), (64 / 4096) ** 2),
    "lbm_d2q9": lambda: (
        lbm_d2q9, (1, 4), (32, 8), (32, 0.8, np.ones((9, 32, 32), np.float32), np.ones((9, 32, 32), np.float32)),
        (32 / 1024) ** 2,
    ),
    "half_axpy": lambda: _along(
        half_axpy, np.ones(4096, np.float16), np.ones(4096, np.float16), first=(2048, np.float16(2.5))
    ),
}  # fmt: skip


def main(names: list[str]) -> None:
    seconds = {}
    for name in names:
        kernel, grid, block, arguments, share = LAUNCHES[name]()
        begin = time.perf_counter()
        kernel[grid, block](*arguments)
        seconds[name] = (time.perf_counter() - begin) / share
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
