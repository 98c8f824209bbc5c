// The kernels of `warpyard bench emulator`; cases.py holds their launches, baseline.cpp the same in C++.

#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void copy(int n, const float *from, float *to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[i];
}

extern "C" __global__ void gather(int n, const float *x, const int *index, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[index[i]];
}

extern "C" __global__ void transpose_naive(int size, const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < size && y < size)
        out[x * size + y] = in[y * size + x];
}

// Blocks of 32 × 8 move tiles of 32 × 32; the column of padding keeps banks apart.
extern "C" __global__ void transpose_tiled(int size, const float *in, float *out)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        if (x < size && y + row < size)
            tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * size + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int row = 0; row < 32; row += 8)
        if (x < size && y + row < size)
            out[(y + row) * size + x] = tile[threadIdx.x][threadIdx.y + row];
}

extern "C" __global__ void matmul_naive(int n, const float *a, const float *b, float *c)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

template <int TILE>
__device__ void multiply_tiles(int n, const float *a, const float *b, float *c)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int start = 0; start < n; start += TILE) {
        left[y][x] = a[row * n + start + x];
        right[y][x] = b[(start + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k)
            sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void matmul_tiled_16(int n, const float *a, const float *b, float *c)
{
    multiply_tiles<16>(n, a, b, c);
}

extern "C" __global__ void matmul_tiled_32(int n, const float *a, const float *b, float *c)
{
    multiply_tiles<32>(n, a, b, c);
}

// 64 threads make a tile of 64 × 64, each an 8 × 8 part of it in registers.
extern "C" __global__ void matmul_register_tiled(int n, const float *a, const float *b, float *c)
{
    __shared__ float left[8][64], right[8][64];
    int thread = threadIdx.x, tx = thread % 8, ty = thread / 8;
    int row = blockIdx.y * 64, column = blockIdx.x * 64;
    float sum[8][8] = {};
    for (int start = 0; start < n; start += 8) {
        for (int k = 0; k < 8; ++k) {
            left[k][thread] = a[(row + thread) * n + start + k];
            right[k][thread] = b[(start + k) * n + column + thread];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            float of_a[8], of_b[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                of_a[i] = left[k][ty * 8 + i];
                of_b[i] = right[k][tx + 8 * i];
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    sum[i][j] += of_a[i] * of_b[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
            c[(row + ty * 8 + i) * n + column + tx + 8 * j] = sum[i][j];
}

__device__ float sum_of_warp(float value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

extern "C" __global__ void reduction(int n, const float *x, float *sums)
{
    __shared__ float of_warp[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sum = sum_of_warp(sum);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0)
        of_warp[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = sum_of_warp(lane < blockDim.x / 32 ? of_warp[lane] : 0);
        if (lane == 0)
            sums[blockIdx.x] = sum;
    }
}

// Inclusive sums within segments of one block each, by doubling distances.
extern "C" __global__ void scan(int n, const float *x, float *sums)
{
    __shared__ float part[2][1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x, now = 0;
    part[0][t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        part[1 - now][t] = t >= distance ? part[now][t] + part[now][t - distance] : part[now][t];
        now = 1 - now;
        __syncthreads();
    }
    if (i < n)
        sums[i] = part[now][t];
}

extern "C" __global__ void histogram(int n, const unsigned char *data, unsigned *bins)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

extern "C" __global__ void mandelbrot(int size, int most, int *rounds)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size)
        return;
    float cr = -2.0f + 3.0f * x / size, ci = -1.5f + 3.0f * y / size, re = 0, im = 0;
    int n = 0;
    for (; n < most && re * re + im * im < 4.0f; ++n) {
        float next = re * re - im * im + cr;
        im = 2.0f * re * im + ci;
        re = next;
    }
    rounds[y * size + x] = n;
}

extern "C" __global__ void nbody(int n, const float4 *bodies, float4 *forces)
{
    __shared__ float4 tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = bodies[i];
    float fx = 0, fy = 0, fz = 0;
    for (int start = 0; start < n; start += 256) {
        tile[threadIdx.x] = bodies[start + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 256; ++k) {
            float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
            float pull = tile[k].w * inverse * inverse * inverse;
            fx += dx * pull, fy += dy * pull, fz += dz * pull;
        }
        __syncthreads();
    }
    forces[i] = make_float4(fx, fy, fz, 0);
}

extern "C" __global__ void stencil_2d(int size, const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < size - 1 && y < size - 1) {
        const float *at = in + y * size + x;
        out[y * size + x] = 0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-size] + at[size]);
    }
}

// One step of a lattice Boltzmann fluid with nine directions on a torus: streaming, then relaxation.
extern "C" __global__ void lbm_d2q9(int size, float rate, const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float weight[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
    int cells = size * size;
    float f[9], density = 0, ux = 0, uy = 0;
#pragma unroll
    for (int d = 0; d < 9; ++d) {
        int from = (y - dy[d] + size) % size * size + (x - dx[d] + size) % size;
        f[d] = in[d * cells + from];
        density += f[d], ux += f[d] * dx[d], uy += f[d] * dy[d];
    }
    ux /= density, uy /= density;
    float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int d = 0; d < 9; ++d) {
        float along = 3.0f * (ux * dx[d] + uy * dy[d]);
        float rest = weight[d] * density * (1.0f + along + 0.5f * along * along - square);
        out[d * cells + y * size + x] = f[d] + rate * (rest - f[d]);
    }
}

// A block a row; each thread has every blockDim.x-th element.
extern "C" __global__ void softmax(int columns, const float *in, float *out)
{
    __shared__ float of_warp[8];
    const float *row = in + blockIdx.x * columns;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float most = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        most = fmaxf(most, row[i]);
    for (int offset = 16; offset > 0; offset /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
    if (lane == 0)
        of_warp[warp] = most;
    __syncthreads();
    for (int w = 0; w < 8; ++w)
        most = fmaxf(most, of_warp[w]);
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += expf(row[i] - most);
    sum = sum_of_warp(sum);
    if (lane == 0)
        of_warp[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < 8; ++w)
        sum += of_warp[w];
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] = expf(row[i] - most) / sum;
}

extern "C" __global__ void half_axpy(int n, float a, const __half2 *x, __half2 *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}

// A warp makes a tile of 16 × 16.
extern "C" __global__ void wmma_matmul(int n, const __half *a, const __half *b, float *c)
{
    using namespace nvcuda::wmma;
    int warp = threadIdx.x / 32, row = blockIdx.y * 16, column = (blockIdx.x * 4 + warp) * 16;
    fragment<matrix_a, 16, 16, 16, __half, row_major> left;
    fragment<matrix_b, 16, 16, 16, __half, row_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(left, a + row * n + k, n);
        load_matrix_sync(right, b + k * n + column, n);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(c + row * n + column, sum, n, mem_row_major);
}
