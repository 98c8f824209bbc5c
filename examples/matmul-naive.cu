/*! warpyard
title = "Matrix product, the plain way"
summary = "One thread computes one element of C from a row of A and a column of B."
order = 40
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
entry = "matmul"
config = { grid = { kind = "cover", buffer = "C" }, block = [16, 16] }
arguments = [
    { kind = "scalar", name = "n", value = 256 },
    { kind = "buffer", name = "A", buffer = "A" },
    { kind = "buffer", name = "B", buffer = "B" },
    { kind = "buffer", name = "C", buffer = "C" },
]
*/
// C = A · B for square matrices in row-major order.
//
// Each element of A and of B is read n times over, by n different threads. What
// saves this kernel from the worst is the hardware: threads of a warp that read
// the same element of A get it in one go, and those that read a row of B read
// consecutive elements.
//
// Exchange the roles of x and y (column from threadIdx.y, row from threadIdx.x)
// and count the sectors again: then a warp walks down columns, 1,024 bytes
// apart, and each load drags in 32 bytes to use 4.

__global__ void matmul(int n, const float *A, const float *B, float *C)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n)
        return;

    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}
