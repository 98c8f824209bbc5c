"""One row of D = A·B + C with the rounding that Hopper has, measured bit for bit on one H200.

A tensor core cuts the products of one instruction and the accumulator off (it does not round them) at 2⁻²⁵ of the
power of two of the largest of them (by the operands' exponents), sums them exactly, and rounds once: towards zero for
a float accumulator, to nearest for a float16 one. A zero is always +0.

What Hopper's `mma.sync` has no unit for is made of other instructions. Float8 products are float16 products of the
lower two bytes of every register and then of the upper two, and C is added last by an ordinary addition. The float16
form of m8n8k4 is a tree of ordinary additions in single precision. Doubles are a chain of fused multiply-adds in the
order of k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.isa.builder import Value
from emulator.isa.half import from_double, from_single, to_single
from emulator.isa.lanes import Lanes
from emulator.isa.rounding import Rounding
from emulator.isa.tensor_elements import exponent


@dataclass(frozen=True, slots=True)
class Term:
    """One k of a row: A's element (uniform), B's row, and the powers of two of both for floating kinds."""

    a: Value
    b: Value
    powers: tuple[Value, Value] | None = None


_CUT = 25  # bits kept below the largest term's power of two


def float_row(x: Lanes, terms: Sequence[Term], c: Value, kinds: tuple[str, str]) -> Value:
    """A row of one instruction's products; `kinds` are D's and C's ('f16' as 16 bits, 'f32')."""
    if kinds == ("f16", "f32"):
        # The unit has no such form: its float result is converted.
        return from_single(x, _float_sum(x, terms, c, "f32", "f32"), "f16")
    return _float_sum(x, terms, c, *kinds)


def byte_row(x: Lanes, terms: Sequence[Term], c: Value, kind: str) -> Value:
    """A row of float8 products; `kind` is D's and C's."""
    total = x.const("i16", 0) if kind == "f16" else x.const("float", 0.0)
    for upper in (False, True):
        total = _float_sum(x, [t for k, t in enumerate(terms) if (k % 4 >= 2) == upper], total, kind, kind)
    if kind == "f16":
        # The sum of two halves has few enough bits to be rounded in single precision first.
        return from_single(x, x.binary("fadd", to_single(x, total, "f16"), to_single(x, c, "f16")), "f16")
    return x.fadd(total, c)


def quad_row(x: Lanes, terms: Sequence[Term], c: Value, kinds: tuple[str, str]) -> Value:
    """A row of the float16 form of m8n8k4."""
    to, source = kinds
    p = [x.cast(x.binary("fmul", term.a, term.b), "fptrunc", "float") for term in terms]  # exact
    start = to_single(x, c, "f16") if source == "f16" else c
    if to == "f32":
        total = p[0]
        for product in p[1:]:
            total = x.binary("fadd", total, product)
        return x.fadd(total, start)
    first = x.binary("fadd", start, x.binary("fadd", p[0], p[1]))
    return from_single(x, x.binary("fadd", x.binary("fadd", p[2], p[3]), first), "f16")


def _power(x: Lanes, power: Value) -> Value:
    """2^power as a double, for an i32 power in the normal range."""
    biased = x.resize(x.add(power, x.const("i32", 1023)), "i64")
    return x.bitcast(x.shl(biased, x.const("i64", 52)), "double")


def _float_sum(x: Lanes, terms: Sequence[Term], c: Value, to: str, source: str) -> Value:
    start = to_single(x, c, "f16") if source == "f16" else c
    top = exponent(x, start, source)
    for term in terms:
        assert term.powers is not None
        top = x.smax(top, x.add(*term.powers))
    # Where everything is zero any scale will do.
    top = x.smax(top, x.const("i32", -400))
    up, down = _power(x, x.sub(x.const("i32", _CUT), top)), _power(x, x.sub(top, x.const("i32", _CUT)))
    wide = x.cast(start, "fpext", "double")
    plain = wide  # only for infinities and NaNs
    total = x.call("llvm.trunc", x.binary("fmul", wide, up))
    for term in terms:
        product = x.binary("fmul", term.a, term.b)  # exact
        plain = x.binary("fadd", plain, product)
        total = x.binary("fadd", total, x.call("llvm.trunc", x.binary("fmul", product, up)))  # exact: below 2³³
    finite = x.fcmp("olt", x.fabs(plain), x.const_bits("double", 0x7FF0000000000000))
    if to == "f16":
        return _positive_zero(x, from_double(x, x.select(finite, x.binary("fmul", total, down), plain), "f16"))
    # Cut to the float's 24 bits, then scaled: exact save where the result is subnormal.
    cut = x.bitcast(x.and_(x.bitcast(total, "i64"), x.const("i64", -(1 << 29))), "double")
    value = x.select(finite, x.binary("fmul", cut, down), plain)
    result = x.cast(value, "fptrunc", "float")
    residual = x.binary("fsub", value, x.cast(result, "fpext", "double"))
    overflow = x.fcmp("oeq", x.fabs(result), x.const_bits("float", 0x7F800000))
    toward_zero = x.nudge(result, x.select(overflow, x.const("double", 0.0), residual), "rz")
    return x.bitcast(_positive_zero(x, x.bitcast(x.canonical(toward_zero), "i32")), "float")


def _positive_zero(x: Lanes, bits: Value) -> Value:
    """−0 as +0."""
    sign = 1 << (bits.bits - 1)
    return x.select(x.icmp("eq", bits, x.const(bits.type, sign)), x.const(bits.type, 0), bits)


def integer_row(x: Lanes, terms: Sequence[Term], c: Value, saturate: bool) -> Value:
    """A row of products of small integers, wrapping or clamped to 32 bits."""
    products = x.const("i32", 0)
    for term in terms:
        products = x.add(products, x.mul(term.a, term.b))
    return _added(x, products, c, saturate)


def _added(x: Lanes, products: Value, c: Value, saturate: bool) -> Value:
    if not saturate:
        return x.add(c, products)
    total = x.add(x.resize(c, "i64", signed=True), x.resize(products, "i64", signed=True))
    total = x.smax(x.smin(total, x.const("i64", (1 << 31) - 1)), x.const("i64", -(1 << 31)))
    return x.resize(total, "i32")


def bit_row(x: Lanes, operation: str, terms: Sequence[Term], c: Value) -> Value:
    """C and the number of bits that are set in A ⊕ B or A ∧ B."""
    for term in terms:
        both = x.xor(term.a, term.b) if operation == "xor" else x.and_(term.a, term.b)
        c = x.add(c, x.call("llvm.ctpop", both))
    return c


def double_row(x: Lanes, terms: Sequence[Term], c: Value, rounding: Rounding) -> Value:
    for term in terms:
        c = x.fma(term.a, term.b, c, rounding)
    return c
