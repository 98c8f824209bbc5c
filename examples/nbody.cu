/*! warpyard
title = "N bodies"
summary = "All pairs of 1,024 bodies, by tiles of float4 in shared memory."
order = 130
reference = """
bodies = np.random.default_rng(8).random(4096, dtype=np.float32).reshape(1024, 4).astype(np.float64)
away = bodies[None, :, :3] - bodies[:, None, :3]
distance = (away * away).sum(axis=2) + 0.01
accelerations = np.zeros((1024, 4))
accelerations[:, :3] = (away * (bodies[None, :, 3] / distance**1.5)[:, :, None]).sum(axis=1)
tolerance = 1e-3
absolute = 1e-2
"""

[[buffers]]
name = "bodies"
dtype = "float32"
shape = [1024, 4]
init = { kind = "uniform", seed = 8 }
role = "in"

[[buffers]]
name = "accelerations"
dtype = "float32"
shape = [1024, 4]
role = "out"

[[steps]]
kind = "launch"
entry = "accelerate"
config = { grid = [8], block = [128] }
arguments = [
    { kind = "scalar", name = "count", value = 1024 },
    { kind = "buffer", name = "bodies", buffer = "bodies" },
    { kind = "buffer", name = "accelerations", buffer = "accelerations" },
]
*/
// The pull of every body on every other: x, y, z and mass in a float4.
//
// A float4 is loaded by one instruction of 16 bytes. The buffer is a plain
// array of floats, 1,024 × 4; the kernel reads it as float4, which needs an
// address that is a multiple of 16.
//
// The bodies come by in tiles: each thread loads one, all 128 use all 128, and
// the next tile follows. Every body is read from global memory once a block
// instead of once a thread. In the inner loop all threads read the same element
// of the tile, which shared memory hands to all of them at once.

constexpr int TILE = 128;

__global__ void accelerate(int count, const float4 *bodies,
                           float4 *accelerations)
{
    __shared__ float4 tile[TILE];

    int i = blockIdx.x * TILE + threadIdx.x;
    float4 me = i < count ? bodies[i] : make_float4(0, 0, 0, 0);
    float ax = 0.0f, ay = 0.0f, az = 0.0f;

    for (int first = 0; first < count; first += TILE) {
        int other = first + threadIdx.x;
        tile[threadIdx.x] =
            other < count ? bodies[other] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            float dx = tile[k].x - me.x;
            float dy = tile[k].y - me.y;
            float dz = tile[k].z - me.z;
            float distance = dx * dx + dy * dy + dz * dz + 0.01f;
            float inverse = rsqrtf(distance);
            float pull = tile[k].w * inverse * inverse * inverse;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        __syncthreads();
    }
    if (i < count)
        accelerations[i] = make_float4(ax, ay, az, 0.0f);
}
