/*! warpyard
title = "Mandelbrot set"
summary = "An image, one pixel a thread; neighbours that part ways show what divergence costs."
order = 30
reference = """
size, limit = 512, 256
f = np.float32
column, row = np.meshgrid(np.arange(size, dtype=f), np.arange(size, dtype=f))
cx = f(-2.2) + column * (f(3.0) / f(size))
cy = f(-1.5) + row * (f(3.0) / f(size))
x, y = np.zeros_like(cx), np.zeros_like(cy)
image = np.zeros((size, size), np.int32)
for _ in range(limit):
    inside = (x * x + y * y) <= f(4)
    image += inside
    x, y = np.where(inside, (x * x - y * y) + cx, x), np.where(inside, (f(2) * x) * y + cy, y)
"""
options = { fmad = false }

[views.image]
shown_as = "image"
palette = "inferno"
logarithmic = true

[[buffers]]
name = "image"
dtype = "int32"
shape = [512, 512]
role = "out"

[[steps]]
kind = "launch"
entry = "mandelbrot"
config = { grid = { kind = "cover", buffer = "image" }, block = [16, 16] }
arguments = [
    { kind = "scalar", name = "size", value = 512 },
    { kind = "scalar", name = "limit", value = 256 },
    { kind = "buffer", name = "image", buffer = "image" },
]
*/
// How often z = z² + c stays within a circle of radius 2, c being the pixel.
//
// The block is 16 × 16 threads, so a warp covers a strip of 16 × 2 pixels. The
// 32 threads of a warp run in lockstep: it is done when its slowest pixel is.
// Where black meets colour a few threads go on for 256 rounds while the others
// wait with their lanes off. That is divergence, and it is why a square block
// does better here than one of 256 × 1: its warps cover less of a border.
//
// The multiply-adds are kept apart (the option "fmad" is off), so that NumPy
// makes the same picture bit by bit. Put it on, and points close to the border
// change.

__global__ void mandelbrot(int size, int limit, int *image)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= size || row >= size)
        return;

    float cx = -2.2f + column * (3.0f / size);
    float cy = -1.5f + row * (3.0f / size);
    float x = 0.0f, y = 0.0f;
    int rounds = 0;
    while (rounds < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++rounds;
    }
    image[row * size + column] = rounds;
}
