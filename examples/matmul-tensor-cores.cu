/*! warpyard
title = "Matrix product on tensor cores"
summary = "A warp multiplies tiles of 16 × 16 half-precision numbers in one instruction, through nvcuda::wmma."
order = 55
reference = """
rng = np.random.default_rng
A = rng(1).random((256, 256), dtype=np.float32).astype(np.float16).astype(np.float64)
B = rng(2).random((256, 256), dtype=np.float32).astype(np.float16).astype(np.float64)
C = A @ B
tolerance = 1e-5
"""

[views.C]
shown_as = "image"

[[buffers]]
name = "A"
dtype = "float16"
shape = [256, 256]
init = { kind = "uniform", seed = 1 }
role = "in"

[[buffers]]
name = "B"
dtype = "float16"
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
entry = "matmul_wmma"
config = { grid = [16, 4], block = [32, 4] }
arguments = [
    { kind = "scalar", name = "n", value = 256 },
    { kind = "buffer", name = "A", buffer = "A" },
    { kind = "buffer", name = "B", buffer = "B" },
    { kind = "buffer", name = "C", buffer = "C" },
]

[[checks]]
kind = "numpy"
buffers = ["C"]
text = "C = A.astype(np.float64) @ B"
*/
// C = A · B on tensor cores.
//
// A tensor core multiplies small matrices whole. The 32 threads of a warp give
// it their registers together: a *fragment* is a tile that is spread over the
// warp, and which thread has which element is the hardware's business.
//
// Here a warp has one tile of C, 16 × 16, and walks along a strip of A and one
// of B, 16 elements at a time. `mma_sync` is 16 · 16 · 16 multiplications and
// additions. A and B are half precision; the sum is kept in single precision.
// Its rounding is the hardware's: products are cut off, not rounded, where
// they fall far below the largest of them.
//
// All 32 threads must come to every wmma call together, with one address. Make
// the block 16 × 1 and run with checks: the incomplete warps are named.

#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 16;

// The block is 32 threads by any number of warps, one tile of C a warp.
__global__ void matmul_wmma(int n, const __half *A, const __half *B, float *C)
{
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * TILE;
    int column = blockIdx.x * TILE;
    if (row >= n)
        return;

    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum;

    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += TILE) {
        wmma::load_matrix_sync(a, A + row * n + k, n);
        wmma::load_matrix_sync(b, B + k * n + column, n);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(C + row * n + column, sum, n, wmma::mem_row_major);
}
