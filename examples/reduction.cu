/*! warpyard
title = "Sum by warp shuffles"
summary = "Threads of a warp add up by handing registers around, without memory or barriers."
order = 60
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
    { kind = "scalar", name = "n", value = 1048576 },
    { kind = "buffer", name = "values", buffer = "values" },
    { kind = "buffer", name = "total", buffer = "total" },
]
*/
// The sum of a million numbers in three levels: thread, warp, block.
//
// 1. Each thread adds up its share in a register (a grid-stride loop).
// 2. __shfl_down_sync hands the register of lane i + offset to lane i. After
//    offsets 16, 8, 4, 2, 1 lane 0 has the sum of its warp. The mask says which
//    lanes take part: all 32.
// 3. The first lanes of the eight warps meet in shared memory, and the first
//    warp adds those up in the same way. One atomic a block is left: 128 in all
//    instead of a million.
//
// Blocks arrive in any order, and adding floats rounds: the last digits may
// differ from run to run on a GPU.

__inline__ __device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void sum(int n, const float *values, float *total)
{
    __shared__ float warps[32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;

    float mine = 0.0f;
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x)
        mine += values[i];

    mine = warp_sum(mine);
    if (lane == 0)
        warps[warp] = mine;
    __syncthreads();

    if (warp == 0) {
        mine = lane < (blockDim.x + 31) / 32 ? warps[lane] : 0.0f;
        mine = warp_sum(mine);
        if (lane == 0)
            atomicAdd(total, mine);
    }
}
