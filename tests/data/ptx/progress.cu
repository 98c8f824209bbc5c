// Threads that wait for each other, barriers of part of a block, and unusual control flow. Every kernel has the
// parameters (out, in); test_progress.py says what it must compute.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/std/__new_>
namespace cg = cooperative_groups;
#define KERNEL(NAME) extern "C" __global__ void NAME(int* out, const int* in)
#define T threadIdx.x

// Locks between the lanes of a warp.
KERNEL(lock_spin) {
    __shared__ int lock; __shared__ volatile int count;
    if (T == 0) { lock = 0; count = 0; }
    __syncthreads();
    while (atomicCAS(&lock, 0, 1) != 0) {}
    int seen = count; count = seen + 1; __threadfence_block();
    atomicExch(&lock, 0);
    __syncthreads();
    out[T] = count;
}
KERNEL(lock_flag) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&out[0], 0, 1) == 0) {
            volatile int* p = out + 1; *p = *p + in[T]; __threadfence();
            atomicExch(&out[0], 0); done = true;
        }
    }
}
KERNEL(lock_goto) {
    __shared__ int lock; __shared__ int sum;
    if (T == 0) lock = sum = 0;
    __syncthreads();
again:
    if (atomicExch(&lock, 1)) goto again;
    *(volatile int*)&sum = *(volatile int*)&sum * 3 + 1;
    __threadfence_block();
    *(volatile int*)&lock = 0;
    __syncthreads();
    out[T] = sum;
}
KERNEL(lock_ticket) {
    __shared__ int next; __shared__ volatile int serving, sum;
    if (T == 0) { next = 0; serving = 0; sum = 0; }
    __syncthreads();
    int mine = atomicAdd(&next, 1);
    while (serving != mine) {}
    sum = sum * 2 + mine; __threadfence_block(); serving = mine + 1;
    __syncthreads();
    out[T] = sum;
}
KERNEL(lock_buckets) {
    __shared__ int locks[4]; __shared__ volatile int heads[4]; __shared__ int nexts[96];
    if (T < 4) { locks[T] = 0; heads[T] = -1; }
    __syncthreads();
    int b = in[T] & 3;
    for (bool done = false; !done;) {
        if (atomicExch(&locks[b], 1) == 0) {
            nexts[T] = heads[b]; heads[b] = T; __threadfence_block(); done = true; atomicExch(&locks[b], 0);
        }
    }
    __syncthreads();
    if (T < 4) { int n = 0, s = 0; for (int i = heads[T]; i >= 0; i = nexts[i]) { ++n; s += in[i]; } out[T] = n; out[4 + T] = s; }
}
KERNEL(lock_backoff) {
    __shared__ int lock, count;
    if (T == 0) lock = count = 0;
    __syncthreads();
    unsigned wait = 8;
    while (atomicCAS(&lock, 0, 1)) { __nanosleep(wait); if (wait < 256) wait *= 2; }
    count += in[T]; __threadfence_block(); atomicExch(&lock, 0);
    __syncthreads();
    out[T] = count;
}
KERNEL(lock_acquire) {
    __shared__ int lock, count;
    if (T == 0) lock = count = 0;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> l(lock);
    int want = 0;
    while (!l.compare_exchange_weak(want, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed)) want = 0;
    count = count + 2; l.store(0, cuda::memory_order_release);
    __syncthreads();
    out[T] = count;
}
KERNEL(stack_push) {
    __shared__ int head, nexts[64];
    if (T == 0) head = -1;
    __syncthreads();
    int old = *(volatile int*)&head, seen;
    do { seen = old; nexts[T] = seen; __threadfence_block(); old = atomicCAS(&head, seen, (int)T); } while (old != seen);
    __syncthreads();
    if (T == 0) { int n = 0, s = 0; for (int i = head; i >= 0; i = nexts[i]) { ++n; s += i; } out[0] = n; out[1] = s; }
}
// Lanes that hand something over.
KERNEL(pairs) {
    __shared__ volatile int box[16], full[16];
    if (T < 16) full[T] = 0;
    __syncwarp();
    int k = T >> 1;
    if (T & 1) { while (!full[k]) {} __threadfence_block(); out[k] = box[k]; }
    else { box[k] = in[k] * 7; __threadfence_block(); full[k] = 1; }
}
KERNEL(chain_down) {
    __shared__ volatile int value[33];
    value[T] = -1; if (T == 0) value[32] = 5;
    __syncwarp();
    int v; while ((v = value[T + 1]) < 0) {}
    value[T] = v + in[T]; out[T] = v;
}
KERNEL(chain_up) {
    __shared__ cuda::atomic<int, cuda::thread_scope_block> value[33];
    value[T].store(-1, cuda::memory_order_relaxed); if (T == 31) value[32].store(-1, cuda::memory_order_relaxed);
    __syncwarp();
    if (T == 0) value[0].store(3, cuda::memory_order_release);
    int v; while ((v = value[T].load(cuda::memory_order_acquire)) < 0) {}
    value[T + 1].store(v + in[T], cuda::memory_order_release); out[T] = v;
}
KERNEL(ping_pong) {
    __shared__ volatile int ball;
    if (T == 0) ball = 0;
    __syncwarp();
    if (T < 2) for (int k = 0; k < 50; ++k) { while ((ball & 1) != T) {} ball = ball + 1; }
    __syncwarp();
    out[T] = ball;
}
KERNEL(warps_in_turn) {
    __shared__ volatile int turn;
    if (T == 0) turn = 0;
    __syncthreads();
    int w = T / 32;
    for (int k = 0; k < 5; ++k) {
        if (T % 32 == 0) { while (turn != k * 4 + w) {} out[k * 4 + w] = w + 10 * k; __threadfence_block(); turn = turn + 1; }
        __syncwarp();
    }
}
KERNEL(waits_for_counters) {
    __shared__ volatile int counter[32];
    counter[T] = 0; __syncwarp();
    if (T == 7) { int s; do { s = 0; for (int k = 0; k < 32; ++k) if (k != 7) s += counter[k]; } while (s < 31 * 300); out[7] = s; }
    else { for (int k = 0; k < 300; ++k) counter[T] = counter[T] + 1; out[T] = T; }
}
KERNEL(last_lane_first) {
    __shared__ volatile int stage; if (T == 0) stage = 31; __syncwarp();
    for (;;) { if (stage == (int)T) { out[T] = 31 - T; stage = T - 1; break; } }
}
KERNEL(fenced_message) {
    __shared__ int data[64]; __shared__ int ready;
    if (T == 0) ready = 0; __syncthreads();
    if (T < 32) { data[T] = in[T]; data[T + 32] = in[T] * 2; __threadfence_block(); __syncwarp(); if (T == 0) atomicExch(&ready, 1); }
    else { while (atomicAdd(&ready, 0) == 0) {} __threadfence_block(); out[T - 32] = data[T - 32] + data[T]; }
}
// Barriers of a warp.
KERNEL(syncwarp_halves) {
    __shared__ int s[32];
    if (T < 16) { s[T] = in[T]; __syncwarp(0xFFFF); out[T] = s[15 - T]; }
    else { s[T] = in[T] + 1; __syncwarp(0xFFFF0000); out[T] = s[47 - T]; }
}
KERNEL(syncwarp_apart) {
    __shared__ int s[32];
    if (T < 16) { s[T] = in[T]; __syncwarp(); out[T] = s[T + 16]; __syncwarp(); }
    else { s[T] = in[T] * 3; __syncwarp(); out[T] = s[T - 16]; __syncwarp(); }
}
KERNEL(syncwarp_three) {
    __shared__ int s[32];
    int r = 0;
    for (int k = 0; k < 4; ++k) {
        s[T] = in[T] + k;
        switch (T % 3) {
            case 0: __syncwarp(); r += s[(T + 1) % 32]; __syncwarp(); break;
            case 1: __syncwarp(); r += 2 * s[(T + 2) % 32]; __syncwarp(); break;
            default: __syncwarp(); r += 3 * s[(T + 3) % 32]; __syncwarp();
        }
    }
    out[T] = r;
}
KERNEL(syncwarp_after_exit) {
    __shared__ int s[32];
    s[T] = in[T];
    if (T % 5 == 0) return;
    __syncwarp();
    out[T] = s[31 - T];
}
// Barriers of a block.
KERNEL(barrier_ring) {
    __shared__ int buffer[2][32];
    int w = T / 32, l = T % 32;
    if (w == 0) for (int k = 0; k < 6; ++k) {
        int b = k & 1;
        if (k >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + b) : "memory");
        buffer[b][l] = in[l] + k;
        __threadfence_block();
        asm volatile("bar.arrive %0, 64;" ::"r"(1 + b) : "memory");
    } else {
        int s = 0;
        for (int k = 0; k < 6; ++k) {
            int b = k & 1;
            asm volatile("bar.sync %0, 64;" ::"r"(1 + b) : "memory");
            s = s * 2 + buffer[b][31 - l];
            if (k < 4) asm volatile("bar.arrive %0, 64;" ::"r"(3 + b) : "memory");
        }
        out[l] = s;
    }
}
KERNEL(barrier_of_warps) {
    __shared__ int s[128];
    int group = T / 64;
    s[T] = in[T];
    asm volatile("barrier.sync %0, %1;" ::"r"(group + 1), "r"(64) : "memory");
    int v = s[group * 64 + 63 - T % 64];
    asm volatile("barrier.sync %0, %1;" ::"r"(group + 1), "r"(64) : "memory");
    s[T] = v;
    __syncthreads();
    out[T] = s[127 - T];
}
KERNEL(barrier_reductions) {
    int n, all, any;
    asm volatile("{.reg .pred p, q, r; setp.gt.s32 p, %3, 3; barrier.red.popc.u32 %0, 2, 96, p;\n\t"
                 "barrier.red.and.pred q, 2, 96, p; selp.s32 %1, 1, 0, q; barrier.red.or.pred r, 2, 96, !p; selp.s32 %2, 1, 0, r;}"
                 : "=r"(n), "=r"(all), "=r"(any) : "r"(in[T]) : "memory");
    out[T] = n * 4 + all * 2 + any;
}
KERNEL(barrier_apart) {
    __shared__ int s[64];
    s[T] = in[T];
    if (T & 1) { asm volatile("barrier.sync 0;" ::: "memory"); out[T] = s[63 - T]; }
    else { asm volatile("barrier.sync 0;" ::: "memory"); out[T] = -s[63 - T]; }
}
KERNEL(barrier_after_exits) {
    __shared__ int s[128];
    s[T] = in[T];
    if (T >= 96 || T % 4 == 3) return;
    __syncthreads();
    out[T] = s[127 - T];
}
KERNEL(barrier_in_loop) {
    __shared__ int s[64];
    int v = in[T] % 16, rounds = 0;
    while (__syncthreads_or(v > 0)) { s[T] = v; __syncthreads(); if (v > 0) v -= 1 + (s[(T + 1) % 64] > v); ++rounds; }
    out[T] = rounds;
}
KERNEL(barrier_count) { out[T] = __syncthreads_count(in[T] & 1) * 100 + __syncthreads_and(in[T] < 900) * 10 + __syncthreads_or(in[T] == 7); }
// Votes and masks.
KERNEL(active_masks) {
    unsigned m = 0;
    if (T & 1) { if (T & 2) m = __activemask(); else m = __activemask() ^ 0xF; }
    else m = __activemask();
    out[T] = m;
}
KERNEL(waterfall) {
    unsigned left = 0xFFFFFFFF; int mine = in[T] & 3, order = -1, round = 0;
    while (left) {
        int leader = __ffs(left) - 1, value = __shfl_sync(0xFFFFFFFF, mine, leader);
        unsigned same = __ballot_sync(0xFFFFFFFF, mine == value && order < 0);
        if (mine == value && order < 0) order = round * 100 + __popc(same & ((1u << T) - 1));
        left &= ~same; ++round;
    }
    out[T] = order;
}
KERNEL(shrinking) {
    unsigned mask = 0xFFFFFFFF; int v = in[T] % 7, n = 0;
    for (;;) {
        bool stays = v > n;
        mask = __ballot_sync(mask, stays);
        if (!stays) break;
        n += 1 + (__popc(mask) == 0);
    }
    out[T] = n * 1000 + __popc(mask);
}
KERNEL(matches) {
    int v = in[T] & 7; int p;
    unsigned any = __match_any_sync(0xFFFFFFFF, v);
    unsigned all = __match_all_sync(0xFFFFFFFF, v >> 3, &p);
    unsigned long long wide = (unsigned long long)(in[T] & 1) << 40;
    unsigned any64 = __match_any_sync(0xFFFFFFFF, wide);
    unsigned half = T < 16 ? __match_any_sync(0xFFFF, v & 1) : __match_any_sync(0xFFFF0000, v & 3);
    out[4 * T] = any; out[4 * T + 1] = all + p; out[4 * T + 2] = any64; out[4 * T + 3] = half;
}
KERNEL(reductions) {
    int v = in[T] - 500; unsigned u = in[T];
    out[8 * T] = __reduce_add_sync(0xFFFFFFFF, v); out[8 * T + 1] = __reduce_min_sync(0xFFFFFFFF, v);
    out[8 * T + 2] = __reduce_max_sync(0xFFFFFFFF, v); out[8 * T + 3] = __reduce_max_sync(0xFFFFFFFF, u);
    out[8 * T + 4] = __reduce_and_sync(0xFFFFFFFF, u | 0x80); out[8 * T + 5] = __reduce_or_sync(0xFFFFFFFF, u);
    out[8 * T + 6] = __reduce_xor_sync(0xFFFFFFFF, u);
    out[8 * T + 7] = T % 2 ? __reduce_add_sync(0xAAAAAAAA, u) : __reduce_add_sync(0x55555555, 1u);
}
KERNEL(elected) {
    unsigned leader; int is;
    if (T % 3) asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.s32 %1, 1, 0, p;}" : "=r"(leader), "=r"(is) : "r"(0xB6DB6DB6u));
    else asm volatile("{.reg .pred p; elect.sync %0|p, %2; selp.s32 %1, 1, 0, p;}" : "=r"(leader), "=r"(is) : "r"(0x49249249u));
    out[T] = leader * 2 + is;
}
KERNEL(segments) {
    int v = in[T];
    out[4 * T] = __shfl_down_sync(0xFFFFFFFF, v, 3, 8); out[4 * T + 1] = __shfl_up_sync(0xFFFFFFFF, v, 2, 16);
    out[4 * T + 2] = __shfl_sync(0xFFFFFFFF, v, T + 5, 4); out[4 * T + 3] = __shfl_xor_sync(0xFFFFFFFF, v, in[T] & 7, 8);
}
KERNEL(groups) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int v = in[T];
    int total = cg::reduce(tile, v, cg::plus<int>()), most = cg::reduce(tile, v, cg::greater<int>());
    int before = cg::exclusive_scan(tile, v), upto = cg::inclusive_scan(tile, v, cg::plus<int>());
    int picked = -1;
    if (v & 1) { auto some = cg::coalesced_threads(); picked = some.size() * 100 + some.thread_rank(); }
    auto same = cg::labeled_partition(cg::coalesced_threads(), v % 3);
    int rank = same.thread_rank(), size = same.size(), sum = cg::reduce(same, v, cg::plus<int>());
    int* o = out + 8 * T; o[0] = total; o[1] = most; o[2] = before; o[3] = upto; o[4] = picked; o[5] = rank; o[6] = size; o[7] = sum;
}
KERNEL(aggregated) {
    if (in[T] % 3 == 0) { auto g = cg::coalesced_threads(); int first; if (g.thread_rank() == 0) first = atomicAdd(&out[0], g.size());
        out[1 + g.shfl(first, 0) + g.thread_rank()] = in[T]; }
}
// Control flow.
KERNEL(three_entries) {
    int v = in[T], n = 0;
    switch (v % 3) { case 0: goto A; case 1: goto B; default: goto C; }
A:  n += 1; v -= 5; if (v < 0) goto E; if (v & 4) goto C;
B:  n += 100; v -= 3; if (v < 0) goto E; if (v & 8) goto A;
C:  n += 10000; v -= 7; if (v < 0) goto E; if (v & 1) goto B; goto A;
E:  out[T] = n;
}
KERNEL(two_entries_ptx) {
    int n = 0, v = in[T] & 63;
    asm volatile("{.reg .pred p; .reg .b32 t; and.b32 t, %1, 1; setp.ne.b32 p, t, 0; @p bra IN_B;\n"
                 "IN_A: add.s32 %0, %0, 1; sub.s32 %1, %1, 1; setp.lt.s32 p, %1, 0; @p bra IN_END;\n"
                 "IN_B: add.s32 %0, %0, 64; sub.s32 %1, %1, 2; setp.ge.s32 p, %1, 0; @p bra IN_A;\n"
                 "IN_END: }" : "+r"(n), "+r"(v));
    out[T] = n;
}
#define L10(X, D) X(D##0) X(D##1) X(D##2) X(D##3) X(D##4) X(D##5) X(D##6) X(D##7) X(D##8) X(D##9)
#define L120(X) L10(X, 1) L10(X, 2) L10(X, 3) L10(X, 4) L10(X, 5) L10(X, 6) L10(X, 7) L10(X, 8) L10(X, 9) L10(X, 10) L10(X, 11) L10(X, 12)
#define NAME_(N) "TO" #N ", "
#define ARM_(N) "TO" #N ": add.s32 %0, %0, " #N "; bra TOEND;\n"
KERNEL(branch_table) {
    int n = 0;
    for (int k = 0; k < 3; ++k) {
        int i = (in[T] + 40 * k) % 121;
        asm volatile("{TABLE: .branchtargets " L120(NAME_) "TOLAST;\nbrx.idx %1, TABLE;\n" L120(ARM_)
                     "TOLAST: add.s32 %0, %0, 7000; TOEND: }" : "+r"(n) : "r"(i));
    }
    out[T] = n;
}
KERNEL(switch_dense) {
    int v = in[T] % 150, r;
#define CASE_(N) case N: r = (N * 7919) ^ (v << 3); break;
    switch (v) { L120(CASE_) default: r = -v; }
    out[T] = r;
}
KERNEL(predicated) {
    __shared__ int s[32];
    s[T] = T; __syncwarp();
    int a = 1, b = 2, old = -1, v = in[T];
    asm volatile("{.reg .pred p, q; .reg .b32 x; .reg .b64 y; setp.lt.s32 p|q, %3, 500;\n"
                 "@p ld.shared.s32 %0, [%4]; @q add.s32 %0, %0, 1000; @!p mul.lo.s32 %1, %3, 3; @p mov.u32 %1, %%laneid;\n"
                 "@q atom.shared.add.u32 %2, [%4], 5; @p st.shared.u32 [%4], %3; @q cvt.u64.u32 y, %3; @p cvt.u64.u32 y, %1;\n"
                 "cvt.u32.u64 x, y; @!q add.s32 %1, %1, x; @q selp.s32 %1, x, %1, q; @p bra SKIP; neg.s32 %1, %1; SKIP: }"
                 : "+r"(a), "+r"(b), "+r"(old) : "r"(v), "r"((unsigned)__cvta_generic_to_shared(s + T)) : "memory");
    __syncwarp();
    out[4 * T] = a; out[4 * T + 1] = b; out[4 * T + 2] = old; out[4 * T + 3] = s[T];
}
KERNEL(scopes) {
    int a = in[T], b;
    asm("{.reg .b32 t; add.s32 t, %1, 1; {.reg .b32 t; mul.lo.s32 t, %1, 5; mov.b32 %0, t;} add.s32 %0, %0, t;}" : "=r"(b) : "r"(a));
    asm("{.reg .b64 t; .reg .pred p<3>; cvt.s64.s32 t, %1; setp.gt.s64 p2, t, 700; @p2 add.s64 t, t, 1; cvt.u32.u64 %0, t;}" : "=r"(a) : "r"(b));
    out[T] = a;
}
KERNEL(nested_exits) {
    int n = 0, v = in[T];
    for (int a = 0; a < 6; ++a) {
        if (a == v % 7) continue;
        for (int b = 0; b < 5; ++b) {
            if ((a + b + v) % 11 == 0) break;
            int c = b;
            do { n += a * b + c; if (n > 150 + v % 50) { out[T] = -n; return; } c -= 1 + (v & 1); } while (c > 0);
            if (n % 13 == 5) goto next;
        }
        n += 3;
    next:;
    }
    out[T] = n;
}
// Calls.
__device__ __noinline__ int f0(int x) { return x + 1; }
__device__ __noinline__ int f1(int x) { return x * 2; }
__device__ __noinline__ int f2(int x) { return x * x - 3; }
typedef int (*Function)(int);
__device__ Function table[4] = {f0, f1, f2, f0};
KERNEL(pointer_table) {
    Function local[3] = {f2, f0, f1};
    int v = in[T];
    out[T] = table[v & 3](v) + local[(v >> 2) % 3](T);
}
__device__ __noinline__ int apply(Function f, int n, int x) { for (int k = 0; k < n; ++k) x = f(x) % 10007; return x; }
KERNEL(pointer_argument) { out[T] = apply(table[in[T] % 3], in[T] % 5, in[T]); }
struct Shape { __device__ virtual int area(int k) const = 0; __device__ virtual ~Shape() {} int tag; };
struct Square : Shape { int s; __device__ Square(int s) : s(s) { tag = 1; } __device__ int area(int k) const override { return s * s + k; } };
struct Strip : Square { __device__ Strip(int s) : Square(s) { tag = 2; } __device__ int area(int k) const override { return Square::area(k) * 2; } };
struct Dot : Shape { __device__ Dot() { tag = 3; } __device__ int area(int k) const override { return -k; } };
__device__ __noinline__ int measure(const Shape* s, int k) { return s->area(k) * 10 + s->tag; }
KERNEL(virtual_functions) {
    alignas(16) char place[32];
    Shape* s;
    int v = in[T];
    if (v % 3 == 0) s = new (place) Square(v); else if (v % 3 == 1) s = new (place) Strip(v); else s = new (place) Dot();
    out[T] = measure(s, T);
    Shape* heap = v & 1 ? (Shape*)new Strip(T) : (Shape*)new Dot();
    out[T] += 100000 * heap->tag + measure(heap, 1);
    delete heap;
}
__device__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
KERNEL(recursion_deep) { out[T] = ackermann(T % 3, T % 8); }
__device__ void quicksort(int* a, int low, int high) {
    if (low >= high) return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) { while (a[i] < pivot) ++i; while (a[j] > pivot) --j; if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; } }
    quicksort(a, low, j); quicksort(a, i, high);
}
KERNEL(recursion_sort) { int a[12]; for (int k = 0; k < 12; ++k) a[k] = in[(T * 5 + k * 11) % 256]; quicksort(a, 0, 11); for (int k = 0; k < 12; ++k) out[T * 12 + k] = a[k]; }
__device__ int walk(int depth) { volatile int pad[8]; pad[depth & 7] = depth; return depth == 0 ? pad[0] : walk(depth - 1) + pad[depth & 7]; }
KERNEL(recursion_endless) { out[T] = walk(in[0] * 100000 + 1000000); }
__device__ __noinline__ int by_pointer(int n, Function (*pick)(int)) { return n <= 0 ? 0 : pick(n)(n) + by_pointer(n - 1, pick); }
__device__ __noinline__ Function picker(int n) { return table[n & 3]; }
KERNEL(recursion_pointers) { out[T] = by_pointer(T % 9, picker); }
struct Big { int v[5]; double d; char c; };
__device__ __noinline__ Big shuffled(Big b, int k) { Big r = b; r.v[0] = b.v[k % 5]; r.v[k % 5] = b.v[0]; r.d = b.d * 2 + k; r.c = b.c + 1; return r; }
KERNEL(structures) {
    Big b; for (int k = 0; k < 5; ++k) b.v[k] = in[T] + k; b.d = T; b.c = 'a';
    b = shuffled(shuffled(b, T), T + 2);
    int s = 0; for (int k = 0; k < 5; ++k) s = s * 3 + b.v[k];
    out[T] = s + (int)b.d + b.c;
}
// Memory.
KERNEL(local_arrays) {
    int grid[4][5]; short h[7]; unsigned char c[11]; double d[3]; struct { char a; int b; } pairs[4];
    for (int i = 0; i < 4; ++i) for (int j = 0; j < 5; ++j) grid[i][j] = i * 10 + j + T;
    for (int i = 0; i < 7; ++i) h[i] = -i * T; for (int i = 0; i < 11; ++i) c[i] = i * T; for (int i = 0; i < 3; ++i) d[i] = i * 0.5 + T;
    for (int i = 0; i < 4; ++i) { pairs[i].a = i - T; pairs[i].b = i * T; }
    int v = in[T];
    for (int k = 0; k < 3; ++k) { grid[v % 4][(v + k) % 5] += h[(v + k) % 7]; c[(v * 3 + k) % 11] ^= k + 1; }
    out[T] = grid[(v + 1) % 4][v % 5] + grid[v % 4][(v + 1) % 5] + h[v % 7] + c[v * 3 % 11] + (int)(d[v % 3] * 2) + pairs[v % 4].a + pairs[(v + 1) % 4].b;
}
struct Node { int value; Node* next; };
KERNEL(heap_list) {
    Node* head = nullptr;
    for (int k = 0; k < (int)(T % 6); ++k) { Node* n = (Node*)malloc(sizeof(Node)); n->value = in[T] + k; n->next = head; head = n; }
    int s = 0;
    while (head) { s = s * 3 + head->value; Node* n = head->next; free(head); head = n; }
    int* a = new int[T + 1]; for (int k = 0; k <= (int)T; ++k) a[k] = k; s += a[T]; delete[] a;
    free(nullptr);
    out[T] = s;
}
KERNEL(heap_limit) { int n = 0; while (n < 64) { char* p = (char*)malloc(1 << 20); if (!p) break; p[0] = p[(1 << 20) - 1] = 1; ++n; } out[0] = n; void* z = malloc(0); free(z); }
KERNEL(byte_moves) {
    char a[40], b[40];
    for (int k = 0; k < 40; ++k) a[k] = in[(T + k) % 256];
    memset(b, T, sizeof b); memcpy(b + 3, a + 5, 17 + T % 9); memcpy(a + 2, b + 21, 15);
    int s = 0; for (int k = 0; k < 40; ++k) s = s * 5 + a[k] + b[k] * 3;
    out[T] = s;
}
KERNEL(generic_atomics) {
    __shared__ int s[4]; __shared__ unsigned short h[2];
    if (T < 4) s[T] = 0; if (T < 2) h[T] = 0;
    __syncthreads();
    int* p = T & 1 ? &s[T & 3] : &out[64 + (T & 3)];
    atomicAdd(p, in[T]); atomicMax(p + 0, -5);
    unsigned short seen, want = h[T & 1];
    do { seen = want; want = atomicCAS(&h[T & 1], seen, (unsigned short)(seen + 3)); } while (want != seen);
    __syncthreads();
    out[T] = s[T & 3] * 1000 + h[T & 1];
}
// Clocks.
KERNEL(clocks) {
    long long a = clock64(), g, h; unsigned c = clock();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
    int s = 0; for (int k = 0; k < 200; ++k) s += in[(T + k) % 256];
    __nanosleep(100);
    long long b = clock64(); unsigned d = clock();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(h));
    out[T] = (b > a) + 2 * ((int)(d - c) > 0) + 4 * (h >= g) + 8 * (s >= 0) + 16 * (g > 1000000);
}
KERNEL(clock_wait) { long long end = clock64() + 2000, n = 0; while (clock64() < end) ++n; out[T] = n > 0; }
// Threads that wait for what never comes.
KERNEL(lock_kept) { __shared__ int lock; if (T == 0) lock = 0; __syncthreads(); while (atomicCAS(&lock, 0, 1) != 0) {} out[T] = 1; }
KERNEL(flag_missed) { __shared__ volatile int flag; if (T == 0) flag = 0; __syncthreads(); while (flag == 0) { __nanosleep(100); } out[T] = 1; }
KERNEL(lane_missed) { __shared__ volatile int flag; if (T == 0) flag = 0; __syncthreads(); if (T == 40) while (flag != 3) {} out[T] = 1; }
// Asynchronous copies that are used too early: in[t] and out have what NumPy says; the checks tell which read is early.
#define COPY(FROM, TO) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(TO)), "l"(FROM) : "memory")
KERNEL(copy_unwaited) { __shared__ int s[64]; COPY(in + T, s + T); asm volatile("cp.async.commit_group;" ::: "memory"); out[T] = s[T]; asm volatile("cp.async.wait_group 0;" ::: "memory"); out[64 + T] = s[T]; }
KERNEL(copy_one_open) { __shared__ int a[64], b[64]; COPY(in + T, a + T); asm volatile("cp.async.commit_group;" ::: "memory"); COPY(in + T + 64, b + T); asm volatile("cp.async.commit_group; cp.async.wait_group 1;" ::: "memory"); out[T] = a[T]; out[64 + T] = b[T]; }
KERNEL(copy_barrier_first) { __shared__ int s[64]; COPY(in + T, s + T); __syncthreads(); out[T] = s[63 - T]; asm volatile("cp.async.wait_all;" ::: "memory"); }
KERNEL(copy_no_barrier) { __shared__ int s[64]; COPY(in + T, s + T); asm volatile("cp.async.wait_all;" ::: "memory"); out[T] = s[63 - T]; __syncthreads(); }
KERNEL(copy_sound) { __shared__ int s[64]; COPY(in + T, s + T); asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory"); __syncthreads(); out[T] = s[63 - T]; }
