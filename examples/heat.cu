/*! warpyard
title = "Heat on a plate"
summary = "A five-point stencil, 400 steps in time, filmed every tenth; two buffers change places."
order = 100
film = { buffer = "u", every = 10 }
reference = """
ny, nx = np.mgrid[0:256, 0:256].astype(np.float64)
u = (100 * np.exp(-((nx - 90) * (nx - 90) + (ny - 128) * (ny - 128)) / 800)).astype(np.float32)
v = np.zeros_like(u)
for _ in range(400):
    v[1:-1, 1:-1] = u[1:-1, 1:-1] + np.float32(0.2) * (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - np.float32(4) * u[1:-1, 1:-1]
    )
    v[0], v[-1], v[:, 0], v[:, -1] = u[0], u[-1], u[:, 0], u[:, -1]
    u, v = v, u
tolerance = 1e-3
absolute = 1e-3
"""

[views.u]
shown_as = "image"
palette = "inferno"

[views.v]
shown_as = "hidden"

[[buffers]]
name = "u"
dtype = "float32"
shape = [256, 256]
init = { kind = "formula", text = "100 * exp(-((x - 90) * (x - 90) + (y - 128) * (y - 128)) / 800)" }
role = "inout"

[[buffers]]
name = "v"
dtype = "float32"
shape = [256, 256]
role = "inout"

[[steps]]
kind = "repeat"
count = 400

[[steps.steps]]
kind = "launch"
entry = "diffuse"
config = { grid = { kind = "cover", buffer = "u" }, block = [32, 8] }
arguments = [
    { kind = "scalar", name = "width", value = 256 },
    { kind = "scalar", name = "height", value = 256 },
    { kind = "scalar", name = "rate", value = 0.2 },
    { kind = "buffer", name = "now", buffer = "u" },
    { kind = "buffer", name = "next", buffer = "v" },
]

[[steps.steps]]
kind = "swap"
first = "u"
second = "v"
*/
// One step in time of the heat equation; the run repeats it 400 times.
//
// A thread reads its point and four neighbours from `now` and writes to `next`.
// Reading and writing one buffer would be a race: some neighbours would be of
// this step and some of the last. So there are two, and after each launch the
// step "swap" lets u and v change places. The film is of u: after each swap
// that name denotes the buffer that was just written.
//
// The block is 32 × 8, not 16 × 16: a warp is then one row of 32 points, and
// its loads are four whole sectors. Points of the edge keep their value.

__global__ void diffuse(int width, int height, float rate,
                        const float *now, float *next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    int i = y * width + x;
    float here = now[i];
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
        here += rate * (now[i - width] + now[i + width] +
                        now[i - 1] + now[i + 1] - 4.0f * here);
    next[i] = here;
}
