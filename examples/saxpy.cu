/*! warpyard
title = "SAXPY with a grid-stride loop"
summary = "y = a·x + y, by a grid whose size need not follow the data."
order = 20
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
    { kind = "scalar", name = "n", value = 1048576 },
    { kind = "scalar", name = "a", value = 2.5 },
    { kind = "buffer", name = "x", buffer = "x" },
    { kind = "buffer", name = "y", buffer = "y" },
]
*/
// y = a·x + y ("single-precision a times x plus y").
//
// In a grid-stride loop each thread takes every (gridDim.x · blockDim.x)-th
// element. The kernel is right for every grid, even one of a single block, so
// that the grid can follow the machine instead of the data.
//
// Threads next to each other still touch elements next to each other: a warp of
// 32 threads reads 128 consecutive bytes, which is four memory sectors of 32
// bytes and not one more.
//
// Two loads, one store and one fused multiply-add an element: such a kernel is
// bound by memory, whatever the arithmetic. Change the block to 1024 or 64 and
// look at the occupancy: it stays full, and nothing is gained.

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = a * x[i] + y[i];
}
