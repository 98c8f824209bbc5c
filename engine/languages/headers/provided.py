"""Small in-memory stand-ins for headers that no CUDA wheel holds: name as included -> text.

The compiler itself already declares printf, assert, malloc, memcpy, the math functions, min, max, clock, dim3 and
size_t; these add what the standard puts beside them, and their names in namespace std.
"""

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

_CSTDINT = "\n".join(
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

_CLIMITS = """#pragma once
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

_CFLOAT = """#pragma once
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
_MATH = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nan",
    "nanf",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "remquo",
    "rint",
    "round",
    "scalbln",
    "scalbn",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
]

_CMATH = "\n".join(
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

_CSTDDEF = """#pragma once
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

# std::move and std::forward are the compiler's own.
_UTILITY = """#pragma once
#include <type_traits>
namespace std {
template <class T> __host__ __device__ void swap(T& a, T& b) { T kept = move(a); a = move(b); b = move(kept); }
template <class A, class B> struct pair { A first; B second; };
template <class A, class B> __host__ __device__ constexpr pair<A, B> make_pair(A a, B b) { return pair<A, B>{a, b}; }
}
"""

_ALGORITHM = """#pragma once
#include <utility>
namespace std {
template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T, class F> __host__ __device__ constexpr const T& min(const T& a, const T& b, F less) {
  return less(b, a) ? b : a;
}
template <class T, class F> __host__ __device__ constexpr const T& max(const T& a, const T& b, F less) {
  return less(a, b) ? b : a;
}
template <class T> __host__ __device__ constexpr const T& clamp(const T& value, const T& low, const T& high) {
  return value < low ? low : high < value ? high : value;
}
template <class I, class T> __host__ __device__ void fill(I first, I last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class N, class T> __host__ __device__ I fill_n(I first, N count, const T& value) {
  for (N i = 0; i < count; ++i, ++first) *first = value;
  return first;
}
template <class I, class O> __host__ __device__ O copy(I first, I last, O out) {
  for (; first != last; ++first, ++out) *out = *first;
  return out;
}
template <class I> __host__ __device__ void reverse(I first, I last) {
  while (first != last && first != --last) { swap(*first, *last); ++first; }
}
template <class I, class T> __host__ __device__ I lower_bound(I first, I last, const T& value) {
  auto count = last - first;
  while (count > 0) {
    auto half = count / 2;
    if (*(first + half) < value) { first += half + 1; count -= half + 1; } else { count = half; }
  }
  return first;
}
}
"""

_TYPE_TRAITS = """#pragma once
namespace std {
template <class T, T v> struct integral_constant { static constexpr T value = v; typedef T value_type; };
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class A, class C> struct conditional { typedef A type; };
template <class A, class C> struct conditional<false, A, C> { typedef C type; };
template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_volatile { typedef T type; };
template <class T> struct remove_volatile<volatile T> { typedef T type; };
template <class T> struct remove_cv { typedef typename remove_const<typename remove_volatile<T>::type>::type type; };
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> struct remove_reference<T&&> { typedef T type; };
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T*> { typedef T type; };
template <class T> struct make_signed { typedef T type; };
template <> struct make_signed<unsigned char> { typedef signed char type; };
template <> struct make_signed<unsigned short> { typedef short type; };
template <> struct make_signed<unsigned> { typedef int type; };
template <> struct make_signed<unsigned long> { typedef long type; };
template <> struct make_signed<unsigned long long> { typedef long long type; };
template <class T> struct make_unsigned { typedef T type; };
template <> struct make_unsigned<char> { typedef unsigned char type; };
template <> struct make_unsigned<signed char> { typedef unsigned char type; };
template <> struct make_unsigned<short> { typedef unsigned short type; };
template <> struct make_unsigned<int> { typedef unsigned type; };
template <> struct make_unsigned<long> { typedef unsigned long type; };
template <> struct make_unsigned<long long> { typedef unsigned long long type; };
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T*> : true_type {};
template <class T> struct is_reference : false_type {};
template <class T> struct is_reference<T&> : true_type {};
template <class T> struct is_reference<T&&> : true_type {};
template <class T> struct is_const : false_type {};
template <class T> struct is_const<const T> : true_type {};
namespace detail {
template <class T> struct floating : false_type {};
template <> struct floating<float> : true_type {};
template <> struct floating<double> : true_type {};
template <class T> struct integral : false_type {};
template <> struct integral<bool> : true_type {};
template <> struct integral<char> : true_type {};
template <> struct integral<signed char> : true_type {};
template <> struct integral<unsigned char> : true_type {};
template <> struct integral<short> : true_type {};
template <> struct integral<unsigned short> : true_type {};
template <> struct integral<int> : true_type {};
template <> struct integral<unsigned> : true_type {};
template <> struct integral<long> : true_type {};
template <> struct integral<unsigned long> : true_type {};
template <> struct integral<long long> : true_type {};
template <> struct integral<unsigned long long> : true_type {};
template <class T, bool A> struct below_zero : false_type {};
template <class T> struct below_zero<T, true> : integral_constant<bool, (T(-1) < T(0))> {};
}
template <class T> struct is_floating_point : detail::floating<typename remove_cv<T>::type> {};
template <class T> struct is_integral : detail::integral<typename remove_cv<T>::type> {};
template <class T>
struct is_arithmetic : integral_constant<bool, is_integral<T>::value || is_floating_point<T>::value> {};
template <class T> struct is_signed : detail::below_zero<T, is_arithmetic<T>::value> {};
template <class T> struct is_unsigned : integral_constant<bool, is_integral<T>::value && !is_signed<T>::value> {};
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class A, class C> using conditional_t = typename conditional<B, A, C>::type;
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
#if __cplusplus >= 201703L
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <class T> inline constexpr bool is_pointer_v = is_pointer<T>::value;
template <class T> inline constexpr bool is_integral_v = is_integral<T>::value;
template <class T> inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T> inline constexpr bool is_arithmetic_v = is_arithmetic<T>::value;
template <class T> inline constexpr bool is_signed_v = is_signed<T>::value;
template <class T> inline constexpr bool is_unsigned_v = is_unsigned<T>::value;
#endif
}
"""

_LIMITS_OF = {
    "bool": ("false", "true", 1, False),
    "char": ("CHAR_MIN", "CHAR_MAX", 7, True),
    "signed char": ("SCHAR_MIN", "SCHAR_MAX", 7, True),
    "unsigned char": ("0", "UCHAR_MAX", 8, False),
    "short": ("SHRT_MIN", "SHRT_MAX", 15, True),
    "unsigned short": ("0", "USHRT_MAX", 16, False),
    "int": ("INT_MIN", "INT_MAX", 31, True),
    "unsigned int": ("0", "UINT_MAX", 32, False),
    "long": ("LONG_MIN", "LONG_MAX", 63, True),
    "unsigned long": ("0", "ULONG_MAX", 64, False),
    "long long": ("LLONG_MIN", "LLONG_MAX", 63, True),
    "unsigned long long": ("0", "ULLONG_MAX", 64, False),
}


def _numeric_limits(name: str, low: str, high: str, digits: int, signed: bool) -> str:
    return f"""template <> struct numeric_limits<{name}> {{
  static constexpr bool is_specialized = true, is_integer = true, is_signed = {str(signed).lower()};
  static constexpr bool has_infinity = false, has_quiet_NaN = false;
  static constexpr int digits = {digits};
  __host__ __device__ static constexpr {name} min() {{ return {low}; }}
  __host__ __device__ static constexpr {name} max() {{ return {high}; }}
  __host__ __device__ static constexpr {name} lowest() {{ return {low}; }}
}};"""


def _float_limits(name: str, prefix: str, infinity: str, nan: str) -> str:
    return f"""template <> struct numeric_limits<{name}> {{
  static constexpr bool is_specialized = true, is_integer = false, is_signed = true;
  static constexpr bool has_infinity = true, has_quiet_NaN = true;
  static constexpr int digits = {prefix}_MANT_DIG, digits10 = {prefix}_DIG;
  __host__ __device__ static constexpr {name} min() {{ return {prefix}_MIN; }}
  __host__ __device__ static constexpr {name} max() {{ return {prefix}_MAX; }}
  __host__ __device__ static constexpr {name} lowest() {{ return -{prefix}_MAX; }}
  __host__ __device__ static constexpr {name} epsilon() {{ return {prefix}_EPSILON; }}
  __host__ __device__ static constexpr {name} denorm_min() {{ return {prefix}_TRUE_MIN; }}
  __host__ __device__ static constexpr {name} infinity() {{ return __builtin_bit_cast({name}, {infinity}); }}
  __host__ __device__ static constexpr {name} quiet_NaN() {{ return __builtin_bit_cast({name}, {nan}); }}
}};"""


_LIMITS = "\n".join(
    [
        "#pragma once",
        "#include <climits>",
        "#include <cfloat>",
        "namespace std {",
        "template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };",
        *(_numeric_limits(name, *facts) for name, facts in _LIMITS_OF.items()),
        _float_limits("float", "FLT", "0x7f800000u", "0x7fc00000u"),
        _float_limits("double", "DBL", "0x7ff0000000000000ull", "0x7ff8000000000000ull"),
        "}",
    ]
)

_CSTDLIB = """#pragma once
#include <cstddef>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
namespace std {
using ::malloc;
using ::free;
using ::abs;
}
"""

_CSTRING = """#pragma once
#include <cstddef>
namespace std {
using ::memcpy;
using ::memset;
}
"""

_CSTDIO = """#pragma once
#include <cstddef>
namespace std {
using ::printf;
}
"""

_CTIME = """#pragma once
namespace std {
using ::clock_t;
using ::clock;
}
"""

HEADERS: dict[str, str] = {
    "cstdint": _CSTDINT,
    "cstddef": _CSTDDEF,
    "climits": _CLIMITS,
    "cfloat": _CFLOAT,
    "cmath": _CMATH,
    "cstdlib": _CSTDLIB,
    "cstring": _CSTRING,
    "cstdio": _CSTDIO,
    "ctime": _CTIME,
    "cassert": "#pragma once\n",
    # The driver's host interface, which the real file of this name would declare and no kernel can call.
    "cuda.h": "#pragma once\n",
    "algorithm": _ALGORITHM,
    "utility": _UTILITY,
    "type_traits": _TYPE_TRAITS,
    "limits": _LIMITS,
    "math.h": "#include <cmath>\n",
    "time.h": "#include <ctime>\n",
    "assert.h": "#include <cassert>\n",
    "float.h": "#include <cfloat>\n",
    "inttypes.h": "#include <cstdint>\n",
    "cinttypes": "#include <cstdint>\n",
    "limits.h": "#include <climits>\n",
    "stdbool.h": "#pragma once\n",
    "stddef.h": "#include <cstddef>\n",
    "stdint.h": "#include <cstdint>\n",
    "stdio.h": "#include <cstdio>\n",
    "stdlib.h": "#include <cstdlib>\n",
    "string.h": "#include <cstring>\n",
}
