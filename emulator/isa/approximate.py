"""Logarithm, sine, cosine and hyperbolic tangent, within the errors that the manual documents.

Polynomials are minimax or Taylor ones in single precision with fused multiply-adds; each function says its error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from emulator.isa.builder import Value
from emulator.isa.lanes import Lanes


def _polynomial(x: Lanes, at: Value, coefficients: Sequence[float]) -> Value:
    """Horner's scheme; coefficients from the highest power down."""
    result = x.const(at.type, coefficients[0])
    for coefficient in coefficients[1:]:
        result = x.call("llvm.fma", result, at, x.const(at.type, coefficient))
    return result


def _power_of_two(x: Lanes, exponent: Value) -> Value:
    """2^exponent as a float, for −126 ≤ exponent ≤ 127 (i32)."""
    return x.bitcast(x.shl(x.add(exponent, x.const("i32", 127)), x.const("i32", 23)), "float")


_EXP2 = [math.log(2) ** n / math.factorial(n) for n in range(7, -1, -1)]


def exp2(x: Lanes, a: Value) -> Value:
    """2^a in single precision: at most 1 ulp off; gradual underflow."""
    clamped = x.call("llvm.maxnum", x.call("llvm.minnum", a, x.const("float", 130.0)), x.const("float", -152.0))
    whole = x.call("llvm.roundeven", clamped)
    mantissa = _polynomial(x, x.binary("fsub", clamped, whole), _EXP2)
    exponent = x.cast(whole, "fptosi", "i32")
    half = x.ashr(exponent, x.const("i32", 1))
    # In two steps: 2^130 and 2^−152 are no floats. The first product is exact, so rounding happens once.
    scaled = x.binary("fmul", mantissa, _power_of_two(x, half))
    result = x.binary("fmul", scaled, _power_of_two(x, x.sub(exponent, half)))
    return x.select(x.is_nan(a), a, result)


_LOG2 = [2 / math.log(2) / n for n in (11, 9, 7, 5, 3, 1)]


def log2(x: Lanes, a: Value) -> Value:
    """log₂ a in single precision: 2 ulp, relative also near 1; −∞ at ±0, NaN below."""
    tiny = x.fcmp("olt", a, x.const("float", 2.0**-126))
    raised = x.select(tiny, x.binary("fmul", a, x.const("float", 2.0**24)), a)
    bits = x.bitcast(raised, "i32")
    # The fraction is brought to [√½, √2), so that log₂ m and the exponent never cancel.
    shifted = x.sub(bits, x.const("i32", 0x3F3504F3))
    exponent = x.ashr(shifted, x.const("i32", 23))
    fraction = x.add(x.and_(shifted, x.const("i32", 0x7FFFFF)), x.const("i32", 0x3F3504F3))
    m = x.bitcast(fraction, "float")
    one = x.const("float", 1.0)
    t = x.binary("fdiv", x.binary("fsub", m, one), x.binary("fadd", m, one))
    series = x.binary("fmul", t, _polynomial(x, x.binary("fmul", t, t), _LOG2))
    exponent = x.sub(exponent, x.select(tiny, x.const("i32", 24), x.const("i32", 0)))
    result = x.binary("fadd", x.cast(exponent, "sitofp", "float"), series)
    infinity = x.const_bits("float", 0x7F800000)
    result = x.select(x.fcmp("ueq", a, infinity), a, result)
    zero = x.const("float", 0.0)
    result = x.select(x.fcmp("olt", a, zero), x.const_bits("float", 0x7FFFFFFF), result)
    return x.select(x.fcmp("oeq", a, zero), x.const_bits("float", 0xFF800000), result)


_SIN = [(-1) ** (n // 2) * (math.pi / 2) ** n / math.factorial(n) for n in (9, 7, 5, 3, 1)]
_COS = [(-1) ** (n // 2) * (math.pi / 2) ** n / math.factorial(n) for n in (10, 8, 6, 4, 2, 0)]


def sine(x: Lanes, a: Value, cosine: bool) -> Value:
    """sin or cos in single precision: 2⁻²³ absolute for |a| < 10⁵; NaN at infinities, ±0 below 2⁻¹²⁶."""
    a = x.flush(a)
    # A quarter turn is the unit. The double product keeps 29 bits more than the float has.
    turns = x.binary("fmul", x.cast(a, "fpext", "double"), x.const("double", 2 / math.pi))
    whole = x.call("llvm.roundeven", turns)
    f = x.cast(x.binary("fsub", turns, whole), "fptrunc", "float")
    quarter = x.call("llvm.fptosi.sat", whole, type="i64", overloads=2)
    quadrant = x.cast(quarter, "trunc", "i32")
    if cosine:
        quadrant = x.add(quadrant, x.const("i32", 1))
    square = x.binary("fmul", f, f)
    sin = x.binary("fmul", f, _polynomial(x, square, _SIN))
    cos = _polynomial(x, square, _COS)
    odd = x.icmp("ne", x.and_(quadrant, x.const("i32", 1)), x.const("i32", 0))
    value = x.bitcast(x.select(odd, cos, sin), "i32")
    sign = x.shl(x.and_(quadrant, x.const("i32", 2)), x.const("i32", 30))
    result = x.bitcast(x.xor(value, sign), "float")
    return result if cosine else x.select(x.fcmp("oeq", a, x.const("float", 0.0)), a, result)


_TANH = [
    2**n * (2**n - 1) * b / math.factorial(n)
    for n, b in ((10, 5 / 66), (8, -1 / 30), (6, 1 / 42), (4, -1 / 30), (2, 1 / 6))
]


def tanh(x: Lanes, a: Value) -> Value:
    """tanh in single precision: 2⁻²⁰ relative, where the manual allows 2⁻¹¹."""
    magnitude = x.fabs(a)
    power = exp2(x, x.binary("fmul", magnitude, x.const("float", 2 / math.log(2))))
    one = x.const("float", 1.0)
    large = x.binary("fsub", one, x.binary("fdiv", x.const("float", 2.0), x.binary("fadd", power, one)))
    square = x.binary("fmul", a, a)
    small = x.binary("fmul", magnitude, _polynomial(x, square, _TANH))
    near = x.fcmp("olt", magnitude, x.const("float", 0.35))
    return x.copysign(x.select(near, small, large), a)
