'''! warpyard
title = "Sum by warp shuffles (Numba)"
summary = "cuda.shfl_down_sync hands registers around within a warp."
order = 61
reference = """
total = [np.random.default_rng(1).random(1 << 20, dtype=np.float32).astype(np.float64).sum()]
tolerance = 1e-5
"""

[[buffers]]
name = "values"
dtype = "float32"
shape = [1048576]
init = { kind = "uniform", seed = 1 }
role = "in"

[[buffers]]
name = "total"
dtype = "float32"
shape = [1]
role = "inout"

[[steps]]
kind = "launch"
entry = "sum"
config = { grid = [128], block = [256] }
arguments = [
    { kind = "buffer", name = "values", buffer = "values" },
    { kind = "buffer", name = "total", buffer = "total" },
]
'''
# The sum of a million numbers in three levels: thread, warp, block.
#
# warp_sum is a device function: kernels call it, nobody launches it. Its
# types follow from the call.
#
# Blocks arrive in any order, and adding floats rounds: the last digits may
# differ from run to run on a GPU.

from numba import cuda, float32


@cuda.jit(device=True)
def warp_sum(value):
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    return value


@cuda.jit
def sum(values, total):
    warps = cuda.shared.array(32, float32)
    lane = cuda.threadIdx.x % 32
    warp = cuda.threadIdx.x // 32

    mine = float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        mine += values[i]

    mine = warp_sum(mine)
    if lane == 0:
        warps[warp] = mine
    cuda.syncthreads()

    if warp == 0:
        count = (cuda.blockDim.x + 31) // 32
        mine = warps[lane] if lane < count else float32(0)
        mine = warp_sum(mine)
        if lane == 0:
            cuda.atomic.add(total, 0, mine)
