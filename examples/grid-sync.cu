/*! warpyard
title = "All steps in one launch"
summary = "A cooperative launch: every block waits for all others with grid.sync()."
order = 105
reference = """
u = np.zeros(16384, np.float32)
u[8192] = 1000
for step in range(200):
    u = u + np.float32(0.25) * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
tolerance = 1e-5
absolute = 1e-6
"""

[views.u]
shown_as = "plot"

[[buffers]]
name = "u"
dtype = "float32"
shape = [16384]
init = { kind = "formula", text = "where(i == 8192, 1000, 0)" }
role = "inout"

[[buffers]]
name = "v"
dtype = "float32"
shape = [16384]
role = "in"

[[steps]]
kind = "launch"
entry = "diffuse"
config = { grid = [32], block = [256], cooperative = true }
arguments = [
    { kind = "buffer", name = "u", buffer = "u" },
    { kind = "buffer", name = "v", buffer = "v" },
    { kind = "scalar", name = "n", value = 16384 },
    { kind = "scalar", name = "steps", value = 200 },
]
*/
// Heat spreads along a ring of 16,384 cells, 200 steps in one launch.
//
// A step needs what the neighbours had in the step before, so all blocks have
// to be done with one before any begins the next. __syncthreads() waits for
// the threads of one block; grid.sync() waits for those of the whole grid. Two
// things follow:
//
// - All blocks must be on the GPU at once: a block that has no place yet could
//   not arrive. A cooperative launch sees to that, and is refused where the
//   grid is too large. Hence the loop over i: 8,192 threads take two cells
//   each.
// - Every thread must reach every sync(), so there is no early return.
//
// Take the tick at "Cooperative launch" away, and the run ends at grid.sync().
// Give it 4,000 blocks, and the message says how many would fit.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void diffuse(float *u, float *v, int n, int steps)
{
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            float left = u[i > 0 ? i - 1 : n - 1];
            float right = u[i < n - 1 ? i + 1 : 0];
            v[i] = u[i] + 0.25f * (left - 2 * u[i] + right);
        }
        grid.sync();
        // What was written is read in the next step. After an even number of
        // steps the result is in u.
        float *other = u;
        u = v;
        v = other;
    }
}
