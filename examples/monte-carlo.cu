/*! warpyard
title = "π by throwing darts"
summary = "Random numbers from a hash, votes of a warp, and one atomic for 32 darts."
order = 140
reference = """
def hashed(value):
    value = value ^ (value >> np.uint32(16))
    value = value * np.uint32(0x7feb352d)
    value = value ^ (value >> np.uint32(15))
    value = value * np.uint32(0x846ca68b)
    return value ^ (value >> np.uint32(16))

dart = np.arange(65536 * 16, dtype=np.uint32)
random = hashed(dart + np.uint32(2026))
x, y = (random & np.uint32(0xffff)).astype(np.uint64), (random >> np.uint32(16)).astype(np.uint64)
hits = np.array([np.count_nonzero(x * x + y * y < 65536**2)], np.uint32)
"""

[[buffers]]
name = "hits"
dtype = "uint32"
shape = [1]
role = "inout"

[[steps]]
kind = "launch"
entry = "throw_darts"
config = { grid = [256], block = [256] }
arguments = [
    { kind = "scalar", name = "each", value = 16 },
    { kind = "scalar", name = "seed", value = 2026 },
    { kind = "buffer", name = "hits", buffer = "hits" },
]
*/
// A quarter of a circle covers π/4 of its square: 4 · hits / darts is about π.
//
// Threads cannot share one generator without waiting for each other. A hash of
// the dart's number is a random number that needs no state at all, and the run
// can be repeated exactly.
//
// __ballot_sync asks all lanes of the warp a question and gives the answers as
// 32 bits; __popc counts them. Lane 0 collects, so there is one atomic a warp
// at the end. The first warp tells how it did.

__device__ unsigned int hashed(unsigned int value)
{
    value ^= value >> 16;
    value *= 0x7feb352du;
    value ^= value >> 15;
    value *= 0x846ca68bu;
    return value ^ value >> 16;
}

__global__ void throw_darts(int each, unsigned int seed, unsigned int *hits)
{
    unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int found = 0;
    for (int i = 0; i < each; ++i) {
        unsigned int random = hashed(thread * each + i + seed);
        unsigned long long x = random & 0xffff, y = random >> 16;
        unsigned int inside =
            __ballot_sync(0xffffffff, x * x + y * y < 65536ull * 65536ull);
        found += __popc(inside);
    }
    if (threadIdx.x % 32 == 0)
        atomicAdd(hits, found);
    if (thread == 0)
        printf("warp 0: %u of %d darts, so pi is about %.3f\n",
               found, 32 * each, 4.0 * found / (32 * each));
}
