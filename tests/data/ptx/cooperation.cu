// Blocks that wait for each other: by flags and counters of their own, at the grid's barrier, and in clusters.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Decoupled look-back: a block publishes its sum, then walks back over its predecessors' sums.
extern "C" __global__ void lookback_scan(const int *in, int *out, unsigned *ticket, volatile int *state,
                                         volatile int *sums, volatile int *prefixes) {
    __shared__ int part[128];
    __shared__ int tile, before;
    int t = threadIdx.x;
    if (t == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    int i = tile * blockDim.x + t;
    part[t] = in[i];
    for (int step = 1; step < blockDim.x; step *= 2) {
        __syncthreads();
        int left = t >= step ? part[t - step] : 0;
        __syncthreads();
        part[t] += left;
    }
    __syncthreads();
    if (t == 0) {
        int sum = part[blockDim.x - 1];
        sums[tile] = sum;
        __threadfence();
        state[tile] = 1;
        int total = 0;
        for (int k = tile - 1; k >= 0; --k) {
            int s;
            while ((s = state[k]) == 0) {}
            __threadfence();
            if (s == 2) {
                total += prefixes[k];
                break;
            }
            total += sums[k];
        }
        prefixes[tile] = total + sum;
        __threadfence();
        state[tile] = 2;
        before = total;
    }
    __syncthreads();
    out[i] = before + part[t];
}

// The same by a warp: each lane looks at one predecessor, and the warp votes on what it has seen.
extern "C" __global__ void warp_lookback(const int *in, int *out, volatile int *state, volatile int *sums,
                                         volatile int *prefixes) {
    int lane = threadIdx.x, tile = blockIdx.x;
    int x = in[tile * 32 + lane];
    for (int step = 1; step < 32; step *= 2) {
        int left = __shfl_up_sync(~0u, x, step);
        if (lane >= step) x += left;
    }
    int total = __shfl_sync(~0u, x, 31), before = 0;
    if (lane == 0) {
        sums[tile] = total;
        __threadfence();
        state[tile] = 1;
    }
    for (int first = tile - 32; tile > 0; first -= 32) {
        int k = first + lane, s = 2, v = 0;
        if (k >= 0) {
            while ((s = state[k]) == 0) {}
            __threadfence();
            v = s == 2 ? prefixes[k] : sums[k];
        }
        unsigned done = __ballot_sync(~0u, s == 2);
        if (done && lane < 31 - __clz(done)) v = 0;
        for (int step = 16; step; step /= 2) v += __shfl_xor_sync(~0u, v, step);
        before += v;
        if (done) break;
    }
    if (lane == 0) {
        prefixes[tile] = before + total;
        __threadfence();
        state[tile] = 2;
    }
    out[tile * 32 + lane] = before + x;
}

// One lane of each warp waits, and the others take from it what it has seen.
extern "C" __global__ void leader_waits(volatile int *flag, int *out) {
    int value = 0;
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) *flag = 41;
    if (threadIdx.x % 32 == 5)
        while ((value = *flag) == 0) {}
    __syncwarp();
    value = __shfl_sync(~0u, value, 5);
    unsigned all = __ballot_sync(~0u, value == 41);
    unsigned odd = threadIdx.x % 2 ? __ballot_sync(0xaaaaaaaau, value == 41) : 0;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value + __popc(all) * 100 + __popc(odd) * 10000;
}

// The block that finishes last adds up what the others left.
extern "C" __global__ void last_block_sum(const int *in, int *partial, unsigned *count, int *out, int n) {
    __shared__ int part[128];
    __shared__ bool last;
    int t = threadIdx.x;
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    if (t == 0) {
        sum = 0;
        for (int k = 0; k < blockDim.x; ++k) sum += part[k];
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += ((volatile int *)partial)[b];
        out[0] = sum;
    }
}

__device__ void meet(unsigned *count, unsigned goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile unsigned *)count < goal) {}
        __threadfence();
    }
    __syncthreads();
}

// Every step takes the neighbouring block's values, with a barrier made by hand between the steps.
extern "C" __global__ void spin_barrier(int *a, int *b, unsigned *count, int steps) {
    int *from = a, *to = b;
    for (int s = 0; s < steps; ++s) {
        int next = (blockIdx.x + 1) % gridDim.x;
        to[blockIdx.x * blockDim.x + threadIdx.x] = from[next * blockDim.x + threadIdx.x] + s;
        meet(count, (s + 1) * gridDim.x);
        int *swap = from;
        from = to;
        to = swap;
    }
}

// The same barrier, watched with atomics, by all threads of the block through shared memory.
extern "C" __global__ void polled_barrier(int *out, unsigned *count) {
    __shared__ unsigned seen;
    if (threadIdx.x == 0) atomicAdd(count, 1);
    do {
        __syncthreads();
        if (threadIdx.x == 0) seen = atomicAdd(count, 0);
        __syncthreads();
    } while (seen < gridDim.x);
    out[blockIdx.x * blockDim.x + threadIdx.x] = seen;
}

// A flag that is read again, without volatile, because a fence stands in the loop.
extern "C" __global__ void plain_flag(int *flag, int *out) {
    if (blockIdx.x == gridDim.x - 1) {
        if (threadIdx.x == 0) atomicExch(flag, 7);
        __syncthreads();
    } else {
        if (threadIdx.x == 0)
            while (*flag == 0) {
                __nanosleep(100);
                __threadfence();
            }
        __syncthreads();
        while (*flag != 7) __threadfence();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = *flag;
}

// Persistent blocks take items of uneven length from a queue.
extern "C" __global__ void work_queue(const int *lengths, long long *out, unsigned *head, int *taken, int items) {
    __shared__ int item;
    while (true) {
        if (threadIdx.x == 0) item = atomicAdd(head, 1);
        __syncthreads();
        int mine = item;
        __syncthreads();
        if (mine >= items) return;
        if (threadIdx.x == 0) {
            long long value = mine;
            for (int k = 0; k < lengths[mine]; ++k) value = value * 6364136223846793005ll + 1442695040888963407ll;
            out[mine] = value;
            atomicAdd(taken, 1);
        }
    }
}

// The first half of the blocks consumes what the second half, which starts later, produces.
extern "C" __global__ void produce_consume(int *ring, int *ready, int *out, int rounds) {
    int half = gridDim.x / 2, pair = blockIdx.x % half, t = threadIdx.x;
    volatile int *flag = ready + pair;
    for (int r = 0; r < rounds; ++r) {
        bool produces = blockIdx.x >= half;
        if (t == 0)
            while (*flag != 2 * r + (produces ? 0 : 1)) {}
        __syncthreads();
        __threadfence();
        if (produces) ring[pair * blockDim.x + t] = 1000 * r + 10 * pair + t;
        else out[pair * blockDim.x + t] += ((volatile int *)ring)[pair * blockDim.x + t];
        __threadfence();
        __syncthreads();
        if (t == 0) *flag = *flag + 1;
    }
}

// A lock around a counter that is no atomic.
extern "C" __global__ void spin_lock(int *lock, int *value, int rounds) {
    if (threadIdx.x) return;
    for (int r = 0; r < rounds; ++r) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        *(volatile int *)value = *(volatile int *)value + blockIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}

extern "C" __global__ void grid_sum(const int *in, int *partial, int *out, int n) {
    cg::grid_group grid = cg::this_grid();
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    int mine = 0;
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) mine += in[i];
    atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    grid.sync();
    int total = 0;
    for (int b = 0; b < gridDim.x; ++b) total += partial[b];
    out[grid.thread_rank()] = total;
}

extern "C" __global__ void heat(float *a, float *b, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    float *from = a, *to = b;
    for (int s = 0; s < steps; ++s) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            float left = from[i > 0 ? i - 1 : 0], right = from[i < n - 1 ? i + 1 : n - 1];
            to[i] = 0.5f * from[i] + 0.25f * (left + right);
        }
        grid.sync();
        float *swap = from;
        from = to;
        to = swap;
    }
}

// Blocks of three axes and their ranks; every thread sees what the mirrored thread of the grid wrote.
extern "C" __global__ void grid_ranks(unsigned long long *ranks, unsigned long long *mirrored, int *facts) {
    cg::grid_group grid = cg::this_grid();
    unsigned long long rank = grid.thread_rank();
    ranks[rank] = rank * 3 + 1;
    grid.sync();
    mirrored[rank] = ranks[grid.size() - 1 - rank];
    grid.sync();
    if (rank == 0) {
        facts[0] = grid.is_valid();
        facts[1] = grid.size();
        facts[2] = grid.num_blocks();
        facts[3] = grid.group_dim().x * 100 + grid.group_dim().y * 10 + grid.group_dim().z;
    }
}

extern "C" __global__ void grid_valid(int *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = cg::this_grid().is_valid();
}

// Each block of a cluster holds a part of the bins; threads update them where they are.
extern "C" __global__ void cluster_histogram(const unsigned *in, int *bins, int n, int count) {
    extern __shared__ int mine[];
    cg::cluster_group cluster = cg::this_cluster();
    int part = count / cluster.num_blocks();
    for (int k = threadIdx.x; k < part; k += blockDim.x) mine[k] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = in[i] % count;
        atomicAdd(cluster.map_shared_rank(mine, bin / part) + bin % part, 1);
    }
    cluster.sync();
    for (int k = threadIdx.x; k < part; k += blockDim.x) atomicAdd(&bins[cluster.block_rank() * part + k], mine[k]);
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const int *in, int *out) {
    __shared__ int total;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, in[blockIdx.x * blockDim.x + threadIdx.x]);
    cluster.sync();
    int sum = 0;
    for (int r = 0; r < cluster.num_blocks(); ++r) sum += *cluster.map_shared_rank(&total, r);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    cluster.sync();
}

// A ring through the cluster, with a barrier whose arrival and wait are apart, then a step across the grid.
extern "C" __global__ void __cluster_dims__(2, 2, 1) cluster_and_grid(int *a, int *b, int steps) {
    __shared__ int cell[64];
    cg::cluster_group cluster = cg::this_cluster();
    cg::grid_group grid = cg::this_grid();
    int t = threadIdx.x, n = cluster.num_blocks(), block = blockIdx.y * gridDim.x + blockIdx.x;
    int blocks = gridDim.x * gridDim.y;
    for (int s = 0; s < steps; ++s) {
        cell[t] = a[block * 64 + t];
        cluster.barrier_arrive();
        cluster.barrier_wait();
        int other = cluster.map_shared_rank(cell, (cluster.block_rank() + 1) % n)[t];
        b[block * 64 + t] = other * 3 + cluster.block_rank();
        grid.sync();
        a[block * 64 + t] = b[(block + 1) % blocks * 64 + t] + 1;
        grid.sync();
    }
}

// Every special register of clusters.
extern "C" __global__ void cluster_facts(unsigned *out) {
    unsigned v[14], yes;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[0]));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(v[1]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(v[2]));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[3]));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(v[4]));
    asm("mov.u32 %0, %%nclusterid.z;" : "=r"(v[5]));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[6]));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[7]));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(v[8]));
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[9]));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[10]));
    asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(v[11]));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[12]));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v[13]));
    asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(yes));
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) {
        for (int k = 0; k < 14; ++k) out[block * 16 + k] = v[k];
        out[block * 16 + 14] = yes;
        out[block * 16 + 15] = blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z;
    }
}

// Loads, stores and atomics in the cluster's window, with 32-bit addresses and generic ones.
extern "C" __global__ void cluster_windows(int *out, int wrong) {
    __shared__ __align__(16) int data[64];
    __shared__ int counter;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned t = threadIdx.x, rank = cluster.block_rank(), n = cluster.num_blocks();
    data[t] = rank * 1000 + t;
    data[32 + t] = 0;
    if (t == 0) counter = 0;
    cluster.sync();
    unsigned here = (unsigned)__cvta_generic_to_shared(data), there, back;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"((rank + 1) % n + wrong));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(back) : "r"(there));
    int x, y, z, w, v;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(x) : "r"(there + 4 * t));
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(y), "=r"(z), "=r"(w), "=r"(v) : "r"(there + 16 * (t / 4)));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there + 128 + 4 * (31 - t)), "r"(x + 5) : "memory");
    int *far = cluster.map_shared_rank(&counter, (rank + 1) % n);
    atomicAdd(far, t);
    asm volatile("red.release.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(there + 128), "r"(0) : "memory");
    cluster.sync();
    int *row = out + (blockIdx.x * 32 + t) * 8;
    row[0] = x;
    row[1] = y + z + w + v;
    row[2] = data[32 + t];
    row[3] = counter;
    row[4] = back;
    row[5] = cluster.query_shared_rank(far);
    row[6] = __isShared(far) + 2 * __isShared(&counter);
    row[7] = cluster.map_shared_rank(data, rank)[t] + cluster.thread_rank() + cluster.num_threads();
    cluster.sync();
}

// Threads that have ended count as arrived; half of a warp waits while the other half has nothing to wait for.
extern "C" __global__ void cluster_exits(int *out) {
    __shared__ int value;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) value = 10 + cluster.block_rank();
    cluster.sync();
    int seen = *cluster.map_shared_rank(&value, 0);
    if (threadIdx.x >= 40) return;
    if (threadIdx.x % 2) {
        cluster.sync();
        seen += 100;
    } else {
        cluster.sync();
        seen += 200;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = seen;
}

// Uses the shared memory of a block that does not wait for it.
extern "C" __global__ void cluster_too_late(int *out, int *flag) {
    __shared__ int value;
    cg::cluster_group cluster = cg::this_cluster();
    value = 5;
    cluster.sync();
    if (cluster.block_rank() == 1) {
        if (threadIdx.x == 0) atomicExch(flag, 1);
        return;
    }
    while (*(volatile int *)flag == 0) {}
    for (int k = 0; k < 3000; ++k) out[k % 32] = *(volatile int *)cluster.map_shared_rank(&value, 1);
}

// Reads what another block of the cluster writes, with no barrier between.
extern "C" __global__ void cluster_race(int *out, int with_barrier) {
    __shared__ int value[32];
    cg::cluster_group cluster = cg::this_cluster();
    int t = threadIdx.x, other = cluster.block_rank() ^ 1;
    value[t] = t;
    cluster.sync();
    cluster.map_shared_rank(value, other)[t] = t + 50;
    if (with_barrier) cluster.sync();
    out[blockIdx.x * 32 + t] = value[t];
    cluster.sync();
}

// Reads one place of the other block's shared memory.
extern "C" __global__ void cluster_beyond(int *out, int index) {
    __shared__ int value[32];
    cg::cluster_group cluster = cg::this_cluster();
    value[threadIdx.x] = cluster.thread_rank();
    cluster.sync();
    out[cluster.thread_rank()] = cluster.map_shared_rank(value, cluster.block_rank() ^ 1)[index];
    cluster.sync();
}

// Some blocks leave before the grid's barrier.
extern "C" __global__ void some_meet(int *out, int count) {
    if (blockIdx.x >= count) return;
    cg::this_grid().sync();
    out[0] = 1;
}

// Waits for a block that cannot start where fewer blocks are resident than the grid has.
extern "C" __global__ void wait_for_all(unsigned *count) {
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);
        while (*(volatile unsigned *)count < gridDim.x) {}
    }
}
