/*! warpyard
title = "Game of Life"
summary = "A hundred generations on a torus, bytes as cells, filmed one by one."
order = 110
film = { buffer = "cells" }
reference = """
cells = np.random.default_rng(7).integers(0, 2, size=128 * 128).astype(np.uint8).reshape(128, 128)
for _ in range(100):
    spare = cells
    around = sum(np.roll(cells, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
    cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint8)
"""

[views.cells]
shown_as = "image"
palette = "gray"

[views.spare]
shown_as = "hidden"

[[buffers]]
name = "cells"
dtype = "uint8"
shape = [128, 128]
init = { kind = "integers", low = 0, high = 2, seed = 7 }
role = "inout"

[[buffers]]
name = "spare"
dtype = "uint8"
shape = [128, 128]
role = "inout"

[[steps]]
kind = "repeat"
count = 100

[[steps.steps]]
kind = "launch"
entry = "generation"
config = { grid = { kind = "cover", buffer = "cells" }, block = [32, 8] }
arguments = [
    { kind = "scalar", name = "size", value = 128 },
    { kind = "buffer", name = "now", buffer = "cells" },
    { kind = "buffer", name = "next", buffer = "spare" },
]

[[steps.steps]]
kind = "swap"
first = "cells"
second = "spare"
*/
// Conway's rules: a cell with three living neighbours lives; one with two stays
// as it is; every other dies.
//
// The world is a torus: (x + size - 1) % size is the neighbour to the left, at
// the edge the last column. `size` is a power of two here, and still the
// remainder costs some instructions: the compiler does not know it. Make it a
// constexpr and compare the PTX.

__global__ void generation(int size, const unsigned char *now,
                           unsigned char *next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size)
        return;

    int around = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx != 0 || dy != 0)
                around += now[(y + dy + size) % size * size +
                              (x + dx + size) % size];

    int alive = now[y * size + x];
    next[y * size + x] = around == 3 || (around == 2 && alive);
}
