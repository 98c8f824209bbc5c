namespace host_side {

inline void refuse(const char *type) { fail(std::string("a value does not fit ") + type); }

// A number becomes an element: floats towards zero for integers, to nearest even otherwise.
template <typename T> inline void put_integer(T &to, double value)
{
    double whole = trunc(value), above = ldexp(1.0, sizeof(T) * 8 - (T(-1) < T(0) ? 1 : 0));
    if (!(whole >= (T(-1) < T(0) ? -above : 0.0) && whole < above))
        refuse("an integer type");
    to = (T)whole;
}
template <typename T> inline void put_integer(T &to, int64_t value)
{
    to = (T)value;
    if ((int64_t)to != value || (T(-1) > T(0) && value < 0))
        refuse("an integer type");
}
template <typename T> inline void put_integer(T &to, uint64_t value)
{
    to = (T)value;
    if (value > (uint64_t)std::numeric_limits<T>::max())
        refuse("an integer type");
}

inline void put(float &to, double value)
{
    to = (float)value;
    if (std::isfinite(value) && !std::isfinite(to))
        refuse("float32");
}
inline void put(Half &to, double value)
{
    uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (std::isnan(value)) {
        to.bits = sign | 0x7e00;
    } else if (std::isinf(value)) {
        to.bits = sign | 0x7c00;
    } else {
        // In units of the last place; below 2^-14 the numbers are 2^-24 apart.
        int exponent = size == 0.0 ? -14 : std::max(ilogb(size), -14);
        double units = rint(ldexp(size, 10 - exponent));
        // 1,024 units are the lowest normal number, and carrying to 2,048 goes to the next exponent by itself.
        uint32_t bits = (uint32_t)((exponent + 14) << 10) + (uint32_t)units;
        if (bits >= 0x7c00)
            refuse("float16");
        to.bits = sign | (uint16_t)bits;
    }
}
inline void put(Bfloat16 &to, double value)
{
    float single;
    put(single, value);
    uint32_t bits;
    memcpy(&bits, &single, 4);
    to.bits = std::isnan(single) ? (uint16_t)(bits >> 16 | 0x40) : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    if (std::isfinite(single) && (to.bits & 0x7fff) == 0x7f80)
        refuse("bfloat16");
}
inline void put(double &to, double value) { to = value; }
inline void put(Bool &to, double value) { to.bits = value != 0.0; }
inline void put(int8_t &to, double value) { put_integer(to, value); }
inline void put(uint8_t &to, double value) { put_integer(to, value); }
inline void put(int16_t &to, double value) { put_integer(to, value); }
inline void put(uint16_t &to, double value) { put_integer(to, value); }
inline void put(int32_t &to, double value) { put_integer(to, value); }
inline void put(uint32_t &to, double value) { put_integer(to, value); }
inline void put(int64_t &to, double value) { put_integer(to, value); }
inline void put(uint64_t &to, double value) { put_integer(to, value); }
template <typename T> inline void put(Complex<T> &to, double value)
{
    put(to.real, value);
    to.imag = 0;
}
template <typename T> inline void put(Complex<T> &to, Complex<double> value)
{
    put(to.real, value.real);
    put(to.imag, value.imag);
}

// Whole numbers reach floats in one rounding, 16-bit ones by way of float32, as in NumPy.
template <typename W> inline void put_whole(float &to, W value) { to = (float)value; }
template <typename W> inline void put_whole(double &to, W value) { to = (double)value; }
template <typename W> inline void put_whole(Half &to, W value) { put(to, (double)(float)value); }
template <typename W> inline void put_whole(Bfloat16 &to, W value) { put(to, (double)(float)value); }
template <typename W> inline void put_whole(Bool &to, W value) { to.bits = value != 0; }
template <typename W, typename T> inline void put_whole(Complex<T> &to, W value) { to.real = (T)value, to.imag = 0; }
template <typename W> inline void put_whole(int8_t &to, W value) { put_integer(to, value); }
template <typename W> inline void put_whole(uint8_t &to, W value) { put_integer(to, value); }
template <typename W> inline void put_whole(int16_t &to, W value) { put_integer(to, value); }
template <typename W> inline void put_whole(uint16_t &to, W value) { put_integer(to, value); }
template <typename W> inline void put_whole(int32_t &to, W value) { put_integer(to, value); }
template <typename W> inline void put_whole(uint32_t &to, W value) { put_integer(to, value); }
template <typename W> inline void put_whole(int64_t &to, W value) { put_integer(to, value); }
template <typename W> inline void put_whole(uint64_t &to, W value) { put_integer(to, value); }
template <typename T> inline void put(T &to, int64_t value) { put_whole(to, value); }
template <typename T> inline void put(T &to, uint64_t value) { put_whole(to, value); }
template <typename T> inline void put(T &to, bool value) { put_whole(to, (int64_t)value); }

// Sets element i to make(i), i counting all elements in row-major order.
template <typename T, typename Make> inline void set(Buffer &buffer, Make make)
{
    T *elements = buffer.elements<T>();
    for (uint64_t i = 0, count = buffer.count(); i < count; ++i)
        put(elements[i], make(i));
}

// As numpy.linspace; `last` is the number of the last element.
inline double between(double start, double stop, uint64_t i, uint64_t last)
{
    if (last && i == last)
        return stop;
    double apart = stop - start, step = last ? apart / (double)last : 1.0;
    return (last && step == 0.0 ? (double)i / (double)last * apart : last ? (double)i * step : (double)i * apart) + start;
}

}  // namespace host_side
