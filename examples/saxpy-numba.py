'''! warpyard
title = "SAXPY with a grid-stride loop (Numba)"
summary = "range(start, stop, step) is a grid-stride loop."
order = 21
reference = """
x = np.random.default_rng(1).random(1 << 20, dtype=np.float32)
y = np.random.default_rng(2).random(1 << 20, dtype=np.float32)
y = 2.5 * x.astype(np.float64) + y
tolerance = 1e-6
"""

[[buffers]]
name = "x"
dtype = "float32"
shape = [1048576]
init = { kind = "uniform", seed = 1 }
role = "in"

[[buffers]]
name = "y"
dtype = "float32"
shape = [1048576]
init = { kind = "uniform", seed = 2 }
role = "inout"

[[steps]]
kind = "launch"
entry = "saxpy"
config = { grid = [512], block = [256] }
arguments = [
    { kind = "scalar", name = "a", dtype = "float32", value = 2.5 },
    { kind = "buffer", name = "x", buffer = "x" },
    { kind = "buffer", name = "y", buffer = "y" },
]
'''
# y = a·x + y, by a grid whose size need not follow the data.
#
# cuda.gridsize(1) is the number of threads of the whole grid, so that each
# thread takes every so-many-th element.
#
# The number a is given as float32. Left open, 2.5 would be Python's own
# float, a float64: the multiplication would be done in double precision,
# which most GPUs do much slower. Take the type out and compare the PTX.

from numba import cuda


@cuda.jit
def saxpy(a, x, y):
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]
