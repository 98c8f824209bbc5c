/*! warpyard
title = "Vector addition"
summary = "One thread adds one pair of elements: the smallest useful kernel."
order = 10
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
    { kind = "scalar", name = "n", value = 1000000 },
    { kind = "buffer", name = "a", buffer = "a" },
    { kind = "buffer", name = "b", buffer = "b" },
    { kind = "buffer", name = "c", buffer = "c" },
]
*/
// c[i] = a[i] + b[i], one element a thread.
//
// A kernel is written for one thread. The launch starts a grid of blocks, each
// of the same number of threads, and every thread finds out which element is
// its own:
//
//     blockIdx.x     which block of the grid I am in
//     blockDim.x     how many threads a block has (here 256)
//     threadIdx.x    which thread of my block I am
//
// 1,000,000 is no multiple of 256: the last block has 192 threads too many.
// They must do nothing, or they would write past the end. Delete the `if` to
// see how that is reported.

__global__ void vector_add(int n, const float *a, const float *b, float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
