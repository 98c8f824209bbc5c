"""The parts of <algorithm>, <limits>, <type_traits> and <utility> that kernels use."""

from __future__ import annotations

# std::move and std::forward are the compiler's own.
UTILITY = """#pragma once
#include <type_traits>
namespace std {
template <class T> __host__ __device__ void swap(T& a, T& b) { T kept = move(a); a = move(b); b = move(kept); }
template <class A, class B> struct pair { A first; B second; };
template <class A, class B> __host__ __device__ constexpr pair<A, B> make_pair(A a, B b) { return pair<A, B>{a, b}; }
}
"""

ALGORITHM = """#pragma once
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

TYPE_TRAITS = """#pragma once
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


LIMITS = "\n".join(
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
