"""The special function unit on doubles: it sees the upper 32 bits, and the result's lower 32 bits are 0.

An H200 gives what its single-precision functions give for the same 20 bits of fraction, cut off to 20 bits.
"""

from __future__ import annotations

from emulator.isa.approximate import quick
from emulator.isa.builder import Value
from emulator.isa.lanes import Lanes

_NAN = 0x7FFFFFFF00000000
_INFINITY = 0x7FF0000000000000


def upper_word(x: Lanes, a: Value) -> Value:
    """The double with its lower 32 bits cleared."""
    return x.bitcast(x.and_(x.bitcast(a, "i64"), x.const("i64", -(1 << 32))), "double")


def reciprocal(x: Lanes, a: Value) -> Value:
    """1/a; subnormal numbers are flushed, going in and coming out."""
    a = upper_word(x, x.flush(a))
    mantissa, exponent = x.normalise(a)
    found = _single(x, "rcp", mantissa)
    result = x.flush(x.scale(found, x.neg(exponent)))
    # Zeros and infinities by division, which is exact there.
    plain = x.binary("fdiv", x.const("double", 1.0), a)
    result = x.select(_finite(x, a), result, plain)
    return x.select(x.is_nan(a), x.const_bits("double", _NAN), result)


def reciprocal_root(x: Lanes, a: Value) -> Value:
    """1/√a; subnormal numbers going in are flushed."""
    a = upper_word(x, x.flush(a))
    mantissa, exponent = x.normalise(a)
    odd = x.and_(exponent, x.const("i64", 1))
    doubled = x.binary("fmul", mantissa, x.const("double", 2.0))
    mantissa = x.select(x.icmp("ne", odd, x.const("i64", 0)), doubled, mantissa)
    found = _single(x, "rsqrt", mantissa)
    result = x.scale(found, x.neg(x.ashr(exponent, x.const("i64", 1))))
    plain = x.binary("fdiv", x.const("double", 1.0), x.call("llvm.sqrt", a))
    positive = x.fcmp("ogt", a, x.const("double", 0.0))
    result = x.select(x.and_(_finite(x, a), positive), result, plain)
    return x.select(x.is_nan(result), x.const_bits("double", _NAN), result)


def refined_root(x: Lanes, a: Value) -> Value:
    """1/√a of a double as ptxas expands it: the unit's value y and one step of third order.

    With e = 1 − a·y², y + (3/8·e + 1/2)·(y·e); subnormal numbers are raised by 2⁵⁴ first.
    """
    tiny = x.fcmp("olt", x.fabs(a), x.const("double", 2.0**-1022))
    raised = x.select(tiny, x.binary("fmul", a, x.const("double", 2.0**54)), a)
    y = reciprocal_root(x, raised)
    square = x.binary("fmul", y, y)
    error = x.call("llvm.fma", raised, x.fneg(square), x.const("double", 1.0))
    weight = x.call("llvm.fma", error, x.const("double", 0.375), x.const("double", 0.5))
    result = x.call("llvm.fma", weight, x.binary("fmul", y, error), y)
    result = x.select(tiny, x.binary("fmul", result, x.const("double", 2.0**27)), result)
    ordinary = x.and_(_finite(x, a), x.fcmp("ogt", a, x.const("double", 0.0)))
    plain = x.binary("fdiv", x.const("double", 1.0), x.call("llvm.sqrt", a))
    return x.canonical(x.select(ordinary, result, plain), a)


def _single(x: Lanes, opcode: str, mantissa: Value) -> Value:
    """The single-precision function of a number in [1, 4), as a double cut off to 20 bits of fraction."""
    found = quick(x, opcode, x.cast(mantissa, "fptrunc", "float"))
    return upper_word(x, x.cast(found, "fpext", "double"))


def _finite(x: Lanes, a: Value) -> Value:
    """Whether it is neither zero, infinite nor NaN."""
    magnitude = x.fabs(a)
    finite = x.fcmp("olt", magnitude, x.const_bits("double", _INFINITY))
    return x.and_(finite, x.fcmp("ogt", magnitude, x.const("double", 0.0)))
