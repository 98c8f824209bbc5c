/*! warpyard
title = "Blur of a photograph"
summary = "A block loads its part of the picture, and a halo of two pixels around it, into shared memory once."
order = 120
reference = """
weights = np.array([1, 4, 6, 4, 1], np.float64) / 16
height, width, _ = image.shape
padded = np.pad(image.astype(np.float64), ((2, 2), (2, 2), (0, 0)), mode="edge")
across = sum(weights[k] * padded[:, k : k + width] for k in range(5))
blurred = sum(weights[k] * across[k : k + height] for k in range(5))
blurred = np.floor(blurred + 0.5).astype(np.uint8)
"""

[views.blurred]
shown_as = "image"
palette = "rgb"

[[buffers]]
name = "image"
dtype = "uint8"
shape = [256, 385, 3]
init = { kind = "file", name = "cat.npy" }
role = "in"

[[buffers]]
name = "blurred"
dtype = "uint8"
shape = [256, 385, 3]
role = "out"

[[steps]]
kind = "launch"
entry = "blur"
config = { grid = { kind = "cover", buffer = "blurred", components = 3 }, block = [16, 16] }
arguments = [
    { kind = "scalar", name = "width", value = 385 },
    { kind = "scalar", name = "height", value = 256 },
    { kind = "buffer", name = "image", buffer = "image" },
    { kind = "buffer", name = "blurred", buffer = "blurred" },
]
*/
// A 5 × 5 Gaussian blur of a photograph: bytes, red, green and blue.
//
// Each pixel needs 25 others, and its neighbour needs mostly the same. The
// block loads 20 × 20 pixels, its own 16 × 16 and a halo, into shared memory:
// 400 loads instead of 6,400. There are fewer threads than pixels to load, so
// some load twice.
//
// The picture is 385 pixels wide, no multiple of 16: the last block of a row
// has one column of pixels, and its other threads only help to load.
//
// The weights lie in constant memory: all threads of a warp read the same one
// at the same time, which the constant cache hands out in one go.
//
// For a picture of your own, choose a file as the initial value of `image`,
// give `blurred` its shape, and width and height to the kernel.

constexpr int BLOCK = 16, RADIUS = 2, SIDE = BLOCK + 2 * RADIUS;

__constant__ float weights[2 * RADIUS + 1] = {1 / 16.0f, 4 / 16.0f, 6 / 16.0f,
                                              4 / 16.0f, 1 / 16.0f};

__global__ void blur(int width, int height, const uchar3 *image,
                     uchar3 *blurred)
{
    __shared__ uchar3 tile[SIDE][SIDE];

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

    float red = 0.5f, green = 0.5f, blue = 0.5f; // so that bytes are rounded
    for (int dy = 0; dy < 2 * RADIUS + 1; ++dy)
        for (int dx = 0; dx < 2 * RADIUS + 1; ++dx) {
            float weight = weights[dy] * weights[dx];
            uchar3 pixel = tile[threadIdx.y + dy][threadIdx.x + dx];
            red += weight * pixel.x;
            green += weight * pixel.y;
            blue += weight * pixel.z;
        }
    blurred[y * width + x] = make_uchar3(red, green, blue);
}
