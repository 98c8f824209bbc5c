// The generator of numpy.random.default_rng, PCG64 (O'Neill's PCG XSL-RR 128/64), and its distributions.
namespace host_side {

// 64 × 64 = 128 bits, the upper half.
inline uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), cross = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (cross >> 32);
}

struct Generator {
    // The state that a seed stands for, made by NumPy's SeedSequence when this file was written.
    uint64_t high, low, step_high, step_low;
    bool has_half;
    uint32_t half;

    Generator(uint64_t high, uint64_t low, uint64_t step_high, uint64_t step_low)
        : high(high), low(low), step_high(step_high), step_low(step_low), has_half(false), half(0)
    {
    }

    uint64_t next64()
    {
        const uint64_t factor_high = 0x2360ed051fc65da4ull, factor_low = 0x4385df649fccf645ull;
        uint64_t product_high = multiply_high(low, factor_low) + high * factor_low + low * factor_high;
        uint64_t product_low = low * factor_low;
        low = product_low + step_low;
        high = product_high + step_high + (low < product_low);
        uint64_t mixed = high ^ low;
        unsigned turn = (unsigned)(high >> 58);
        return mixed >> turn | mixed << (64 - turn & 63);
    }

    uint32_t next32()
    {
        if (has_half) {
            has_half = false;
            return half;
        }
        uint64_t both = next64();
        has_half = true;
        half = (uint32_t)(both >> 32);
        return (uint32_t)both;
    }

    double uniform_double() { return (double)(next64() >> 11) * (1.0 / 9007199254740992.0); }
    double uniform_float() { return (float)(next32() >> 8) * (1.0f / 16777216.0f); }

    // A whole number from 0 to `most`, by Lemire's method.
    uint64_t below_or_equal(uint64_t most)
    {
        if (most == 0)
            return 0;
        if (most == UINT32_MAX)
            return next32();
        if (most == UINT64_MAX)
            return next64();
        if (most < UINT32_MAX) {
            uint32_t range = (uint32_t)most + 1;
            uint64_t product = (uint64_t)next32() * range;
            if ((uint32_t)product < range)
                for (uint32_t least = (UINT32_MAX - (uint32_t)most) % range; (uint32_t)product < least;)
                    product = (uint64_t)next32() * range;
            return product >> 32;
        }
        uint64_t range = most + 1, drawn = next64(), product = drawn * range;
        if (product < range)
            for (uint64_t least = (UINT64_MAX - most) % range; product < least; product = drawn * range)
                drawn = next64();
        return multiply_high(drawn, range);
    }
@NORMAL@};

}  // namespace host_side
