'''! warpyard
title = "Histogram with shared atomics (Numba)"
summary = "cuda.atomic.add on shared memory first, then on global memory."
order = 71
reference = """
data = np.random.default_rng(5).integers(0, 256, size=1 << 20).astype(np.uint8)
bins = np.bincount(data, minlength=256).astype(np.uint32)
"""

[views.bins]
shown_as = "plot"

[[buffers]]
name = "data"
dtype = "uint8"
shape = [1048576]
init = { kind = "integers", low = 0, high = 256, seed = 5 }
role = "in"

[[buffers]]
name = "bins"
dtype = "uint32"
shape = [256]
role = "inout"

[[steps]]
kind = "launch"
entry = "histogram"
config = { grid = [128], block = [256] }
arguments = [
    { kind = "buffer", name = "data", buffer = "data" },
    { kind = "buffer", name = "bins", buffer = "bins" },
]
'''
# How often each of the 256 byte values occurs.
#
# cuda.atomic.add takes the array and the index, where CUDA C++ takes an
# address. Each block counts in shared memory, where only its own 256 threads
# compete, and adds its counts to the result at the end.

from numba import cuda, uint32


@cuda.jit
def histogram(data, bins):
    mine = cuda.shared.array(256, uint32)
    for value in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        mine[value] = 0
    cuda.syncthreads()

    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, data[i], 1)
    cuda.syncthreads()

    for value in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        if mine[value] != 0:
            cuda.atomic.add(bins, value, mine[value])
