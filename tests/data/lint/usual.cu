// Kernels as people write them.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void halo(int n, const float *x, float *y) {
  __shared__ float s[258];
  int i = blockIdx.x*blockDim.x+threadIdx.x, t = threadIdx.x+1;
  if (i < n) s[t] = x[i];
  if (threadIdx.x == 0) s[0] = i > 0 ? x[i-1] : 0;
  if (threadIdx.x == blockDim.x-1) s[t+1] = i+1 < n ? x[i+1] : 0;
  __syncthreads();
  if (i < n) y[i] = s[t-1]+s[t]+s[t+1];
}
extern "C" __global__ void conv(int w, int h, const float *x, float *y) {
  __shared__ float s[18][18];
  for (int dy = threadIdx.y; dy < 18; dy += 16) for (int dx = threadIdx.x; dx < 18; dx += 16) {
    int gx = blockIdx.x*16+dx-1, gy = blockIdx.y*16+dy-1;
    s[dy][dx] = gx >= 0 && gx < w && gy >= 0 && gy < h ? x[gy*w+gx] : 0;
  }
  __syncthreads();
  int gx = blockIdx.x*16+threadIdx.x, gy = blockIdx.y*16+threadIdx.y;
  if (gx < w && gy < h) { float a = 0; for (int j = 0; j < 3; ++j) for (int i = 0; i < 3; ++i) a += s[threadIdx.y+j][threadIdx.x+i]; y[gy*w+gx] = a; }
}
extern "C" __global__ void dot(int n, const float *a, const float *b, float *r) {
  float v = 0; for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) v += a[i]*b[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  __shared__ float s[32]; int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
  if (lane == 0) s[w] = v; __syncthreads();
  if (w == 0) { v = lane < blockDim.x/32 ? s[lane] : 0; for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o); if (lane == 0) atomicAdd(r, v); }
}
extern "C" __global__ void matmul(int m, int n, int k, const float *a, const float *b, float *c) {
  __shared__ float as[16][16], bs[16][16];
  int row = blockIdx.y*16+threadIdx.y, col = blockIdx.x*16+threadIdx.x; float acc = 0;
  for (int t = 0; t < (k+15)/16; ++t) {
    as[threadIdx.y][threadIdx.x] = row < m && t*16+threadIdx.x < k ? a[row*k+t*16+threadIdx.x] : 0;
    bs[threadIdx.y][threadIdx.x] = col < n && t*16+threadIdx.y < k ? b[(t*16+threadIdx.y)*n+col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) acc += as[threadIdx.y][i]*bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row*n+col] = acc;
}
extern "C" __global__ void matmul_1d(int n, const float *a, const float *b, float *c) {
  int i = blockIdx.x*blockDim.x+threadIdx.x; if (i >= n*n) return; int row = i/n, col = i%n; float acc=0;
  for (int k = 0; k < n; ++k) acc += a[row*n+k]*b[k*n+col]; c[i]=acc;
}
extern "C" __global__ void collatz(int n, int *steps) {
  int i = blockIdx.x*blockDim.x+threadIdx.x; if (i >= n) return; long long v = i+1; int s = 0;
  while (v != 1) { v = v & 1 ? 3*v+1 : v/2; ++s; if (s > 1000) break; } steps[i] = s;
}
extern "C" __global__ void lcg(int n, unsigned seed, float *y) {
  int i = blockIdx.x*blockDim.x+threadIdx.x; unsigned s = seed + i*1664525u + 1013904223u; s = s*1664525u+1013904223u;
  if (i < n) y[i] = s * 2.3e-10f;
}
extern "C" __global__ void table(int n, unsigned seed, const float *x, float *y) {
  int i = blockIdx.x*blockDim.x+threadIdx.x; unsigned s = (seed + i)*747796405u; s ^= s >> 16; s *= 2654435769u;
  if (i < n) y[i] = x[s & 1023];
}
extern "C" __global__ void coop(int n, float *y) {
  auto b = cg::this_thread_block(); int i = b.group_index().x*b.size()+b.thread_rank(); if (i < n) y[i] = 1; b.sync(); if (i < n) y[i] += 1;
}
extern "C" __global__ void bitrev(int n, int bits, const float *x, float *y) {
  int i = blockIdx.x*blockDim.x+threadIdx.x; if (i < n) y[__brev(i) >> (32-bits)] = x[i];
}
extern "C" __global__ void butterfly(int n, int half, float *x) {
  int i = blockIdx.x*blockDim.x+threadIdx.x; int g = i/half, o = i%half; int a = g*2*half+o; if (a+half < n) { float u=x[a],v=x[a+half]; x[a]=u+v; x[a+half]=u-v; }
}
extern "C" __global__ void diag(int n, float *m) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i < n) m[i*n+i] = 1; }
extern "C" __global__ void rowsum(int rows, int cols, const float *m, float *s) { int r = blockIdx.x*blockDim.x+threadIdx.x; if (r < rows) { float a=0; for (int c=0;c<cols;++c) a+=m[r*cols+c]; s[r]=a; } }
extern "C" __global__ void colsum(int rows, int cols, const float *m, float *s) { int c = blockIdx.x*blockDim.x+threadIdx.x; if (c < cols) { float a=0; for (int r=0;r<rows;++r) a+=m[r*cols+c]; s[c]=a; } }
extern "C" __global__ void spmv(int rows, const int *ptr, const int *idx, const float *val, const float *x, float *y) { int r = blockIdx.x*blockDim.x+threadIdx.x; if (r<rows) { float a=0; for (int j=ptr[r]; j<ptr[r+1]; ++j) a += val[j]*x[idx[j]]; y[r]=a; } }
extern "C" __global__ void two_each(int n, const float *x, float *y) { int i = blockIdx.x*blockDim.x*2+threadIdx.x; if (i<n) y[i]=x[i]; if (i+blockDim.x<n) y[i+blockDim.x]=x[i+blockDim.x]; }
extern "C" __global__ void rgb(int n, const unsigned char *p, unsigned char *g) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) g[i]=(p[3*i]+p[3*i+1]+p[3*i+2])/3; }
extern "C" __global__ void interior(int w, int h, const float *x, float *y) { int c = blockIdx.x*blockDim.x+threadIdx.x, r = blockIdx.y*blockDim.y+threadIdx.y; if (c>0 && r>0 && c<w-1 && r<h-1) y[r*w+c]=x[r*w+c-1]+x[(r-1)*w+c]+x[r*w+c+1]+x[(r+1)*w+c]; }
extern "C" __global__ void interior_shift(int w, int h, const float *x, float *y) { int c = blockIdx.x*blockDim.x+threadIdx.x+1, r = blockIdx.y*blockDim.y+threadIdx.y+1; if (c<w-1 && r<h-1) y[r*w+c]=x[r*w+c-1]+x[(r-1)*w+c]; }
