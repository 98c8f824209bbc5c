// Kernels that the linter's tests launch rightly and wrongly.
#define TILE 32
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void guarded(int n, const float *x, float *y)
{
    int i = INDEX;
    if (i < n)
        y[i] = 2 * x[i];
}
extern "C" __global__ void returned(int n, const float *x, float *y)
{
    int i = INDEX;
    if (i >= n)
        return;
    y[i] = 2 * x[i];
}
extern "C" __global__ void bare(const float *x, float *y)
{
    int i = INDEX;
    y[i] = 2 * x[i];
}
extern "C" __global__ void bare_with_n(int n, const float *x, float *y)
{
    int i = INDEX;
    y[i] = n * x[i];
}
extern "C" __global__ void off_by_one(int n, const float *x, float *y)
{
    int i = INDEX;
    if (i <= n)
        y[i] = 2 * x[i];
}
extern "C" __global__ void shifted(int n, const float *x, float *y)
{
    int i = INDEX;
    if (i < n)
        y[i] = x[i + 1] - x[i];
}
extern "C" __global__ void before(int n, const float *x, float *y)
{
    int i = INDEX;
    if (i < n)
        y[i] = x[i - 1];
}
extern "C" __global__ void grid_stride(int n, const float *x, float *y)
{
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x)
        y[i] = 2 * x[i];
}
extern "C" __global__ void picture(int width, int height, const float *x, float *y)
{
    int column = INDEX;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height)
        y[row * width + column] = x[row * width + column];
}
extern "C" __global__ void by_columns(int width, int height, const float *x, float *y)
{
    int row = INDEX;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height)
        y[row * width + column] = x[row * width + column];
}
extern "C" __global__ void volume(int n, float *y)
{
    int i = INDEX, j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < n && j < n && k < n)
        y[(k * n + j) * n + i] = 1;
}
extern "C" __global__ void quads(int n, const float4 *x, float4 *y)
{
    int i = INDEX;
    if (i < n)
        y[i] = x[i];
}
extern "C" __global__ void four_each(int n, const float *x, float *y)
{
    int i = 4 * INDEX;
    for (int k = 0; k < 4; ++k)
        if (i + k < n)
            y[i + k] = x[i + k];
}
extern "C" __global__ void block_sums(int n, const float *x, float *sums)
{
    __shared__ float part[256];
    int i = INDEX;
    part[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}
extern "C" __global__ void total(int n, const float *x, float *sum)
{
    float own = 0;
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x)
        own += x[i];
    atomicAdd(sum, own);
}
extern "C" __global__ void half_waits(const float *x, float *y)
{
    __shared__ float part[256];
    if (threadIdx.x < 100) {
        part[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
    }
    y[INDEX] = part[threadIdx.x % 100];
}
extern "C" __global__ void rows_wait(const float *x, float *y)
{
    __shared__ float part[256];
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    part[t] = x[t];
    if (threadIdx.y == 0)
        __syncthreads();
    y[t] = part[255 - t];
}
extern "C" __global__ void data_waits(const int *x, int *y)
{
    __shared__ int part[256];
    if (x[threadIdx.x] > 3) {
        part[threadIdx.x] = 1;
        __syncthreads();
    }
    y[threadIdx.x] = part[255 - threadIdx.x];
}
extern "C" __global__ void rounds_wait(int n, const float *x, float *y)
{
    __shared__ float part[256];
    float own = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        part[threadIdx.x] = x[i];
        __syncthreads();
        own += part[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
    }
    y[threadIdx.x] = own;
}
extern "C" __global__ void flag_waits(int on, const float *x, float *y)
{
    __shared__ float part[256];
    part[threadIdx.x] = x[INDEX];
    if (on)
        __syncthreads();
    y[INDEX] = part[255 - threadIdx.x];
}
extern "C" __global__ void leave_then_wait(int n, const float *x, float *y)
{
    __shared__ float part[256];
    int i = INDEX;
    if (i >= n)
        return;
    part[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = part[threadIdx.x];
}
extern "C" __global__ void strided(int n, int stride, const float *x, float *y)
{
    int i = INDEX;
    if (i < n)
        y[i] = x[i * stride];
}
extern "C" __global__ void far_index(int n, int scale, const float *x, float *y)
{
    int i = INDEX;
    int j = i * scale;
    if (j < n)
        y[i] = x[j];
}
extern "C" __global__ void far_index_wide(int n, int scale, const float *x, float *y)
{
    long long i = INDEX;
    long long j = i * scale;
    if (j < n)
        y[i] = x[j];
}
extern "C" __global__ void hashed(int n, float *y)
{
    unsigned i = INDEX;
    unsigned h = i * 2654435761u;
    h ^= h >> 15;
    if (i < n)
        y[h % n] = 1;
}
extern "C" __global__ void transposed(int n, const float *x, float *y)
{
    __shared__ float tile[TILE][TILE];
    tile[threadIdx.y][threadIdx.x] = x[(blockIdx.y * TILE + threadIdx.y) * n + blockIdx.x * TILE + threadIdx.x];
    __syncthreads();
    y[(blockIdx.x * TILE + threadIdx.y) * n + blockIdx.y * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void transposed_padded(int n, const float *x, float *y)
{
    __shared__ float tile[TILE][TILE + 1];
    tile[threadIdx.y][threadIdx.x] = x[(blockIdx.y * TILE + threadIdx.y) * n + blockIdx.x * TILE + threadIdx.x];
    __syncthreads();
    y[(blockIdx.x * TILE + threadIdx.y) * n + blockIdx.y * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void reversed(const float *x, float *y)
{
    extern __shared__ float kept[];
    kept[threadIdx.x] = x[INDEX];
    __syncthreads();
    y[INDEX] = kept[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void small_blocks(int n, float *y)
{
    extern __shared__ float spare[];
    int i = INDEX;
    if (i < n)
        y[i] += spare[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(128) bounded(int n, float *y)
{
    int i = INDEX;
    if (i < n)
        y[i] = i;
}
extern "C" __global__ void once(float *y) { y[0] = 1; }
extern "C" __global__ void bytes(int n, const unsigned char *x, unsigned char *y)
{
    int i = INDEX;
    if (i < n)
        y[i] = 255 - x[i];
}
extern "C" __global__ void rows(int height, int width, const float *x, float *y)
{
    float own = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        own += x[blockIdx.x * width + i];
    atomicAdd(&y[blockIdx.x], own);
}
extern "C" __global__ void gathered(int n, const int *at, const float *x, float *y)
{
    int i = INDEX;
    if (i < n)
        y[i] = x[at[i]];
}
extern "C" __global__ void stencil(int n, const float *x, float *y)
{
    int i = INDEX;
    if (i > 0 && i < n - 1)
        y[i] = x[i - 1] + x[i] + x[i + 1];
}
