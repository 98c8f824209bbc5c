/** CUDA C++ names that completion offers and hovering explains, after NVIDIA's programming guide and math API manual. */

export type NameKind = 'variable' | 'function' | 'keyword' | 'type' | 'constant';

export interface CudaName {
  kind: NameKind;
  signature: string;
  text: string;
  /** First architecture that has it, where that is newer than every supported one's base, sm_75. */
  since?: string;
}

type Row = [name: string, signature: string, text: string, since?: string];

const keywords: Row[] = [
  ['__global__', '__global__ void kernel(…)', 'A kernel: launched over a grid of threads, returns void.'],
  ['__device__', '__device__ T f(…)', 'A function that device code calls, or a variable that lives in device memory.'],
  ['__host__', '__host__ T f(…)', 'A function for the CPU; together with __device__ it is compiled for both.'],
  ['__shared__', '__shared__ T name[n]', 'One copy a block, on chip, shared by the block’s threads. Not initialised. With extern and [] its size is the launch’s dynamic shared memory.'],
  ['__constant__', '__constant__ T name', 'Read-only for kernels, 64 KiB in all, cached; fastest where a warp reads one address.'],
  ['__managed__', '__managed__ T name', 'A variable that host and device both reach; pages move on demand.'],
  ['__grid_constant__', 'const __grid_constant__ T p', 'A kernel parameter that is never copied: its address may be taken and it stays read-only.'],
  ['__restrict__', 'T* __restrict__ p', 'Promises that nothing else points to the same memory, so loads may be reordered and cached.'],
  ['__forceinline__', '__forceinline__ T f(…)', 'Inlines the function at every call.'],
  ['__noinline__', '__noinline__ T f(…)', 'Never inlines the function.'],
  ['__launch_bounds__', '__launch_bounds__(maxThreads, minBlocksPerSM, maxBlocksPerCluster)', 'Promises the largest block that will be launched, so that the compiler can share out registers.'],
  ['__maxnreg__', '__maxnreg__(registers)', 'Largest number of registers a thread of this kernel may take. Not together with __launch_bounds__.'],
  ['__cluster_dims__', '__cluster_dims__(x, y, z)', 'Blocks of a cluster in each dimension, fixed at compile time.', 'sm_90'],
  ['__align__', '__align__(bytes)', 'Least alignment of a type or variable; aligned structs are loaded in one access.'],
];

const variables: Row[] = [
  ['threadIdx', 'const uint3 threadIdx', 'Index of this thread in its block. x runs fastest: 32 threads in a row along x make a warp.'],
  ['blockIdx', 'const uint3 blockIdx', 'Index of this block in the grid.'],
  ['blockDim', 'const dim3 blockDim', 'Threads of a block in each dimension; at most 1,024 in all.'],
  ['gridDim', 'const dim3 gridDim', 'Blocks of the grid in each dimension.'],
  ['warpSize', 'const int warpSize', 'Threads of a warp: 32.'],
];

const types: Row[] = [
  ['dim3', 'struct dim3 { unsigned x, y, z; }', 'Extents of a grid or block; what is left out is 1.'],
  ['float2', 'struct float2 { float x, y; }', 'Two floats, aligned to 8 bytes and loaded in one access.'],
  ['float3', 'struct float3 { float x, y, z; }', 'Three floats, aligned to 4 bytes.'],
  ['float4', 'struct float4 { float x, y, z, w; }', 'Four floats, aligned to 16 bytes: the widest single access of a thread.'],
  ['double2', 'struct double2 { double x, y; }', 'Two doubles, aligned to 16 bytes.'],
  ['int2', 'struct int2 { int x, y; }', 'Two ints, aligned to 8 bytes.'],
  ['int4', 'struct int4 { int x, y, z, w; }', 'Four ints, aligned to 16 bytes.'],
  ['uint2', 'struct uint2 { unsigned x, y; }', 'Two unsigned ints, aligned to 8 bytes.'],
  ['uint3', 'struct uint3 { unsigned x, y, z; }', 'Three unsigned ints; the type of threadIdx and blockIdx.'],
  ['uint4', 'struct uint4 { unsigned x, y, z, w; }', 'Four unsigned ints, aligned to 16 bytes.'],
  ['uchar4', 'struct uchar4 { unsigned char x, y, z, w; }', 'Four bytes, aligned to 4: an RGBA pixel.'],
  ['__half', 'struct __half', 'IEEE half precision: 11 bits of precision, largest finite 65,504. From cuda_fp16.h.'],
  ['__half2', 'struct __half2 { __half x, y; }', 'Two halves in one register; arithmetic works on both at once. From cuda_fp16.h.'],
  ['__nv_bfloat16', 'struct __nv_bfloat16', 'A float cut to 16 bits: its exponent, 8 bits of precision. From cuda_bf16.h.'],
  ['__nv_bfloat162', 'struct __nv_bfloat162', 'Two bfloat16 in one register. From cuda_bf16.h.'],
];

const makers: Row[] = [
  ['make_float2', 'float2 make_float2(float x, float y)', 'A float2 of its components.'],
  ['make_float3', 'float3 make_float3(float x, float y, float z)', 'A float3 of its components.'],
  ['make_float4', 'float4 make_float4(float x, float y, float z, float w)', 'A float4 of its components.'],
  ['make_int2', 'int2 make_int2(int x, int y)', 'An int2 of its components.'],
  ['make_int4', 'int4 make_int4(int x, int y, int z, int w)', 'An int4 of its components.'],
  ['make_uchar4', 'uchar4 make_uchar4(unsigned char x, y, z, w)', 'A uchar4 of its components.'],
];

const barriers: Row[] = [
  ['__syncthreads', 'void __syncthreads()', 'Barrier of the block, and a fence for shared and global memory among its threads. Every thread that has not exited must reach it.'],
  ['__syncthreads_count', 'int __syncthreads_count(int predicate)', 'Barrier that returns how many threads gave a non-zero predicate.'],
  ['__syncthreads_and', 'int __syncthreads_and(int predicate)', 'Barrier that returns non-zero where every thread gave a non-zero predicate.'],
  ['__syncthreads_or', 'int __syncthreads_or(int predicate)', 'Barrier that returns non-zero where any thread gave a non-zero predicate.'],
  ['__syncwarp', 'void __syncwarp(unsigned mask = 0xffffffff)', 'Waits until all lanes named in mask have arrived, and orders their memory accesses.'],
  ['__threadfence', 'void __threadfence()', 'Writes before it are seen by the whole device before writes after it. Not a barrier.'],
  ['__threadfence_block', 'void __threadfence_block()', 'As __threadfence, for the threads of the block.'],
  ['__threadfence_system', 'void __threadfence_system()', 'As __threadfence, for host and other devices too.'],
];

const warps: Row[] = [
  ['__shfl_sync', 'T __shfl_sync(unsigned mask, T value, int lane, int width = 32)', 'The value of another lane. Every lane named in mask must call it.'],
  ['__shfl_up_sync', 'T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32)', 'The value of the lane delta below; the lowest lanes keep their own. The step of a prefix sum.'],
  ['__shfl_down_sync', 'T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32)', 'The value of the lane delta above; the highest lanes keep their own. The step of a reduction.'],
  ['__shfl_xor_sync', 'T __shfl_xor_sync(unsigned mask, T value, int laneMask, int width = 32)', 'The value of the lane whose number is this one’s XOR laneMask: a butterfly, after which all lanes hold the sum.'],
  ['__ballot_sync', 'unsigned __ballot_sync(unsigned mask, int predicate)', 'One bit a lane: set where the lane’s predicate is not zero.'],
  ['__all_sync', 'int __all_sync(unsigned mask, int predicate)', 'Non-zero where the predicate holds in every lane of mask.'],
  ['__any_sync', 'int __any_sync(unsigned mask, int predicate)', 'Non-zero where the predicate holds in some lane of mask.'],
  ['__activemask', 'unsigned __activemask()', 'Lanes that run this instruction together right now. No promise about who should: don’t use it as the mask of a warp function.'],
  ['__match_any_sync', 'unsigned __match_any_sync(unsigned mask, T value)', 'Lanes of mask that hold the same value as this one.'],
  ['__match_all_sync', 'unsigned __match_all_sync(unsigned mask, T value, int* all)', 'mask where all its lanes hold one value, else 0.'],
  ['__reduce_add_sync', 'T __reduce_add_sync(unsigned mask, T value)', 'Sum of a 32-bit integer over the lanes of mask, in one instruction.', 'sm_80'],
  ['__reduce_min_sync', 'T __reduce_min_sync(unsigned mask, T value)', 'Smallest 32-bit integer of the lanes of mask.', 'sm_80'],
  ['__reduce_max_sync', 'T __reduce_max_sync(unsigned mask, T value)', 'Largest 32-bit integer of the lanes of mask.', 'sm_80'],
  ['__reduce_and_sync', 'unsigned __reduce_and_sync(unsigned mask, unsigned value)', 'Bitwise AND over the lanes of mask.', 'sm_80'],
  ['__reduce_or_sync', 'unsigned __reduce_or_sync(unsigned mask, unsigned value)', 'Bitwise OR over the lanes of mask.', 'sm_80'],
  ['__reduce_xor_sync', 'unsigned __reduce_xor_sync(unsigned mask, unsigned value)', 'Bitwise XOR over the lanes of mask.', 'sm_80'],
];

const atomics: Row[] = [
  ['atomicAdd', 'T atomicAdd(T* address, T value)', 'Adds in one indivisible step; returns the old value. Float sums depend on the order.'],
  ['atomicSub', 'T atomicSub(T* address, T value)', 'Subtracts in one indivisible step; returns the old value.'],
  ['atomicExch', 'T atomicExch(T* address, T value)', 'Stores a value; returns the old one.'],
  ['atomicMin', 'T atomicMin(T* address, T value)', 'Keeps the smaller; returns the old value.'],
  ['atomicMax', 'T atomicMax(T* address, T value)', 'Keeps the larger; returns the old value.'],
  ['atomicInc', 'unsigned atomicInc(unsigned* address, unsigned limit)', 'Counts up and wraps to 0 after limit; returns the old value.'],
  ['atomicDec', 'unsigned atomicDec(unsigned* address, unsigned limit)', 'Counts down and wraps to limit after 0; returns the old value.'],
  ['atomicCAS', 'T atomicCAS(T* address, T expected, T value)', 'Stores value where *address is expected; returns the old value. Every other atomic can be built from it.'],
  ['atomicAnd', 'T atomicAnd(T* address, T value)', 'Bitwise AND in one indivisible step; returns the old value.'],
  ['atomicOr', 'T atomicOr(T* address, T value)', 'Bitwise OR in one indivisible step; returns the old value.'],
  ['atomicXor', 'T atomicXor(T* address, T value)', 'Bitwise XOR in one indivisible step; returns the old value.'],
  ['atomicAdd_block', 'T atomicAdd_block(T* address, T value)', 'As atomicAdd, but atomic only among the threads of the block.'],
  ['atomicAdd_system', 'T atomicAdd_system(T* address, T value)', 'As atomicAdd, atomic for host and other devices too.'],
];

const memory: Row[] = [
  ['__ldg', 'T __ldg(const T* address)', 'Loads through the read-only cache. The data must not change while the kernel runs.'],
  ['__ldcg', 'T __ldcg(const T* address)', 'Loads and caches in L2 only.'],
  ['__ldcs', 'T __ldcs(const T* address)', 'Loads data that is used once: first to be evicted.'],
  ['__stcg', 'void __stcg(T* address, T value)', 'Stores and caches in L2 only.'],
  ['__stcs', 'void __stcs(T* address, T value)', 'Stores data that is not read again soon.'],
  ['__cvta_generic_to_shared', 'size_t __cvta_generic_to_shared(const void* p)', 'The shared-memory address of a pointer, as inline PTX needs it.'],
  ['__isShared', 'int __isShared(const void* p)', 'Whether a pointer leads into shared memory.'],
  ['__isGlobal', 'int __isGlobal(const void* p)', 'Whether a pointer leads into global memory.'],
  ['__pipeline_memcpy_async', 'void __pipeline_memcpy_async(void* shared, const void* global, size_t size)', 'Copies 4, 8 or 16 bytes from global to shared memory without registers. From cuda_pipeline.h.', 'sm_80'],
];

const floats: Row[] = [
  ['fmaf', 'float fmaf(float x, float y, float z)', 'x·y + z, rounded once: one instruction.'],
  ['sqrtf', 'float sqrtf(float x)', 'Square root, correctly rounded unless fast math is on.'],
  ['rsqrtf', 'float rsqrtf(float x)', '1 / √x, at most 2 ulp off.'],
  ['cbrtf', 'float cbrtf(float x)', 'Cube root.'],
  ['hypotf', 'float hypotf(float x, float y)', '√(x² + y²) without overflow on the way.'],
  ['expf', 'float expf(float x)', 'e to the x, at most 1 ulp off; with fast math __expf.'],
  ['exp2f', 'float exp2f(float x)', '2 to the x.'],
  ['expm1f', 'float expm1f(float x)', 'eˣ − 1, exact near 0.'],
  ['logf', 'float logf(float x)', 'Natural logarithm, at most 1 ulp off; with fast math __logf.'],
  ['log2f', 'float log2f(float x)', 'Base-2 logarithm.'],
  ['log10f', 'float log10f(float x)', 'Base-10 logarithm.'],
  ['log1pf', 'float log1pf(float x)', 'log(1 + x), exact near 0.'],
  ['powf', 'float powf(float x, float y)', 'x to the y. For squares and cubes multiply instead.'],
  ['sinf', 'float sinf(float x)', 'Sine of radians; with fast math __sinf.'],
  ['cosf', 'float cosf(float x)', 'Cosine of radians; with fast math __cosf.'],
  ['tanf', 'float tanf(float x)', 'Tangent of radians.'],
  ['sincosf', 'void sincosf(float x, float* sine, float* cosine)', 'Sine and cosine together.'],
  ['sinpif', 'float sinpif(float x)', 'sin(πx), exact at multiples of ½.'],
  ['atan2f', 'float atan2f(float y, float x)', 'Angle of (x, y) from −π to π.'],
  ['tanhf', 'float tanhf(float x)', 'Hyperbolic tangent.'],
  ['erff', 'float erff(float x)', 'Error function.'],
  ['fabsf', 'float fabsf(float x)', 'Absolute value.'],
  ['fminf', 'float fminf(float x, float y)', 'The smaller; of a number and NaN, the number.'],
  ['fmaxf', 'float fmaxf(float x, float y)', 'The larger; of a number and NaN, the number.'],
  ['floorf', 'float floorf(float x)', 'Largest whole number not above x.'],
  ['ceilf', 'float ceilf(float x)', 'Smallest whole number not below x.'],
  ['roundf', 'float roundf(float x)', 'Nearest whole number, halves away from zero. rintf is faster.'],
  ['rintf', 'float rintf(float x)', 'Nearest whole number, halves to even: one instruction.'],
  ['truncf', 'float truncf(float x)', 'Whole part, towards zero.'],
  ['fmodf', 'float fmodf(float x, float y)', 'Remainder of x / y with the sign of x.'],
  ['__saturatef', 'float __saturatef(float x)', 'x clamped to [0, 1].'],
];

const fast: Row[] = [
  ['__expf', 'float __expf(float x)', 'Fast e to the x, from the special function unit.'],
  ['__logf', 'float __logf(float x)', 'Fast natural logarithm.'],
  ['__sinf', 'float __sinf(float x)', 'Fast sine; its error grows away from [−π, π].'],
  ['__cosf', 'float __cosf(float x)', 'Fast cosine; its error grows away from [−π, π].'],
  ['__powf', 'float __powf(float x, float y)', 'Fast power: exp2(y · log2 x).'],
  ['__fdividef', 'float __fdividef(float x, float y)', 'Fast division; 0 where y is above 2¹²⁶.'],
  ['__frcp_rn', 'float __frcp_rn(float x)', '1 / x, rounded to nearest even.'],
  ['__fmaf_rn', 'float __fmaf_rn(float x, float y, float z)', 'x·y + z, rounded to nearest; never split.'],
  ['__fadd_rn', 'float __fadd_rn(float x, float y)', 'x + y that is never merged into a multiply-add.'],
  ['__fmul_rn', 'float __fmul_rn(float x, float y)', 'x · y that is never merged into a multiply-add.'],
];

const integers: Row[] = [
  ['__popc', 'int __popc(unsigned x)', 'Number of set bits.'],
  ['__popcll', 'int __popcll(unsigned long long x)', 'Number of set bits of 64.'],
  ['__clz', 'int __clz(int x)', 'Leading zero bits; 32 for 0.'],
  ['__ffs', 'int __ffs(int x)', 'Position of the lowest set bit, from 1; 0 for 0.'],
  ['__brev', 'unsigned __brev(unsigned x)', 'Bits in reverse order.'],
  ['__byte_perm', 'unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)', 'Picks four bytes out of eight.'],
  ['__funnelshift_l', 'unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)', 'Upper word of high:low shifted left: a rotation where both are the same.'],
  ['__funnelshift_r', 'unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)', 'Lower word of high:low shifted right.'],
  ['__mulhi', 'int __mulhi(int x, int y)', 'Upper 32 bits of the product.'],
  ['__umulhi', 'unsigned __umulhi(unsigned x, unsigned y)', 'Upper 32 bits of the unsigned product.'],
  ['__dp4a', 'int __dp4a(int a, int b, int c)', 'Four byte products, summed and added to c.'],
];

const conversions: Row[] = [
  ['__float2half', '__half __float2half(float x)', 'To half precision, rounded to nearest even. From cuda_fp16.h.'],
  ['__half2float', 'float __half2float(__half x)', 'To float, exact. From cuda_fp16.h.'],
  ['__float2bfloat16', '__nv_bfloat16 __float2bfloat16(float x)', 'To bfloat16, rounded to nearest even. From cuda_bf16.h.'],
  ['__bfloat162float', 'float __bfloat162float(__nv_bfloat16 x)', 'To float, exact. From cuda_bf16.h.'],
  ['__hfma2', '__half2 __hfma2(__half2 a, __half2 b, __half2 c)', 'Two half-precision multiply-adds at once. From cuda_fp16.h.'],
  ['__float_as_int', 'int __float_as_int(float x)', 'The bits of a float.'],
  ['__int_as_float', 'float __int_as_float(int x)', 'A float of its bits.'],
  ['__float2int_rn', 'int __float2int_rn(float x)', 'To int, rounded to nearest even.'],
  ['__float2int_rd', 'int __float2int_rd(float x)', 'To int, rounded down.'],
];

const running: Row[] = [
  ['printf', 'int printf(const char* format, …)', 'Prints from a thread. The console shows it when the buffer is read.'],
  ['assert', 'void assert(int condition)', 'Ends the run where the condition is 0, naming file, line, block and thread.'],
  ['__trap', 'void __trap()', 'Ends the run with an error.'],
  ['__nanosleep', 'void __nanosleep(unsigned nanoseconds)', 'Suspends the thread for about that long, at most 1 ms.'],
  ['clock', 'clock_t clock()', 'A counter of the SM that counts up every cycle.'],
  ['clock64', 'long long clock64()', 'A 64-bit counter of the SM that counts up every cycle.'],
  ['__builtin_assume', 'void __builtin_assume(bool condition)', 'Lets the compiler take the condition for true.'],
];

const GROUPS: [NameKind, Row[]][] = [
  ['keyword', keywords],
  ['variable', variables],
  ['type', types],
  ...[makers, barriers, warps, atomics, memory, floats, fast, integers, conversions, running].map(
    (rows): [NameKind, Row[]] => ['function', rows],
  ),
];

export const NAMES: ReadonlyMap<string, CudaName> = new Map(
  GROUPS.flatMap(([kind, rows]) =>
    rows.map(([name, signature, text, since]): [string, CudaName] => [name, { kind, signature, text, ...(since ? { since } : {}) }]),
  ),
);
