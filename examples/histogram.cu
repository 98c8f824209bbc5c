/*! warpyard
title = "Histogram with shared atomics"
summary = "Each block counts in shared memory first, so that few atomics reach global memory."
order = 70
reference = """
data = np.random.default_rng(5).integers(0, 256, size=1 << 20).astype(np.uint8)
bins = np.bincount(data, minlength=256).astype(np.uint32)
"""

[views.bins]
shown_as = "plot"

[[buffers]]
name = "data"
dtype = "uint8"
shape = [1048576]
init = { kind = "integers", low = 0, high = 256, seed = 5 }
role = "in"

[[buffers]]
name = "bins"
dtype = "uint32"
shape = [256]
role = "inout"

[[steps]]
kind = "launch"
entry = "histogram"
config = { grid = [128], block = [256] }
arguments = [
    { kind = "scalar", name = "n", value = 1048576 },
    { kind = "buffer", name = "data", buffer = "data" },
    { kind = "buffer", name = "bins", buffer = "bins" },
]
*/
// How often each of the 256 byte values occurs.
//
// An atomic add is one thread at a time for each address. A million of them on
// 256 words of global memory would queue up; so each block keeps counts of its
// own in shared memory, where atomics are close by and only 256 threads
// compete, and adds them to the result at the end: 128 · 256 global atomics.
//
// Start the data with `full` instead of `integers`: then all threads of a warp
// hit one bin, and they are served one after the other.

__global__ void histogram(int n, const unsigned char *data, unsigned int *bins)
{
    __shared__ unsigned int mine[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        mine[bin] = 0;
    __syncthreads();

    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[data[i]], 1u);
    __syncthreads();

    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (mine[bin] != 0)
            atomicAdd(&bins[bin], mine[bin]);
}
