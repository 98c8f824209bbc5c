'''! warpyard
title = "π by throwing darts (Numba)"
summary = "Random numbers of numba.cuda.random, each thread with a generator of its own."
order = 141
reference = """
def rotated(value, bits):
    return (value << np.uint64(bits)) | (value >> np.uint64(64 - bits))

# SplitMix64 makes the first state of a seed, xoroshiro128+ the numbers.
z = np.arange(65536, dtype=np.uint64) + np.uint64(2026) + np.uint64(0x9E3779B97F4A7C15)
z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
s0 = s1 = z ^ (z >> np.uint64(31))
hits = np.zeros(1, np.uint32)
for _ in range(16):
    dart = []
    for _ in range(2):
        dart.append(((s0 + s1) >> np.uint64(11)) / np.float64(1 << 53))
        s1 = s1 ^ s0
        s0, s1 = rotated(s0, 55) ^ s1 ^ (s1 << np.uint64(14)), rotated(s1, 36)
    x, y = (np.float32(value) for value in dart)
    hits += np.uint32(np.count_nonzero(x * x + y * y < 1))
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
'''
# A quarter of a circle covers π/4 of its square: 4 · hits / darts is about π.
#
# numba.cuda.random is xoroshiro128+, whose state is two words of 64 bits.
# Usually the host makes an array of states for all threads; here each thread
# keeps its own in local memory and seeds it with its number, so that the
# kernel needs no further argument.
#
# cuda.ballot_sync asks all lanes of the warp a question and gives the answers
# as 32 bits; cuda.popc counts them. Lane 0 collects, so there is one atomic a
# warp at the end.

from numba import cuda
from numba.cuda.random import (
    init_xoroshiro128p_state,
    xoroshiro128p_dtype,
    xoroshiro128p_uniform_float32,
)


@cuda.jit
def throw_darts(each, seed, hits):
    thread = cuda.grid(1)
    state = cuda.local.array(1, xoroshiro128p_dtype)
    init_xoroshiro128p_state(state, 0, seed + thread)
    found = 0
    for _ in range(each):
        x = xoroshiro128p_uniform_float32(state, 0)
        y = xoroshiro128p_uniform_float32(state, 0)
        found += cuda.popc(cuda.ballot_sync(0xFFFFFFFF, x * x + y * y < 1))
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(hits, 0, found)
    if thread == 0:
        darts = 32 * each
        about = 4.0 * found / darts
        print("warp 0:", found, "of", darts, "darts, so pi is about", about)
