// Products of matrices by tensor cores: wmma of every type, and mma.sync with ldmatrix, stmatrix, movmatrix and
// cp.async. test_matrix_programs.py says what they must compute. Compiled by NVRTC 13.0.88 (-std=c++17 -lineinfo).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda/std/type_traits>
#include <mma.h>
using namespace nvcuda;
typedef unsigned int uint32;

// C (m × n) = A (m × k, rows) · B (k × n); a warp computes one tile, blockIdx.y its row, blockIdx.x its column.
template <int M, int N, int K, class T, class S, class LA, class LB, class Element>
__device__ void product(const Element* a, const Element* b, S* c, int n, int k) {
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> left;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> right;
    wmma::fragment<wmma::accumulator, M, N, K, S> sum;
    wmma::fill_fragment(sum, S(0));
    int m = gridDim.y * M, row = blockIdx.y * M, column = blockIdx.x * N;
    constexpr bool a_rows = cuda::std::is_same_v<LA, wmma::row_major>, b_rows = cuda::std::is_same_v<LB, wmma::row_major>;
    for (int step = 0; step < k; step += K) {
        wmma::load_matrix_sync(left, a_rows ? a + row * k + step : a + step * m + row, a_rows ? k : m);
        wmma::load_matrix_sync(right, b_rows ? b + step * n + column : b + column * k + step, b_rows ? n : k);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}
#define PRODUCT(NAME, M, N, K, T, S, LA, LB, E) \
    extern "C" __global__ void NAME(const E* a, const E* b, S* c, int n, int k) { \
        product<M, N, K, T, S, wmma::LA, wmma::LB>(a, b, c, n, k); \
    }
PRODUCT(half_float, 16, 16, 16, __half, float, row_major, row_major, __half)
PRODUCT(half_half, 32, 8, 16, __half, __half, col_major, row_major, __half)
PRODUCT(bfloat, 8, 32, 16, __nv_bfloat16, float, row_major, col_major, __nv_bfloat16)
PRODUCT(tf32, 16, 16, 8, wmma::precision::tf32, float, row_major, row_major, float)
PRODUCT(bytes, 16, 16, 16, signed char, int, row_major, col_major, signed char)
PRODUCT(unsigned_bytes, 32, 8, 16, unsigned char, int, col_major, col_major, unsigned char)
PRODUCT(doubles, 8, 8, 4, double, double, row_major, row_major, double)

// Elements of four bits and of one: the strides count elements, the pointers words.
extern "C" __global__ void nibbles(const uint32* a, const uint32* b, int* c, int n, int k) {
    wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum;
    wmma::fill_fragment(sum, 0);
    for (int step = 0; step < k; step += 32) {
        wmma::load_matrix_sync(left, a + (blockIdx.y * 8 * k + step) / 8, k);
        wmma::load_matrix_sync(right, b + (blockIdx.x * 8 * k + step) / 8, k);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 8 * n + blockIdx.x * 8, sum, n, wmma::mem_row_major);
}
extern "C" __global__ void bits(const uint32* a, const uint32* b, int* c, int n, int k) {
    wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> differ, both;
    wmma::fill_fragment(differ, 0);
    wmma::fill_fragment(both, 0);
    for (int step = 0; step < k; step += 128) {
        wmma::load_matrix_sync(left, a + (blockIdx.y * 8 * k + step) / 32, k);
        wmma::load_matrix_sync(right, b + (blockIdx.x * 8 * k + step) / 32, k);
        wmma::bmma_sync(differ, left, right, differ, wmma::experimental::bmmaBitOpXOR);
        wmma::bmma_sync(both, left, right, both, wmma::experimental::bmmaBitOpAND);
    }
    for (int i = 0; i < both.num_elements; i++) both.x[i] += 1000 * differ.x[i];
    wmma::store_matrix_sync(c + blockIdx.y * 8 * n + blockIdx.x * 8, both, n, wmma::mem_row_major);
}

// Four warps share tiles of A and B in padded shared memory; the result is 2·A·B + C, negative sums cut off.
extern "C" __global__ void tiled(const __half* a, const __half* b, const float* c, float* d, int n, int k) {
    __shared__ __half left[32][40], right[32][40];
    int warp = threadIdx.x / 32, row = blockIdx.y * 32, column = blockIdx.x * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum, given;
    wmma::fill_fragment(sum, 0.0f);
    for (int step = 0; step < k; step += 32) {
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
            left[i / 32][i % 32] = a[(row + i / 32) * k + step + i % 32];
            right[i / 32][i % 32] = b[(step + i / 32) * n + column + i % 32];
        }
        __syncthreads();
        for (int inner = 0; inner < 32; inner += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> l;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> r;
            wmma::load_matrix_sync(l, &left[warp / 2 * 16][inner], 40);
            wmma::load_matrix_sync(r, &right[inner][warp % 2 * 16], 40);
            wmma::mma_sync(sum, l, r, sum);
        }
        __syncthreads();
    }
    int place = (row + warp / 2 * 16) * n + column + warp % 2 * 16;
    wmma::load_matrix_sync(given, c + place, n, wmma::mem_row_major);
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = fmaxf(2 * sum.x[i] + given.x[i], 0.0f);
    wmma::store_matrix_sync(d + place, sum, n, wmma::mem_row_major);
}

__device__ uint32 shared_address(const void* p) { return (uint32)__cvta_generic_to_shared(p); }
__device__ void load_four(uint32* r, const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)));
}
__device__ void load_two_turned(uint32* r, const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)));
}
__device__ void load_two(uint32* r, const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)));
}
#define MULTIPLY(SHAPE, TYPES, SUM, C, A, B) \
    asm volatile("mma.sync.aligned." SHAPE ".row.col." TYPES " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+" SUM(C[0]), "+" SUM(C[1]), "+" SUM(C[2]), "+" SUM(C[3]) \
                 : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]))

// 64 × 64 tiles by four warps, copied ahead in two buffers by cp.async; B's rows are turned by ldmatrix.
extern "C" __global__ void pipelined(const __half* a, const __half* b, float* c, int n, int k) {
    __shared__ __align__(16) __half left[2][64][40], right[2][32][72];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, row = blockIdx.y * 64, column = blockIdx.x * 64;
    auto fetch = [&](int buffer, int step) {
        for (int i = t; i < 256; i += 128)
            __pipeline_memcpy_async(&left[buffer][i / 4][i % 4 * 8], a + (row + i / 4) * k + step + i % 4 * 8, 16);
        for (int i = t; i < 256; i += 128)
            __pipeline_memcpy_async(&right[buffer][i / 8][i % 8 * 8], b + (step + i / 8) * n + column + i % 8 * 8, 16);
        __pipeline_commit();
    };
    float sum[8][4] = {};
    fetch(0, 0);
    for (int step = 0; step < k; step += 32) {
        int now = step / 32 % 2;
        if (step + 32 < k) {
            fetch(1 - now, step + 32);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int inner = 0; inner < 32; inner += 16) {
            uint32 l[4], r[2];
            load_four(l, &left[now][warp * 16 + lane % 16][inner + lane / 16 * 8]);
            for (int j = 0; j < 8; j++) {
                load_two_turned(r, &right[now][inner + lane % 16][j * 8]);
                MULTIPLY("m16n8k16", "f32.f16.f16.f32", "f", sum[j], l, r);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 4; i++)
            c[(row + warp * 16 + lane / 4 + i / 2 * 8) * n + column + j * 8 + lane % 4 * 2 + i % 2] = sum[j][i];
}

// B (n × k) by columns; the bfloat16 result leaves through stmatrix, two tiles of eight columns a warp.
extern "C" __global__ void brain_stored(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int k) {
    __shared__ __align__(16) __nv_bfloat16 left[16][16], right[16][16], out[16][16];
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 16;
    float sum[2][4] = {};
    for (int step = 0; step < k; step += 16) {
        for (int i = lane; i < 256; i += 32) {
            left[i / 16][i % 16] = a[(row + i / 16) * k + step + i % 16];
            right[i / 16][i % 16] = b[(column + i / 16) * k + step + i % 16];
        }
        __syncwarp();
        uint32 l[4], r[2];
        load_four(l, &left[lane % 16][lane / 16 * 8]);
        for (int j = 0; j < 2; j++) {
            load_two(r, &right[j * 8 + lane % 8][lane / 8 % 2 * 8]);
            MULTIPLY("m16n8k16", "f32.bf16.bf16.f32", "f", sum[j], l, r);
        }
        __syncwarp();
    }
    uint32 words[4];
    for (int j = 0; j < 2; j++)
        for (int h = 0; h < 2; h++) {
            __nv_bfloat162 pair = __floats2bfloat162_rn(sum[j][2 * h], sum[j][2 * h + 1]);
            words[2 * j + h] = *(uint32*)&pair;
        }
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(shared_address(&out[lane % 16][lane / 16 * 8])),
                    "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
    __syncwarp();
    for (int i = lane; i < 256; i += 32) c[(row + i / 16) * n + column + i % 16] = out[i / 16][i % 16];
}

// A (m × k) by rows and B (n × k) by columns, in bytes: a register is four neighbours of a row.
template <class S, class Step>
__device__ void by_bytes(const unsigned char* a, const unsigned char* b, S* c, int n, int k, Step multiply) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    S sum[4] = {};
    for (int step = 0; step < k; step += 32) {
        uint32 l[4], r[2];
        for (int i = 0; i < 4; i++) l[i] = *(const uint32*)(a + (row + g + i % 2 * 8) * k + step + i / 2 * 16 + t * 4);
        for (int i = 0; i < 2; i++) r[i] = *(const uint32*)(b + (column + g) * k + step + i * 16 + t * 4);
        multiply(sum, l, r);
    }
    for (int i = 0; i < 4; i++) c[(row + g + i / 2 * 8) * n + column + t * 2 + i % 2] = sum[i];
}
extern "C" __global__ void mixed_bytes(const unsigned char* a, const unsigned char* b, int* c, int n, int k) {
    by_bytes(a, b, c, n, k, [](int* s, uint32* l, uint32* r) { MULTIPLY("m16n8k32", "s32.s8.u8.s32", "r", s, l, r); });
}
extern "C" __global__ void float8(const unsigned char* a, const unsigned char* b, float* c, int n, int k) {
    by_bytes(a, b, c, n, k, [](float* s, uint32* l, uint32* r) { MULTIPLY("m16n8k32", "f32.e4m3.e5m2.f32", "f", s, l, r); });
}

extern "C" __global__ void wide_doubles(const double* a, const double* b, double* c, int n, int k) {
    int lane = threadIdx.x, g = lane / 4, t = lane % 4, row = blockIdx.y * 16, column = blockIdx.x * 8;
    double s[4] = {};
    for (int step = 0; step < k; step += 8) {
        const double *l = a + (row + g) * k + step + t, *r = b + (step + t) * n + column + g;
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+d"(s[0]), "+d"(s[1]), "+d"(s[2]), "+d"(s[3])
                     : "d"(l[0]), "d"(l[8 * k]), "d"(l[4]), "d"(l[8 * k + 4]), "d"(r[0]), "d"(r[4 * n]));
    }
    for (int i = 0; i < 4; i++) c[(row + g + i / 2 * 8) * n + column + t * 2 + i % 2] = s[i];
}

// Four products of 8 × 4 by 4 × 8 a warp: matrix q of A (rows), B (columns) and C (rows).
extern "C" __global__ void quads(const __half* a, const __half* b, const float* c, float* d) {
    int lane = threadIdx.x, q = lane % 16 / 4, own = lane % 4 + lane / 16 * 4;
    const uint32 *l = (const uint32*)(a + q * 32 + own * 4), *r = (const uint32*)(b + q * 32 + own * 4);
    float s[8];
    auto place = [&](int i) { return q * 64 + ((lane & 1) + (i & 2) + lane / 16 * 4) * 8 + (i & 4) + (lane & 2) + (i & 1); };
    for (int i = 0; i < 8; i++) s[i] = c[place(i)];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "
                 "{%0, %1, %2, %3, %4, %5, %6, %7};"
                 : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7])
                 : "r"(l[0]), "r"(l[1]), "r"(r[0]), "r"(r[1]));
    for (int i = 0; i < 8; i++) d[place(i)] = s[i];
}

extern "C" __global__ void turned(const uint32* in, uint32* out) {
    uint32 word;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(word) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = word;
}

// Thirty-two products in one straight line.
extern "C" __global__ void straight(const uint32* in, float* out) {
    int lane = threadIdx.x;
    uint32 l[4] = {in[lane], in[lane + 32], in[lane + 64], in[lane + 96]}, r[2] = {in[lane + 128], in[lane + 160]};
    float s[4] = {};
#pragma unroll
    for (int i = 0; i < 32; i++) {
        MULTIPLY("m16n8k16", "f32.f16.f16.f32", "f", s, l, r);
        l[i % 4] ^= 0x80008000u;
    }
    for (int i = 0; i < 4; i++) out[lane * 4 + i] = s[i];
}

// What goes wrong: a matrix that ends too early, and rows that ldmatrix cannot read.
extern "C" __global__ void short_matrix(const __half* a, float* c, int stride) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::load_matrix_sync(left, a, stride);
    float total = 0;
    for (int i = 0; i < left.num_elements; i++) total += (float)left.x[i];
    c[threadIdx.x] = total;
}
extern "C" __global__ void bad_row(uint32* out, int lane, int offset) {
    __shared__ __align__(16) __half rows[32][8];
    for (int i = 0; i < 8; i++) rows[threadIdx.x][i] = i;
    __syncwarp();
    uint32 r[4];
    load_four(r, (const char*)rows[threadIdx.x] + (threadIdx.x == lane ? offset : 0));
    out[threadIdx.x] = r[0] + r[1] + r[2] + r[3];
}
extern "C" __global__ void short_result(float* c, int stride) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 3.0f);
    wmma::store_matrix_sync(c, sum, stride, wmma::mem_col_major);
}

// Pointers whose space is known at run time only.
extern "C" __global__ void either(const __half* a, float* c, int shared) {
    __shared__ __align__(32) __half own[256];
    __shared__ __align__(32) float out[256];
    for (int i = threadIdx.x; i < 256; i += 32) own[i] = (float)a[i] * 2;
    __syncwarp();
    const __half* from = shared ? own : a;
    float* to = shared ? out : c;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(left, from, 16);
    wmma::load_matrix_sync(right, from, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(to, sum, 16, wmma::mem_row_major);
    __syncwarp();
    if (shared)
        for (int i = threadIdx.x; i < 256; i += 32) c[i] = out[i];
}
extern "C" __global__ void generic_rows(const uint32* in, uint32* out) {
    __shared__ __align__(16) uint32 rows[32], stored[32];
    rows[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    uint32 word;
    int row = threadIdx.x % 8 * 4;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.b16 {%0}, [%1];" : "=r"(word) : "l"(&rows[row]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.b16 [%0], {%1};" :: "l"(&stored[row]), "r"(word) : "memory");
    __syncwarp();
    out[threadIdx.x] = stored[threadIdx.x];
}

// Lanes whose pointers differ, which nobody defines: here each uses its own.
extern "C" __global__ void own_pointers(const __half* a, float* c, int apart) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::load_matrix_sync(left, a + threadIdx.x * apart, 16);
    c[threadIdx.x] = (float)left.x[0];
}

// Accumulators go through a fragment: by rows in, by columns out.
template <int M, int N, int K, class T> __device__ void through(const T* in, T* out) {
    wmma::fragment<wmma::accumulator, M, N, K, T> sum;
    wmma::load_matrix_sync(sum, in, N, wmma::mem_row_major);
    wmma::store_matrix_sync(out, sum, M, wmma::mem_col_major);
}
extern "C" __global__ void floats_through(const float* in, float* out) { through<16, 16, 8>(in, out); }
extern "C" __global__ void doubles_through(const double* in, double* out) { through<8, 8, 4>(in, out); }
extern "C" __global__ void integers_through(const int* in, int* out) { through<8, 8, 32>(in, out); }
