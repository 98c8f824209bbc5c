// Memory of a thread's stack. Every kernel has the parameters (out, in); test_progress.py says what it must compute.
#include <alloca.h>
#define KERNEL(NAME) extern "C" __global__ void NAME(int* out, const int* in)
#define T threadIdx.x

// Each lane sorts as many numbers as it is asked for, in memory of its own.
KERNEL(stack_sort) {
    int count = in[T] & 31;
    int* sorted = (int*)alloca(count * sizeof(int));
    for (int i = 0; i < count; ++i) {
        int value = in[(T + i) & 255], at = i;
        for (; at > 0 && sorted[at - 1] > value; --at) sorted[at] = sorted[at - 1];
        sorted[at] = value;
    }
    int hash = 0;
    for (int i = 0; i < count; ++i) hash = hash * 31 + sorted[i];
    out[T] = hash;
}

// A function that takes memory of both sizes in a loop of its caller: what it took is given back each time.
__device__ __noinline__ int digits(unsigned value, unsigned base) {
    char* text = (char*)__builtin_alloca(value % 40 + 33);
    int length = 0, sum = 0;
#pragma unroll 1
    for (; value; value /= base) text[length++] = value % base;
#pragma unroll 1
    for (int i = 0; i < length; ++i) sum = sum * 3 + text[i];
    return sum;
}
KERNEL(stack_calls) {
    int sum = 0;
#pragma unroll 1
    for (int i = 0; i < 512; ++i) sum += digits((unsigned)in[(T + i) & 255], 2 + (T & 7));
    out[T] = sum;
}

// Recursion whose every activation has memory of another size.
__device__ int partitions(int left, int most, const int* before) {
    if (left == 0) return *before;
    int sum = 0;
    for (int part = 1; part <= most && part <= left; ++part) {
        int* mine = (int*)alloca(part * sizeof(int));
        mine[part - 1] = *before + part * left;
        mine[0] ^= part;
        sum += partitions(left - part, part, mine + part - 1);
    }
    return sum;
}
KERNEL(stack_recursion) {
    int start = in[T] & 15;
    out[T] = partitions(T % 7, T % 5 + 1, &start);
}

// Lane i takes i * in[0] words eight times.
KERNEL(stack_overflow) {
    for (int i = 0; i < 8; ++i) {
        int* words = (int*)alloca(T * in[0] * sizeof(int));
        if (T) words[0] = in[1];
        out[T] += T ? words[0] : 0;
    }
}
// Lane i takes i + 4 words and writes the one that in[0] says.
KERNEL(stack_beyond) {
    int* words = (int*)alloca((T + 4) * sizeof(int));
    words[in[0]] = in[1];
    out[T] = words[in[2]];
}
