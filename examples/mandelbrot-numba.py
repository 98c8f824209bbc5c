'''! warpyard
title = "Mandelbrot set (Numba)"
summary = "An image of 512 × 512 pixels, one a thread, in Python."
order = 31
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
    { kind = "scalar", name = "limit", value = 256 },
    { kind = "buffer", name = "image", buffer = "image" },
]
'''
# How often z = z² + c stays within a circle of radius 2, c being the pixel.
#
# cuda.grid(2) gives the thread's two places; an image is indexed by row and
# column.
#
# Constants are float32 on purpose: Python's own 3.0 is a float64, and one of
# them in a sum makes all of it double precision. The multiply-adds are kept
# apart (the option "fmad" is off), so that NumPy makes the same picture bit
# by bit.

from numba import cuda, float32


@cuda.jit
def mandelbrot(limit, image):
    column, row = cuda.grid(2)
    size = image.shape[0]
    if column >= size or row >= size:
        return

    step = float32(3.0) / float32(size)
    cx = float32(-2.2) + float32(column) * step
    cy = float32(-1.5) + float32(row) * step
    x = float32(0)
    y = float32(0)
    rounds = 0
    while rounds < limit and x * x + y * y <= float32(4):
        x, y = x * x - y * y + cx, float32(2) * x * y + cy
        rounds += 1
    image[row, column] = rounds
