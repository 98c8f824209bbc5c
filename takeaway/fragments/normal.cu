
    // Standard normal, by the ziggurat method.
    double normal()
    {
        const double edge = 3.6541528853610087963519472518, edge_inverse = 0.27366123732975827203338247596;
        for (;;) {
            uint64_t bits = next64();
            int layer = (int)(bits & 255);
            bits >>= 8;
            bool negative = bits & 1;
            uint64_t size = bits >> 1 & 0x000fffffffffffffull;
            double x = (double)size * ziggurat_w[layer];
            if (negative)
                x = -x;
            if (size < ziggurat_k[layer])
                return x;
            if (layer == 0) {
                for (;;) {
                    double beyond = -edge_inverse * log1p(-uniform_double()), height = -log1p(-uniform_double());
                    if (height + height > beyond * beyond)
                        return size >> 8 & 1 ? -(edge + beyond) : edge + beyond;
                }
            }
            if ((ziggurat_f[layer - 1] - ziggurat_f[layer]) * uniform_double() + ziggurat_f[layer] < exp(-0.5 * x * x))
                return x;
        }
    }
