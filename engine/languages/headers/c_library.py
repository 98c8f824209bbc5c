"""What <cstdint>, <cmath> and their like add to the names that the compiler itself declares."""

from __future__ import annotations

# 64-bit types as libcu++ declares them under this compiler, so that both may be included.
_INTEGERS = {
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long long",
    "uint64_t": "unsigned long long",
    "intptr_t": "long long",
    "uintptr_t": "unsigned long long",
    "intmax_t": "long long",
    "uintmax_t": "unsigned long long",
}
_WIDTHS = {
    f"{sign}int_{speed}{bits}_t": f"{sign}int{bits}_t"
    for sign in ("", "u")
    for speed in ("least", "fast")
    for bits in (8, 16, 32, 64)
}

CSTDINT = "\n".join(
    [
        "#pragma once",
        *(f"typedef {meaning} {name};" for name, meaning in {**_INTEGERS, **_WIDTHS}.items()),
        "#define INT8_MIN (-128)",
        "#define INT8_MAX 127",
        "#define UINT8_MAX 255",
        "#define INT16_MIN (-32768)",
        "#define INT16_MAX 32767",
        "#define UINT16_MAX 65535",
        "#define INT32_MIN (-2147483647 - 1)",
        "#define INT32_MAX 2147483647",
        "#define UINT32_MAX 4294967295u",
        "#define INT64_MIN (-9223372036854775807ll - 1)",
        "#define INT64_MAX 9223372036854775807ll",
        "#define UINT64_MAX 18446744073709551615ull",
        "#define INTPTR_MAX INT64_MAX",
        "#define UINTPTR_MAX UINT64_MAX",
        "#define SIZE_MAX UINT64_MAX",
        "#define INT64_C(value) value##ll",
        "#define UINT64_C(value) value##ull",
        "#define INT32_C(value) value",
        "#define UINT32_C(value) value##u",
        "namespace std {",
        *(f"using ::{name};" for name in (*_INTEGERS, *_WIDTHS)),
        "}",
    ]
)

# NVRTC knows no alloca. The instruction takes the memory from the function that is left once all is inlined, so that a
# function that is called in a loop and inlined there keeps what it took until the loop's function returns.
ALLOCA = """#pragma once
static __device__ __forceinline__ void* __warpyard_alloca(size_t size) {
  size_t place;
  asm volatile("alloca.u64 %0, %1, 16;" : "=l"(place) : "l"(size));
  return __cvta_local_to_generic(place);
}
#define __builtin_alloca(size) __warpyard_alloca(size)
#define alloca(size) __warpyard_alloca(size)
"""

CLIMITS = """#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (-9223372036854775807l - 1)
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
"""

CFLOAT = """#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_EPSILON 1.192092896e-07f
#define FLT_MIN 1.175494351e-38f
#define FLT_TRUE_MIN 1.401298464e-45f
#define FLT_MAX 3.402823466e+38f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MIN 2.2250738585072014e-308
#define DBL_TRUE_MIN 4.9406564584124654e-324
#define DBL_MAX 1.7976931348623157e+308
"""

# The one-argument and two-argument functions that CUDA declares at global scope for float and double alike.
_MATH = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos",
    "cosh", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod",
    "frexp", "hypot", "ilogb", "isfinite", "isinf", "isnan", "ldexp", "lgamma", "llrint", "llround", "log",
    "log10", "log1p", "log2", "logb", "lrint", "lround", "modf", "nan", "nanf", "nearbyint", "nextafter", "pow",
    "remainder", "remquo", "rint", "round", "scalbln", "scalbn", "signbit", "sin", "sinh", "sqrt", "tan",
    "tanh", "tgamma", "trunc",
)  # fmt: skip

CMATH = "\n".join(
    [
        "#pragma once",
        "#define INFINITY __int_as_float(0x7f800000)",
        "#define NAN __int_as_float(0x7fffffff)",
        "#define HUGE_VALF INFINITY",
        "#define HUGE_VAL ((double)INFINITY)",
        "#define M_E 2.71828182845904523536",
        "#define M_LOG2E 1.44269504088896340736",
        "#define M_LOG10E 0.434294481903251827651",
        "#define M_LN2 0.693147180559945309417",
        "#define M_LN10 2.30258509299404568402",
        "#define M_PI 3.14159265358979323846",
        "#define M_PI_2 1.57079632679489661923",
        "#define M_PI_4 0.785398163397448309616",
        "#define M_1_PI 0.318309886183790671538",
        "#define M_2_PI 0.636619772367581343076",
        "#define M_2_SQRTPI 1.12837916709551257390",
        "#define M_SQRT2 1.41421356237309504880",
        "#define M_SQRT1_2 0.707106781186547524401",
        "namespace std {",
        *(f"using ::{name};" for name in _MATH),
        "typedef float float_t;",
        "typedef double double_t;",
        "}",
    ]
)

CSTDDEF = """#pragma once
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
typedef long ptrdiff_t;
namespace std {
using ::size_t;
using ::ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
}
"""

CSTDLIB = """#pragma once
#include <cstddef>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
namespace std {
using ::malloc;
using ::free;
using ::abs;
}
"""

CSTRING = """#pragma once
#include <cstddef>
namespace std {
using ::memcpy;
using ::memset;
}
"""

CSTDIO = """#pragma once
#include <cstddef>
namespace std {
using ::printf;
}
"""

CTIME = """#pragma once
namespace std {
using ::clock_t;
using ::clock;
}
"""
