'''! warpyard
title = "Vector addition (Numba)"
summary = "The smallest useful kernel, in Python."
order = 11
reference = """
c = np.arange(1000000, dtype=np.float32) + np.float32(0.5)
"""

[[buffers]]
name = "a"
dtype = "float32"
shape = [1000000]
init = { kind = "arange" }
role = "in"

[[buffers]]
name = "b"
dtype = "float32"
shape = [1000000]
init = { kind = "full", value = 0.5 }
role = "in"

[[buffers]]
name = "c"
dtype = "float32"
shape = [1000000]
role = "out"

[[steps]]
kind = "launch"
entry = "vector_add"
config = { grid = { kind = "cover", buffer = "c" }, block = [256] }
arguments = [
    { kind = "buffer", name = "a", buffer = "a" },
    { kind = "buffer", name = "b", buffer = "b" },
    { kind = "buffer", name = "c", buffer = "c" },
]
'''
# c[i] = a[i] + b[i], one element a thread.
#
# @cuda.jit compiles the function for a GPU when it is launched, for the types
# of the arguments: three arrays of float32 here. Python runs while that
# happens, and never on the GPU.
#
# cuda.grid(1) is this thread's place in the whole grid, which CUDA C++ spells
# blockIdx.x * blockDim.x + threadIdx.x. An array knows its own size.

from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]
