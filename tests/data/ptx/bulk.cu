// Mbarriers and bulk copies as cuda::ptx and inline PTX write them.
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace ptx = cuda::ptx;
using u32 = unsigned;
using u64 = unsigned long long;
static __device__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// Two stages, filled by one thread ahead of the block.
extern "C" __global__ void staged(int* out, const int* in, int tiles) {
    __shared__ alignas(16) int buffer[2][128];
    __shared__ u64 full[2];
    int t = threadIdx.x, sum = 0;
    if (t == 0) {
        for (int s = 0; s < 2; ++s) ptx::mbarrier_init(&full[s], 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    auto fill = [&](int tile) {
        int s = tile & 1;
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 512);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, buffer[s], in + 128 * tile, 512, &full[s]);
    };
    if (t == 0) for (int k = 0; k < 2 && k < tiles; ++k) fill(k);
    for (int k = 0; k < tiles; ++k) {
        while (!ptx::mbarrier_try_wait_parity(&full[k & 1], (k >> 1) & 1)) {}
        sum += buffer[k & 1][(t * 5 + k) % 128];
        __syncthreads();
        if (t == 0 && k + 2 < tiles) fill(k + 2);
    }
    out[t] = sum;
}

// A producer warp and consumer warps, full and empty barriers.
extern "C" __global__ void specialised(int* out, const int* in, int tiles) {
    __shared__ alignas(16) int buffer[2][128];
    __shared__ u64 full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0)
        for (int s = 0; s < 2; ++s) { ptx::mbarrier_init(&full[s], 1); ptx::mbarrier_init(&empty[s], 64); }
    __syncthreads();
    if (t >= 64) {
        if (t == 64)
            for (int k = 0; k < tiles; ++k) {
                int s = k & 1;
                while (!ptx::mbarrier_try_wait_parity(&empty[s], ((k >> 1) & 1) ^ 1, 1000)) {}
                ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, buffer[s], in + 128 * k, 512, &full[s]);
                ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s], 512);
            }
    } else {
        int sum = 0;
        for (int k = 0; k < tiles; ++k) {
            int s = k & 1;
            while (!ptx::mbarrier_test_wait_parity(&full[s], (k >> 1) & 1)) __nanosleep(20);
            sum += buffer[s][t] * 2 + buffer[s][t + 64];
            ptx::mbarrier_arrive(&empty[s]);
        }
        out[t] = sum;
    }
}

extern "C" __global__ void stored(int* out, const int* in) {
    __shared__ alignas(128) int buffer[256];
    int t = threadIdx.x;
    buffer[t] = in[blockIdx.x * 256 + t] * 3;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * 256, buffer, 512);
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * 256 + 128, buffer + 128, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
    }
}

// Every lane copies a stretch of its own length.
extern "C" __global__ void ragged(int* out, const int* in) {
    __shared__ alignas(16) int buffer[32 * 32];
    __shared__ u64 bar;
    int t = threadIdx.x;
    for (int k = t; k < 1024; k += 32) buffer[k] = -1;
    if (t == 0) ptx::mbarrier_init(&bar, 32);
    __syncwarp();
    u32 size = (t % 8) * 16;
    u64 token = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, size);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, buffer + 32 * t, in + 4 * t, size, &bar);
    while (!ptx::mbarrier_try_wait(&bar, token)) {}
    for (int k = t; k < 1024; k += 32) out[k] = buffer[k];
    __syncwarp();
    if (t == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&bar)));
}

// From shared to shared memory of the block itself.
extern "C" __global__ void within(int* out, const int* in) {
    __shared__ alignas(16) int a[128], b[128];
    __shared__ u64 bar;
    int t = threadIdx.x;
    a[t] = in[t];
    if (t == 0) { ptx::mbarrier_init(&bar, 1); }
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, b + 32, a, 256, &bar);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 256);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    out[t] = t >= 32 && t < 96 ? b[t] : 0;
}

// Adds, and so on, of shared memory to global memory; the blocks' order does not matter.
template <class T, class Op> __device__ void reduce(T* out, const T* in, Op op) {
    __shared__ alignas(16) T buffer[64];
    buffer[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, op, out, buffer, sizeof(buffer));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
    }
}
#define REDUCE(NAME, TYPE, OP) extern "C" __global__ void reduce_##NAME(TYPE* out, const TYPE* in) { reduce(out, in, ptx::OP); }
REDUCE(add_u32, u32, op_add)
REDUCE(add_s32, int, op_add)
REDUCE(add_u64, cuda::std::uint64_t, op_add)
REDUCE(add_f32, float, op_add)
REDUCE(add_f64, double, op_add)
REDUCE(add_f16, __half, op_add)
REDUCE(add_bf16, __nv_bfloat16, op_add)
REDUCE(min_u32, u32, op_min)
REDUCE(max_s32, int, op_max)
REDUCE(min_s64, cuda::std::int64_t, op_min)
REDUCE(max_u64, cuda::std::uint64_t, op_max)
REDUCE(min_f16, __half, op_min)
REDUCE(max_bf16, __nv_bfloat16, op_max)
REDUCE(and_b32, u32, op_and_op)
REDUCE(or_b64, cuda::std::uint64_t, op_or_op)
REDUCE(xor_b32, u32, op_xor_op)
REDUCE(inc_u32, u32, op_inc)
REDUCE(dec_u32, u32, op_dec)

// One thread looks at every count. out: pending counts and phases.
extern "C" __global__ void counts(u32* out) {
    __shared__ u64 m;
    u32 a = shared_address(&m), n = 0;
    u64 s, first;
    u32 c, p;
#define PENDING asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(c) : "l"(s)); out[n++] = c;
#define TEST(state) asm volatile("{.reg .pred q; mbarrier.test_wait.shared::cta.b64 q, [%1], %2; selp.u32 %0,1,0,q;}" : "=r"(p) : "r"(a), "l"(state) : "memory"); out[n++] = p;
#define PARITY(parity) asm volatile("{.reg .pred q; mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 q, [%1], %2; selp.u32 %0,1,0,q;}" : "=r"(p) : "r"(a), "r"(parity) : "memory"); out[n++] = p;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 5;" ::"r"(a) : "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(s) : "r"(a) : "memory"); first = s; PENDING TEST(first) PARITY(0) PARITY(1)
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 2;" : "=l"(s) : "r"(a) : "memory"); PENDING
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 48;" ::"r"(a) : "memory");
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], 2;" : "=l"(s) : "r"(a) : "memory"); PENDING TEST(first) TEST(s)
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 32;" ::"r"(a) : "memory"); TEST(first)
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 16;" ::"r"(a) : "memory"); TEST(first) TEST(s) PARITY(0) PARITY(1)
    // the next phase: two of the five leave for good
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], 2;" : "=l"(s) : "r"(a) : "memory"); PENDING TEST(s)
    asm volatile("mbarrier.arrive_drop.noComplete.shared::cta.b64 %0, [%1], 1;" : "=l"(s) : "r"(a) : "memory"); PENDING
    asm volatile("mbarrier.arrive_drop.expect_tx.shared::cta.b64 %0, [%1], 16;" : "=l"(s) : "r"(a) : "memory"); PENDING
    asm volatile("mbarrier.complete_tx.shared::cta.b64 [%0], 16;" ::"r"(a) : "memory"); TEST(s) PARITY(1)
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(s) : "r"(a) : "memory"); PENDING TEST(s) PARITY(1)
    // bytes before they are expected
    asm volatile("mbarrier.complete_tx.shared::cta.b64 [%0], 64;" ::"r"(a) : "memory"); TEST(s)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], 64;" : "=l"(s) : "r"(a) : "memory"); PENDING TEST(s) PARITY(0) PARITY(1)
    // through a generic address
    asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(s) : "l"(&m) : "memory"); PENDING
    asm volatile("{.reg .pred q; mbarrier.try_wait.b64 q, [%1], %2; selp.u32 %0,1,0,q;}" : "=r"(p) : "l"(&m), "l"(s) : "memory"); out[n++] = p;
    out[n++] = 0xC0DE;
}

// Arrivals by finished copies: with .noinc the copies' arrivals are expected, else they add nothing.
extern "C" __global__ void tracked(int* out, const int* in) {
    __shared__ alignas(16) int buffer[128];
    __shared__ u64 bar;
    int t = threadIdx.x;
    u32 a = shared_address(&bar), d = shared_address(buffer + 2 * t);
    if (t == 0) ptx::mbarrier_init(&bar, 128);
    __syncthreads();
    asm volatile("cp.async.ca.shared::cta.global [%0], [%1], 8;" ::"r"(d), "l"(in + 2 * t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(a) : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(a) : "memory");
    u64 token = ptx::mbarrier_arrive(&bar);
    while (!ptx::mbarrier_try_wait(&bar, token)) {}
    out[t] = buffer[t] + buffer[127 - t];
}

// Source sizes, and copies that a predicate turns into zeros: neither reads beyond what it copies.
extern "C" __global__ void filled(int* out, const int* in, int count) {
    __shared__ alignas(16) int buffer[4 * 64];
    int t = threadIdx.x;
    u32 d = shared_address(buffer + 4 * t);
    int left = (count - 4 * t) * 4;
    u32 bytes = left < 0 ? 0 : left > 16 ? 16 : left;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(d), "l"(in + 4 * t), "r"(bytes) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < 4; ++k) out[4 * t + k] = buffer[4 * t + k];
    __syncthreads();
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p;}" ::"r"(d), "l"(in + 4 * t), "r"(u32(4 * t >= count)) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[256 + t] = buffer[4 * t];
}

extern "C" __global__ void __cluster_dims__(2) exchanged(int* out, const int* in) {
    __shared__ alignas(16) int buffer[64];
    __shared__ alignas(16) int mine[64];
    __shared__ u64 bar;
    int t = threadIdx.x, rank, other;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    other = rank ^ 1;
    mine[t] = in[64 * rank + t];
    u32 a = shared_address(&bar), far_bar, far_buffer;
    if (t == 0) {
        ptx::mbarrier_init(&bar, 64);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::barrier_cluster_arrive(); ptx::barrier_cluster_wait();
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far_bar) : "r"(a), "r"(other));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far_buffer) : "r"(shared_address(buffer)), "r"(other));
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(far_buffer), "r"(shared_address(mine)), "r"(far_bar) : "memory");
    if (t >= 32)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(far_buffer + 4 * t), "r"(mine[t] + 1), "r"(far_bar) : "memory");
    if (t == 0) asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 256;" ::"r"(a) : "memory");
    __syncthreads();
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(far_bar) : "memory");
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
    out[64 * rank + t] = buffer[t];
    ptx::barrier_cluster_arrive(); ptx::barrier_cluster_wait();
}

// Each block of four gives its quarter to all.
extern "C" __global__ void __cluster_dims__(4) multicast(int* out, const int* in) {
    __shared__ alignas(16) int buffer[128];
    __shared__ u64 bar;
    int t = threadIdx.x, rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 384);
    }
    buffer[t] = -1;
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::barrier_cluster_arrive(); ptx::barrier_cluster_wait();
    if (t == 0 && rank != 2)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 128, [%2], %3;" ::"r"(shared_address(buffer + 32 * rank)), "l"(in + 32 * rank), "r"(shared_address(&bar)), "h"((short)0xF) : "memory");
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    out[128 * rank + t] = buffer[t];
    ptx::barrier_cluster_arrive(); ptx::barrier_cluster_wait();
}
