/*! warpyard
title = "Prefix sum in three launches"
summary = "Blocks scan their part, one block scans the blocks' sums, and a third kernel adds them."
order = 80
reference = """
values = np.random.default_rng(3).integers(0, 10, size=262144).astype(np.int32)
sums = np.cumsum(values.reshape(256, 1024).sum(axis=1)).astype(np.int32)
result = np.cumsum(values).astype(np.int32)
"""

[views.result]
shown_as = "plot"

[[buffers]]
name = "values"
dtype = "int32"
shape = [262144]
init = { kind = "integers", low = 0, high = 10, seed = 3 }
role = "in"

[[buffers]]
name = "result"
dtype = "int32"
shape = [262144]
role = "out"

[[buffers]]
name = "sums"
dtype = "int32"
shape = [256]
role = "inout"

[[steps]]
kind = "launch"
entry = "scan_blocks"
config = { grid = [256], block = [1024] }
arguments = [
    { kind = "buffer", name = "values", buffer = "values" },
    { kind = "buffer", name = "result", buffer = "result" },
    { kind = "buffer", name = "sums", buffer = "sums" },
]

[[steps]]
kind = "launch"
entry = "scan_sums"
config = { grid = [1], block = [256] }
arguments = [{ kind = "buffer", name = "sums", buffer = "sums" }]

[[steps]]
kind = "launch"
entry = "add_sums"
config = { grid = [256], block = [1024] }
arguments = [
    { kind = "buffer", name = "sums", buffer = "sums" },
    { kind = "buffer", name = "result", buffer = "result" },
]
*/
// result[i] = values[0] + … + values[i], for more elements than a block holds.
//
// Blocks of one launch cannot wait for each other; launches follow one another.
// So the work is cut where all blocks would have to meet: this run has three
// steps.
//
//     scan_blocks   each block scans its 1,024 elements and notes its sum
//     scan_sums     one block scans the 256 sums
//     add_sums      each block adds what lies before it
//
// Inside a warp the scan climbs by shuffles: after offsets 1, 2, 4, 8 and 16
// lane i holds the sum of lanes 0 to i.

__device__ int scan_warp(int value)
{
    int lane = threadIdx.x % 32;
    for (int offset = 1; offset < 32; offset *= 2) {
        int before = __shfl_up_sync(0xffffffff, value, offset);
        if (lane >= offset)
            value += before;
    }
    return value;
}

// For any whole number of warps; every thread of the block must come here.
__device__ int scan_block(int value)
{
    __shared__ int warps[32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;

    value = scan_warp(value);
    if (lane == 31)
        warps[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? warps[lane] : 0;
        warps[lane] = scan_warp(sum);
    }
    __syncthreads();
    return warp > 0 ? value + warps[warp - 1] : value;
}

__global__ void scan_blocks(const int *values, int *result, int *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int scanned = scan_block(values[i]);
    result[i] = scanned;
    if (threadIdx.x == blockDim.x - 1)
        sums[blockIdx.x] = scanned;
}

__global__ void scan_sums(int *sums)
{
    sums[threadIdx.x] = scan_block(sums[threadIdx.x]);
}

__global__ void add_sums(const int *sums, int *result)
{
    if (blockIdx.x > 0)
        result[blockIdx.x * blockDim.x + threadIdx.x] += sums[blockIdx.x - 1];
}
