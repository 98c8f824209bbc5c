// The kernels of kernels.cu in C++, the same algorithm on one thread: what the emulator is measured against.
// Every function gets the buffers of its case in order and the scalar arguments of the launch in order.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#define BUFFER(type, name, at) type *__restrict name = static_cast<type *>(buffers[at])
#define CASE(name) extern "C" void name(void **buffers, const double *scalars)

CASE(saxpy)
{
    int n = scalars[0];
    float a = scalars[1];
    BUFFER(const float, x, 0);
    BUFFER(float, y, 1);
    for (int i = 0; i < n; ++i)
        y[i] = a * x[i] + y[i];
}

CASE(copy)
{
    int n = scalars[0];
    BUFFER(const float, from, 0);
    BUFFER(float, to, 1);
    for (int i = 0; i < n; ++i)
        to[i] = from[i];
}

CASE(gather)
{
    int n = scalars[0];
    BUFFER(const float, x, 0);
    BUFFER(const int, index, 1);
    BUFFER(float, y, 2);
    for (int i = 0; i < n; ++i)
        y[i] = x[index[i]];
}

CASE(transpose_naive)
{
    int size = scalars[0];
    BUFFER(const float, in, 0);
    BUFFER(float, out, 1);
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x)
            out[x * size + y] = in[y * size + x];
}

CASE(transpose_tiled)
{
    int size = scalars[0];
    BUFFER(const float, in, 0);
    BUFFER(float, out, 1);
    float tile[32][33];
    for (int by = 0; by < size; by += 32)
        for (int bx = 0; bx < size; bx += 32) {
            for (int y = 0; y < 32; ++y)
                for (int x = 0; x < 32; ++x)
                    tile[y][x] = in[(by + y) * size + bx + x];
            for (int y = 0; y < 32; ++y)
                for (int x = 0; x < 32; ++x)
                    out[(bx + y) * size + by + x] = tile[x][y];
        }
}

static void multiply(void **buffers, const double *scalars)
{
    int n = scalars[0];
    BUFFER(const float, a, 0);
    BUFFER(const float, b, 1);
    BUFFER(float, c, 2);
    for (int row = 0; row < n; ++row)
        for (int column = 0; column < n; ++column) {
            float sum = 0;
            for (int k = 0; k < n; ++k)
                sum += a[row * n + k] * b[k * n + column];
            c[row * n + column] = sum;
        }
}

CASE(matmul_naive_16x16)
{
    multiply(buffers, scalars);
}

CASE(matmul_naive_32x8)
{
    multiply(buffers, scalars);
}

template <int TILE>
static void multiply_tiles(void **buffers, const double *scalars)
{
    int n = scalars[0];
    BUFFER(const float, a, 0);
    BUFFER(const float, b, 1);
    BUFFER(float, c, 2);
    float left[TILE][TILE], right[TILE][TILE], sum[TILE][TILE];
    for (int by = 0; by < n; by += TILE)
        for (int bx = 0; bx < n; bx += TILE) {
            memset(sum, 0, sizeof sum);
            for (int start = 0; start < n; start += TILE) {
                for (int y = 0; y < TILE; ++y)
                    for (int x = 0; x < TILE; ++x) {
                        left[y][x] = a[(by + y) * n + start + x];
                        right[y][x] = b[(start + y) * n + bx + x];
                    }
                for (int y = 0; y < TILE; ++y)
                    for (int x = 0; x < TILE; ++x) {
                        float value = sum[y][x];
                        for (int k = 0; k < TILE; ++k)
                            value += left[y][k] * right[k][x];
                        sum[y][x] = value;
                    }
            }
            for (int y = 0; y < TILE; ++y)
                for (int x = 0; x < TILE; ++x)
                    c[(by + y) * n + bx + x] = sum[y][x];
        }
}

CASE(matmul_tiled_16)
{
    multiply_tiles<16>(buffers, scalars);
}

CASE(matmul_tiled_32)
{
    multiply_tiles<32>(buffers, scalars);
}

CASE(matmul_register_tiled)
{
    int n = scalars[0];
    BUFFER(const float, a, 0);
    BUFFER(const float, b, 1);
    BUFFER(float, c, 2);
    for (int by = 0; by < n; by += 8)
        for (int bx = 0; bx < n; bx += 8) {
            float sum[8][8] = {};
            for (int k = 0; k < n; ++k)
                for (int i = 0; i < 8; ++i)
                    for (int j = 0; j < 8; ++j)
                        sum[i][j] += a[(by + i) * n + k] * b[k * n + bx + j];
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j)
                    c[(by + i) * n + bx + j] = sum[i][j];
        }
}

// A part a block: what the thread of a block with a stride of the grid sums.
CASE(reduction)
{
    int n = scalars[0], parts = 1024, width = 256;
    BUFFER(const float, x, 0);
    BUFFER(float, sums, 1);
    for (int part = 0; part < parts; ++part) {
        float sum = 0;
        for (int start = part * width; start < n; start += parts * width)
            for (int i = 0; i < width; ++i)
                sum += x[start + i];
        sums[part] = sum;
    }
}

CASE(scan)
{
    int n = scalars[0];
    BUFFER(const float, x, 0);
    BUFFER(float, sums, 1);
    for (int start = 0; start < n; start += 1024) {
        float sum = 0;
        for (int i = start; i < start + 1024; ++i)
            sums[i] = sum += x[i];
    }
}

CASE(histogram)
{
    int n = scalars[0];
    BUFFER(const unsigned char, data, 0);
    BUFFER(unsigned, bins, 1);
    for (int i = 0; i < n; ++i)
        ++bins[data[i]];
}

CASE(mandelbrot)
{
    int size = scalars[0], most = scalars[1];
    BUFFER(int, rounds, 0);
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            float cr = -2.0f + 3.0f * x / size, ci = -1.5f + 3.0f * y / size, re = 0, im = 0;
            int n = 0;
            for (; n < most && re * re + im * im < 4.0f; ++n) {
                float next = re * re - im * im + cr;
                im = 2.0f * re * im + ci;
                re = next;
            }
            rounds[y * size + x] = n;
        }
}

CASE(nbody)
{
    int n = scalars[0];
    BUFFER(const float, bodies, 0);
    BUFFER(float, forces, 1);
    for (int i = 0; i < n; ++i) {
        float fx = 0, fy = 0, fz = 0;
        for (int k = 0; k < n; ++k) {
            float dx = bodies[4 * k] - bodies[4 * i], dy = bodies[4 * k + 1] - bodies[4 * i + 1];
            float dz = bodies[4 * k + 2] - bodies[4 * i + 2];
            float inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 1e-3f);
            float pull = bodies[4 * k + 3] * inverse * inverse * inverse;
            fx += dx * pull, fy += dy * pull, fz += dz * pull;
        }
        forces[4 * i] = fx, forces[4 * i + 1] = fy, forces[4 * i + 2] = fz, forces[4 * i + 3] = 0;
    }
}

CASE(stencil_2d)
{
    int size = scalars[0];
    BUFFER(const float, in, 0);
    BUFFER(float, out, 1);
    for (int y = 1; y < size - 1; ++y)
        for (int x = 1; x < size - 1; ++x) {
            const float *at = in + y * size + x;
            out[y * size + x] = 0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-size] + at[size]);
        }
}

CASE(lbm_d2q9)
{
    int size = scalars[0], cells = size * size;
    float rate = scalars[1];
    BUFFER(const float, in, 0);
    BUFFER(float, out, 1);
    const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float weight[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            float f[9], density = 0, ux = 0, uy = 0;
            for (int d = 0; d < 9; ++d) {
                int from = (y - dy[d] + size) % size * size + (x - dx[d] + size) % size;
                f[d] = in[d * cells + from];
                density += f[d], ux += f[d] * dx[d], uy += f[d] * dy[d];
            }
            ux /= density, uy /= density;
            float square = 1.5f * (ux * ux + uy * uy);
            for (int d = 0; d < 9; ++d) {
                float along = 3.0f * (ux * dx[d] + uy * dy[d]);
                float rest = weight[d] * density * (1.0f + along + 0.5f * along * along - square);
                out[d * cells + y * size + x] = f[d] + rate * (rest - f[d]);
            }
        }
}

CASE(softmax)
{
    int columns = scalars[0], rows = 4096;
    BUFFER(const float, in, 0);
    BUFFER(float, out, 1);
    for (int r = 0; r < rows; ++r) {
        const float *row = in + r * columns;
        float most = -INFINITY, sum = 0;
        for (int i = 0; i < columns; ++i)
            most = std::max(most, row[i]);
        for (int i = 0; i < columns; ++i)
            sum += std::exp(row[i] - most);
        for (int i = 0; i < columns; ++i)
            out[r * columns + i] = std::exp(row[i] - most) / sum;
    }
}

CASE(half_axpy)
{
    int n = 2 * static_cast<int>(scalars[0]);
    _Float16 a = static_cast<float>(scalars[1]);
    BUFFER(const _Float16, x, 0);
    BUFFER(_Float16, y, 1);
    for (int i = 0; i < n; ++i)
        y[i] = a * x[i] + y[i];
}

CASE(wmma_matmul)
{
    int n = scalars[0];
    BUFFER(const _Float16, a, 0);
    BUFFER(const _Float16, b, 1);
    BUFFER(float, c, 2);
    std::vector<float> left(n * n), right(n * n);
    std::copy(a, a + n * n, left.begin());
    std::copy(b, b + n * n, right.begin());
    std::fill(c, c + n * n, 0.0f);
    for (int row = 0; row < n; ++row)
        for (int k = 0; k < n; ++k)
            for (int column = 0; column < n; ++column)
                c[row * n + column] += left[row * n + k] * right[k * n + column];
}
