"""Half-precision values: the 16 bits of float16 and bfloat16, to and from the formats that are computed in.

float16 arithmetic is done in single precision and bfloat16 arithmetic too: both hold every operand exactly, and
24 ≥ 2p + 2 bits make the second rounding of a sum, a difference or a quotient harmless (p = 11, 8). Fused
multiply-adds are summed in double precision and rounded to odd, so that the last rounding is the only one.
"""

from __future__ import annotations

from emulator.isa.builder import Value
from emulator.isa.lanes import Lanes
from emulator.isa.rounding import Rounding

NAN16 = 0x7FFF


def halves(x: Lanes, a: Value) -> tuple[Value, Value]:
    """The low and high 16 bits of a 32-bit word."""
    return x.cast(a, "trunc", "i16"), x.cast(x.lshr(a, x.const("i32", 16)), "trunc", "i16")


def pack(x: Lanes, low: Value, high: Value) -> Value:
    return x.or_(x.resize(low, "i32"), x.shl(x.resize(high, "i32"), x.const("i32", 16)))


def flush_half(x: Lanes, bits: Value, kind: str) -> Value:
    """`.ftz` on the 16 bits of a half value."""
    exponent = 0x7C00 if kind == "f16" else 0x7F80
    subnormal = x.icmp("eq", x.and_(bits, x.const("i16", exponent)), x.const("i16", 0))
    return x.select(subnormal, x.and_(bits, x.const("i16", 0x8000)), bits)


def to_single(x: Lanes, bits: Value, kind: str, ftz: bool = False) -> Value:
    """The float that 16 bits of kind 'f16' or 'bf16' stand for; NaNs keep no meaning beyond being NaN."""
    if ftz:
        bits = flush_half(x, bits, kind)
    if kind == "f16":
        return x.cast(x.bitcast(bits, "half"), "fpext", "float")
    return x.bitcast(x.shl(x.resize(bits, "i32"), x.const("i32", 16)), "float")


def from_single(x: Lanes, a: Value, kind: str, rounding: Rounding = "rn") -> Value:
    """The 16 bits nearest to a float (or directed); every NaN becomes 0x7fff."""
    if kind == "f16":
        nearest = x.cast(a, "fptrunc", "half")
        if rounding != "rn":
            residual = x.binary("fsub", a, x.cast(nearest, "fpext", "float"))
            nearest = x.nudge(nearest, _finite_pull(x, residual, a, nearest), rounding)
        bits = x.bitcast(nearest, "i16")
    else:
        # By hand: the CPU's own bfloat16 conversion flushes subnormal numbers.
        word = x.bitcast(a, "i32")
        top = x.lshr(word, x.const("i32", 16))
        bias = {
            "rn": lambda: x.add(x.const("i32", 0x7FFF), x.and_(top, x.const("i32", 1))),
            "rz": lambda: x.const("i32", 0),
            "rm": lambda: x.and_(x.ashr(word, x.const("i32", 31)), x.const("i32", 0xFFFF)),
            "rp": lambda: x.and_(x.not_(x.ashr(word, x.const("i32", 31))), x.const("i32", 0xFFFF)),
        }[rounding]()
        bits = x.cast(x.lshr(x.add(word, bias), x.const("i32", 16)), "trunc", "i16")
    return x.select(x.is_nan(a), x.const("i16", NAN16), bits)


def _finite_pull(x: Lanes, residual: Value, a: Value, nearest: Value) -> Value:
    """The residual of a narrowing whose result overflowed: −∞·sign, which pulls back; none for an exact infinity."""
    infinity = x.const_bits("float", 0x7F800000)
    exact = x.fcmp("ueq", x.fabs(a), infinity)
    return x.select(exact, x.const("float", 0.0), residual)


def from_double(x: Lanes, a: Value, kind: str, rounding: Rounding = "rn") -> Value:
    """The 16 bits nearest to a double, rounded once: first to odd in single precision, which keeps every tie apart."""
    return from_single(x, odd_single(x, a), kind, rounding)


def narrowed_nan(x: Lanes, a: Value, kind: str) -> Value:
    """The 16 bits of a double's NaN as cvt passes it on: sign and upper payload, made quiet."""
    bits = x.bitcast(a, "i64")
    sign = x.cast(x.lshr(x.and_(bits, x.const("i64", 1 << 63)), x.const("i64", 48)), "trunc", "i16")
    fraction_bits, infinity = (10, 0x7C00) if kind == "f16" else (7, 0x7F80)
    payload = x.cast(x.lshr(bits, x.const("i64", 52 - fraction_bits)), "trunc", "i16")
    payload = x.and_(payload, x.const("i16", (1 << fraction_bits) - 1))
    quiet = x.const("i16", infinity | 1 << (fraction_bits - 1))
    return x.or_(x.or_(sign, payload), quiet)


def odd_single(x: Lanes, a: Value) -> Value:
    """The double rounded to single precision, with the last bit set where that is inexact."""
    nearest = x.cast(a, "fptrunc", "float")
    residual = x.binary("fsub", a, x.cast(nearest, "fpext", "double"))
    toward_zero = x.nudge(nearest, residual, "rz")
    inexact = x.fcmp("one", residual, x.const("double", 0.0))
    bits = x.bitcast(toward_zero, "i32")
    return x.bitcast(x.or_(bits, x.resize(inexact, "i32")), "float")


def odd_double(x: Lanes, total: Value, rest: Value) -> Value:
    """total + rest rounded to odd, where total is the nearest double to the sum."""
    bits = x.bitcast(total, "i64")
    zero = x.const("double", 0.0)
    even = x.icmp("eq", x.and_(bits, x.const("i64", 1)), x.const("i64", 0))
    above = x.icmp("eq", x.fcmp("ogt", rest, zero), x.fcmp("ogt", total, zero))
    moved = x.select(above, x.add(bits, x.const("i64", 1)), x.sub(bits, x.const("i64", 1)))
    inexact = x.and_(even, x.fcmp("one", rest, zero))
    return x.bitcast(x.select(inexact, moved, bits), "double")


def fma_exact(x: Lanes, a: Value, b: Value, c: Value) -> Value:
    """a·b + c of three floats that hold half values, as a double rounded to odd."""
    wide_a, wide_b, wide_c = (x.cast(v, "fpext", "double") for v in (a, b, c))
    product = x.binary("fmul", wide_a, wide_b)  # exact: at most 22 bits
    total, rest = x.two_sum(product, wide_c)
    finite = x.fcmp("ord", rest, rest)
    return x.select(finite, odd_double(x, total, rest), total)
