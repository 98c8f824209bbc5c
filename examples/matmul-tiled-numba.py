'''! warpyard
title = "Matrix product with shared-memory tiles (Numba)"
summary = "cuda.shared.array and cuda.syncthreads: tiles in shared memory."
order = 51
reference = """
rng = np.random.default_rng
A = rng(1).random((256, 256), dtype=np.float32).astype(np.float64)
B = rng(2).random((256, 256), dtype=np.float32).astype(np.float64)
C = A @ B
tolerance = 1e-5
"""

[views.C]
shown_as = "image"

[[buffers]]
name = "A"
dtype = "float32"
shape = [256, 256]
init = { kind = "uniform", seed = 1 }
role = "in"

[[buffers]]
name = "B"
dtype = "float32"
shape = [256, 256]
init = { kind = "uniform", seed = 2 }
role = "in"

[[buffers]]
name = "C"
dtype = "float32"
shape = [256, 256]
role = "out"

[[steps]]
kind = "launch"
entry = "matmul_tiled"
config = { grid = { kind = "cover", buffer = "C" }, block = [16, 16] }
arguments = [
    { kind = "buffer", name = "A", buffer = "A" },
    { kind = "buffer", name = "B", buffer = "B" },
    { kind = "buffer", name = "C", buffer = "C" },
]

[[checks]]
kind = "numpy"
buffers = ["C"]
text = "C = A.astype(np.float64) @ B"
'''
# C = A · B by tiles, each loaded once by a block and read sixteen times.
#
# An array in shared memory needs a shape that is known when the kernel is
# compiled: TILE is a global name, whose value is taken then.
#
# Arrays have their real shape here, so that A[row, k] needs no arithmetic of
# yours. Take one of the two cuda.syncthreads() out and run with checks: the
# race is named.

from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    n = A.shape[1]

    total = float32(0)
    for first in range(0, n, TILE):
        across, down = first + tx, first + ty
        tile_a[ty, tx] = A[row, across] if row < n and across < n else 0
        tile_b[ty, tx] = B[down, column] if column < n and down < n else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < n and column < n:
        C[row, column] = total
