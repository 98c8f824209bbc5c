/*! warpyard
title = "A histogram over a cluster"
summary = "Four blocks share their shared memory: bins that one block has no room for."
order = 75
reference = """
samples = np.random.default_rng(3).integers(0, 1 << 24, 1 << 20)
bins = np.bincount((samples & 4095) + (samples >> 12), minlength=8192).astype(np.int32)
"""

[views.bins]
shown_as = "plot"

[[buffers]]
name = "samples"
dtype = "int32"
shape = [1048576]
init = { kind = "integers", low = 0, high = 16777216, seed = 3 }
role = "in"

[[buffers]]
name = "bins"
dtype = "int32"
shape = [8192]
role = "inout"

[[steps]]
kind = "launch"
entry = "histogram"
config = { grid = [32], block = [256] }
arguments = [
    { kind = "buffer", name = "samples", buffer = "samples" },
    { kind = "buffer", name = "bins", buffer = "bins" },
    { kind = "scalar", name = "n", value = 1048576 },
]
*/
// Counts a million samples in 8,192 bins, in the shared memory of four blocks.
//
// From Hopper (sm_90) on, blocks can be launched in clusters. The blocks of
// one run at the same time, near each other, and may use each other's shared
// memory: map_shared_rank() gives the address of a variable in another block.
// So each block keeps a quarter of the bins, 8 KiB, and all of them count into
// all four.
//
// cluster.sync() waits for the threads of the whole cluster. The first makes
// sure that nobody counts into bins that are not cleared yet. The second, that
// all have counted before the bins are added up; and no block may end while
// others still use its memory.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

constexpr int BLOCKS = 4;
constexpr int PART = 8192 / BLOCKS;

__global__ void __cluster_dims__(BLOCKS)
histogram(const int *samples, int *bins, int n)
{
    __shared__ int part[PART];
    cg::cluster_group cluster = cg::this_cluster();
    for (int k = threadIdx.x; k < PART; k += blockDim.x)
        part[k] = 0;
    cluster.sync();

    int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        // Two numbers below 4,096 in one: their sums pile up in the middle.
        int bin = (samples[i] & 4095) + (samples[i] >> 12);
        int *there = cluster.map_shared_rank(part, bin / PART);
        atomicAdd(&there[bin % PART], 1);
    }
    cluster.sync();

    for (int k = threadIdx.x; k < PART; k += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * PART + k], part[k]);
}
