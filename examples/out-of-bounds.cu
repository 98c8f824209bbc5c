/*! warpyard
title = "A deliberate fault: one element too far"
summary = "The comparison is <= instead of <; see how the defect is named, with line, thread and address."
order = 160
reference = """
finding = "memory"
"""

[[buffers]]
name = "values"
dtype = "float32"
shape = [1000]
init = { kind = "arange" }
role = "in"

[[buffers]]
name = "doubled"
dtype = "float32"
shape = [1000]
role = "out"

[[steps]]
kind = "launch"
entry = "twice"
config = { grid = [4], block = [256] }
arguments = [
    { kind = "scalar", name = "n", value = 1000 },
    { kind = "buffer", name = "values", buffer = "values" },
    { kind = "buffer", name = "doubled", buffer = "doubled" },
]
*/
// 1,000 elements, 1,024 threads, and a guard that is off by one: thread 1000
// reads and writes one element past the end.
//
// On a GPU this mostly goes unnoticed. Allocations are rounded up, so that the
// address exists, and what is overwritten is somebody else's. The emulator
// knows the exact end of every buffer and checks each access.
//
// Mend it: `i < n`.

__global__ void twice(int n, const float *values, float *doubled)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        doubled[i] = 2.0f * values[i];
}
