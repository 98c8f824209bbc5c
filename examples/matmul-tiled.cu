/*! warpyard
title = "Matrix product with shared-memory tiles"
summary = "A block loads tiles of A and B once and reads them sixteen times from shared memory."
order = 50
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
// C = A · B by tiles.
//
// A block of 16 × 16 threads computes a tile of 16 × 16 elements of C. It walks
// along a strip of A and a strip of B: each thread loads one element of either
// into shared memory, all wait, and then each reads 32 elements from there.
// Every element of A and B now leaves global memory n/16 times instead of n.
//
// Both barriers are needed. The first: nobody reads a tile that is not
// complete. The second: nobody overwrites a tile that somebody still reads.
// Take one out and run: the race is named with its lines.
//
// Shared memory has 32 banks of 4 bytes. `tileA[threadIdx.y][k]` is one word
// for half a warp (a broadcast) and `tileB[k][threadIdx.x]` is 16 neighbours:
// neither makes two threads wait for the same bank.

constexpr int TILE = 16;

__global__ void matmul_tiled(int n, const float *A, const float *B, float *C)
{
    __shared__ float tileA[TILE][TILE];
    __shared__ float tileB[TILE][TILE];

    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;

    float sum = 0.0f;
    for (int first = 0; first < n; first += TILE) {
        int k = first + threadIdx.x;
        tileA[threadIdx.y][threadIdx.x] =
            row < n && k < n ? A[row * n + k] : 0.0f;
        k = first + threadIdx.y;
        tileB[threadIdx.y][threadIdx.x] =
            column < n && k < n ? B[k * n + column] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; ++k)
            sum += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n)
        C[row * n + column] = sum;
}
