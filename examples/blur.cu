/*! warpyard
title = "Blur with a halo in shared memory"
summary = "A block loads its part of the image and a margin of two pixels around it, once."
order = 120
reference = """
y, x = np.mgrid[0:256, 0:256].astype(np.float64)
image = (127 + 127 * np.sin(x * y / 300)).astype(np.float32)
weights = np.array([1, 4, 6, 4, 1], np.float64) / 16
padded = np.pad(image.astype(np.float64), 2, mode="edge")
across = sum(weights[k] * padded[:, k : k + 256] for k in range(5))
blurred = sum(weights[k] * across[k : k + 256] for k in range(5))
tolerance = 1e-4
absolute = 1e-3
"""

[views.blurred]
shown_as = "image"
palette = "gray"

[[buffers]]
name = "image"
dtype = "float32"
shape = [256, 256]
init = { kind = "formula", text = "127 + 127 * sin(x * y / 300)" }
role = "in"

[[buffers]]
name = "blurred"
dtype = "float32"
shape = [256, 256]
role = "out"

[[steps]]
kind = "launch"
entry = "blur"
config = { grid = { kind = "cover", buffer = "blurred" }, block = [16, 16] }
arguments = [
    { kind = "scalar", name = "width", value = 256 },
    { kind = "scalar", name = "height", value = 256 },
    { kind = "buffer", name = "image", buffer = "image" },
    { kind = "buffer", name = "blurred", buffer = "blurred" },
]
*/
// A 5 × 5 Gaussian blur.
//
// Each pixel needs 25 others, and its neighbour needs mostly the same. The
// block loads 20 × 20 pixels, its own 16 × 16 and a halo, into shared memory:
// 400 loads instead of 6,400. There are fewer threads than pixels to load, so
// some load twice.
//
// The weights lie in constant memory: all threads of a warp read the same one
// at the same time, which the constant cache hands out in one go.

constexpr int BLOCK = 16, RADIUS = 2, SIDE = BLOCK + 2 * RADIUS;

__constant__ float weights[2 * RADIUS + 1] = {
    1 / 16.0f, 4 / 16.0f, 6 / 16.0f, 4 / 16.0f, 1 / 16.0f};

__global__ void blur(int width, int height, const float *image, float *blurred)
{
    __shared__ float tile[SIDE][SIDE];

    int thread = threadIdx.y * BLOCK + threadIdx.x;
    for (int i = thread; i < SIDE * SIDE; i += BLOCK * BLOCK) {
        int x = (int)(blockIdx.x * BLOCK) + i % SIDE - RADIUS;
        int y = (int)(blockIdx.y * BLOCK) + i / SIDE - RADIUS;
        x = min(max(x, 0), width - 1);
        y = min(max(y, 0), height - 1);
        tile[i / SIDE][i % SIDE] = image[y * width + x];
    }
    __syncthreads();

    int x = blockIdx.x * BLOCK + threadIdx.x;
    int y = blockIdx.y * BLOCK + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float sum = 0.0f;
    for (int dy = 0; dy < 2 * RADIUS + 1; ++dy)
        for (int dx = 0; dx < 2 * RADIUS + 1; ++dx)
            sum += weights[dy] * weights[dx] *
                   tile[threadIdx.y + dy][threadIdx.x + dx];
    blurred[y * width + x] = sum;
}
