/*! warpyard
title = "Softmax of rows"
summary = "A warp takes a row: maximum, sum and division, with two shuffle reductions."
order = 90
reference = """
logits = np.random.default_rng(4).standard_normal(128 * 1000).astype(np.float32).reshape(128, 1000)
shifted = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
probabilities = shifted / shifted.sum(axis=1, keepdims=True)
tolerance = 1e-5
"""

[views.probabilities]
shown_as = "image"
logarithmic = true

[[buffers]]
name = "logits"
dtype = "float32"
shape = [128, 1000]
init = { kind = "normal", seed = 4 }
role = "in"

[[buffers]]
name = "probabilities"
dtype = "float32"
shape = [128, 1000]
role = "out"

[[steps]]
kind = "launch"
entry = "softmax"
config = { grid = [32], block = [32, 4] }
arguments = [
    { kind = "scalar", name = "rows", value = 128 },
    { kind = "scalar", name = "columns", value = 1000 },
    { kind = "buffer", name = "logits", buffer = "logits" },
    { kind = "buffer", name = "probabilities", buffer = "probabilities" },
]

[[checks]]
kind = "numpy"
buffers = ["probabilities"]
text = """
shifted = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
probabilities = shifted / shifted.sum(axis=1, keepdims=True)
"""
*/
// exp(x) / Σ exp(x) along each row, the last step of many a network.
//
// exp of a large number overflows, so the row's maximum is taken off first: the
// quotient stays the same and the largest exponent is 0. That makes three
// passes over the row. Its second and third reading come from the cache.
//
// A block has 32 × 4 threads: threadIdx.y says which of its four rows, and a
// row belongs to one warp. So the reductions need neither shared memory nor a
// barrier. __shfl_xor_sync leaves the result in every lane.

#include <cmath>

__device__ float warp_max(float value)
{
    for (int mask = 16; mask > 0; mask /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, mask));
    return value;
}

__device__ float warp_sum(float value)
{
    for (int mask = 16; mask > 0; mask /= 2)
        value += __shfl_xor_sync(0xffffffff, value, mask);
    return value;
}

__global__ void softmax(int rows, int columns, const float *logits,
                        float *probabilities)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    const float *in = logits + row * columns;
    float *out = probabilities + row * columns;

    float largest = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += 32)
        largest = fmaxf(largest, in[i]);
    largest = warp_max(largest);

    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32)
        sum += expf(in[i] - largest);
    sum = warp_sum(sum);

    for (int i = threadIdx.x; i < columns; i += 32)
        out[i] = expf(in[i] - largest) / sum;
}
