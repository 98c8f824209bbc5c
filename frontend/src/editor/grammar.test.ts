import { parser } from 'virtual:cuda-parser';
import { expect, test } from 'vitest';

/** Text at which the tree holds an error, as `text` marks. */
function errors(source: string): string[] {
  const found: string[] = [];
  parser.parse(source).iterate({
    enter: (node) => {
      if (node.type.isError) found.push(source.slice(Math.max(0, node.from - 12), node.to + 12));
    },
  });
  return found;
}

test.each([
  ['kernel', 'extern "C" __global__ void k(const float* __restrict__ a, float *b, int n) { b[threadIdx.x] = a[n]; }'],
  ['launch bounds before the name', '__global__ void __launch_bounds__(256, 2) k(float* o) { o[0] = 1.0f; }'],
  ['launch bounds first', '__launch_bounds__(256) __global__ void k(float* o) { o[0] = 1.0f; }'],
  ['shared arrays', '__global__ void k() { extern __shared__ float s[]; __shared__ int t[32][33]; s[0] = t[0][1]; }'],
  ['device functions', '__device__ __forceinline__ float f(float x) { return x * x; }\n__constant__ float c[4] = {1, 2, 3, 4};'],
  ['launch', '__global__ void p(int* x) { k<<<dim3(2, 2), 256, 0, s>>>(x, 1); }'],
  ['template launch', '__global__ void p(int* x) { k<float><<<1, 32>>>(x); }'],
  ['template kernel', 'template <typename T, int N> __global__ void k(T* o) { o[threadIdx.x] = T(N); }'],
  ['inline PTX', '__device__ int lane() { int r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }'],
  ['inline PTX, all operands', '__device__ void f(int a) { asm("a;" "b;" :: "r"(a), [n] "l"(p) : "memory"); }'],
  ['aligned struct', 'struct __align__(16) Pair { float x, y; __device__ float sum() const { return x + y; } };'],
  ['device lambda', '__global__ void k(int* o) { auto f = [=] __device__ (int i) { return i; }; o[0] = f(1); }'],
  ['shifts stay shifts', 'int f(int a) { return a << 2 >> 1; }\nstd::vector<std::vector<int>> v;'],
  ['grid constant', 'struct P { int n; };\n__global__ void k(const __grid_constant__ P p, int* o) { o[0] = p.n; }'],
])('%s parses without an error', (_, source) => {
  expect(errors(source)).toEqual([]);
});

test('a syntax error is one', () => {
  expect(errors('__global__ void k( { }')).not.toEqual([]);
});
