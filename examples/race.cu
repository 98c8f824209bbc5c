/*! warpyard
title = "A deliberate race: a barrier is missing"
summary = "Threads read what others have yet to write. The result may even be right; the check says where and who."
order = 170
instruments = ["checks"]
reference = """
finding = "race"
"""

[[buffers]]
name = "values"
dtype = "int32"
shape = [256]
init = { kind = "arange" }
role = "in"

[[buffers]]
name = "reversed"
dtype = "int32"
shape = [256]
role = "out"

[[steps]]
kind = "launch"
entry = "reverse"
config = { grid = [1], block = [256] }
arguments = [
    { kind = "buffer", name = "values", buffer = "values" },
    { kind = "buffer", name = "reversed", buffer = "reversed" },
]
*/
// A block reverses 256 values through shared memory. Each thread stores one
// value and loads one that another thread stored, mostly a thread of another
// warp, and nothing makes it wait for that store.
//
// On a GPU the warps may happen to run in an order that hides the fault, today
// and on this GPU. The launch asks for checks (under "Compiler options"), so
// the emulator remembers who touched each word since the last barrier.
//
// Mend it: put `__syncthreads();` between the two statements.

__global__ void reverse(const int *values, int *reversed)
{
    __shared__ int tile[256];

    tile[threadIdx.x] = values[threadIdx.x];
    reversed[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
