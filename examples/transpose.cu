/*! warpyard
title = "Transpose, three ways"
summary = "Uncoalesced, by way of shared memory, and without bank conflicts: compare the counters."
order = 150
reference = """
matrix = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
plain = tiled = padded = matrix.T
"""

[views.padded]
shown_as = "image"

[[buffers]]
name = "matrix"
dtype = "float32"
shape = [256, 256]
init = { kind = "arange" }
role = "in"

[[buffers]]
name = "plain"
dtype = "float32"
shape = [256, 256]
role = "out"

[[buffers]]
name = "tiled"
dtype = "float32"
shape = [256, 256]
role = "out"

[[buffers]]
name = "padded"
dtype = "float32"
shape = [256, 256]
role = "out"

[[steps]]
kind = "launch"
entry = "transpose_plain"
config = { grid = [8, 8], block = [32, 32] }
arguments = [
    { kind = "scalar", name = "size", value = 256 },
    { kind = "buffer", name = "in", buffer = "matrix" },
    { kind = "buffer", name = "out", buffer = "plain" },
]

[[steps]]
kind = "launch"
entry = "transpose_tiled"
config = { grid = [8, 8], block = [32, 32] }
arguments = [
    { kind = "scalar", name = "size", value = 256 },
    { kind = "buffer", name = "in", buffer = "matrix" },
    { kind = "buffer", name = "out", buffer = "tiled" },
]

[[steps]]
kind = "launch"
entry = "transpose_padded"
config = { grid = [8, 8], block = [32, 32] }
arguments = [
    { kind = "scalar", name = "size", value = 256 },
    { kind = "buffer", name = "in", buffer = "matrix" },
    { kind = "buffer", name = "out", buffer = "padded" },
]
*/
// out = the transpose of in, by three kernels that do the same and cost
// different amounts.
//
// plain    reads rows and writes columns. The 32 stores of a warp lie 1,024
//          bytes apart: 32 sectors of 32 bytes, of which 4 bytes each are used.
// tiled    goes through shared memory, so that both sides touch global memory
//          row by row. But reading a column of a 32-wide tile hits one bank 32
//          times: the warp is served lane after lane.
// padded   has rows of 33 words. A column then lies in 32 different banks, for
//          128 bytes of waste.

constexpr int TILE = 32;

__global__ void transpose_plain(int size, const float *in, float *out)
{
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < size && y < size)
        out[x * size + y] = in[y * size + x];
}

template <int WIDTH>
__device__ void transpose_by(float (*tile)[WIDTH], int size, const float *in,
                             float *out)
{
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < size && y < size)
        tile[threadIdx.y][threadIdx.x] = in[y * size + x];
    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < size && y < size)
        out[y * size + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void transpose_tiled(int size, const float *in, float *out)
{
    __shared__ float tile[TILE][TILE];
    transpose_by<TILE>(tile, size, in, out);
}

__global__ void transpose_padded(int size, const float *in, float *out)
{
    __shared__ float tile[TILE][TILE + 1];
    transpose_by<TILE + 1>(tile, size, in, out);
}
