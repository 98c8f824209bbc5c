// Arithmetic of formulas where NumPy's differs from C's: division rounds down, NaN stays.
namespace host_side {

inline int64_t nonzero(int64_t divisor)
{
    if (divisor == 0)
        fail("a formula divides by 0");
    return divisor;
}
inline int64_t floor_divide_int(int64_t a, int64_t b)
{
    if (nonzero(b) == -1)
        return -a;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t modulo_int(int64_t a, int64_t b) { return nonzero(b) == -1 ? 0 : (a % b + b) % b; }
inline int64_t remainder_int(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
inline double modulo_float(double a, double b)
{
    double rest = fmod(a, b);
    if (rest != 0.0)
        return (b < 0.0) != (rest < 0.0) ? rest + b : rest;
    return b == 0.0 ? rest : copysign(0.0, b);
}
inline double floor_divide_float(double a, double b)
{
    if (b == 0.0)
        return a / b;
    double rest = fmod(a, b), whole = (a - rest) / b;
    if (rest != 0.0 && (b < 0.0) != (rest < 0.0))
        whole -= 1.0;
    if (whole == 0.0)
        return copysign(0.0, a / b);
    return floor(whole) + (whole - floor(whole) > 0.5 ? 1.0 : 0.0);
}
inline int64_t shift_left(int64_t a, int64_t b) { return (uint64_t)b < 64 ? (int64_t)((uint64_t)a << b) : 0; }
inline int64_t shift_right(int64_t a, int64_t b) { return (uint64_t)b < 64 ? a >> b : a < 0 ? -1 : 0; }
inline int64_t min_int(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max_int(int64_t a, int64_t b) { return a > b ? a : b; }
inline double min_float(double a, double b) { return a < b || a != a ? a : b; }
inline double max_float(double a, double b) { return a > b || a != a ? a : b; }
inline int64_t sign_int(int64_t a) { return (a > 0) - (a < 0); }
inline double sign_float(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a == 0.0 ? 0.0 : a; }
inline double square(double a) { return a * a; }
inline int64_t power(int64_t base, int64_t exponent)
{
    uint64_t result = 1, factor = (uint64_t)base;
    for (; exponent > 0; exponent >>= 1, factor *= factor)
        if (exponent & 1)
            result *= factor;
    return (int64_t)result;
}
inline int64_t whole(int64_t value) { return value; }
inline int64_t whole(int value) { return value; }
inline int64_t whole(double value)
{
    int64_t result;
    put(result, value);
    return result;
}

// Sets every element: i counts all in row-major order, x along the last axis, y along the one before, and so on.
template <typename T, typename Make> inline void set_by_formula(Buffer &buffer, Make make)
{
    int64_t sizes[4] = {1, 1, 1, 1}, n = (int64_t)buffer.count();
    for (size_t axis = 0; axis < buffer.shape.size(); ++axis)
        sizes[axis] = (int64_t)buffer.shape[buffer.shape.size() - 1 - axis];
    int64_t nx = sizes[0], ny = sizes[1], nz = sizes[2], nw = sizes[3];
    T *elements = buffer.elements<T>();
    for (int64_t i = 0; i < n; ++i)
        put(elements[i], make(i, i % nx, i / nx % ny, i / nx / ny % nz, i / nx / ny / nz, n, nx, ny, nz, nw));
}

}  // namespace host_side
