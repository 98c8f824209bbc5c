"""Rows of conversions to and from numbers of eight bits and fewer, and of cvt.pack."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.isa.form import Form, row
from emulator.isa.half import halves, pack, to_single
from emulator.isa.lanes import Lanes, Value


@dataclass(frozen=True, slots=True)
class Small:
    """A format: exponent bias, fraction bits, the codes of the largest finite number and of NaN, bits in all."""

    bias: int
    fraction: int
    largest: int
    nan: int  # what a NaN becomes; formats without NaN have the largest number for it
    bits: int = 8


SMALL = {
    "e4m3": Small(7, 3, 0x7E, 0x7F),
    "e5m2": Small(15, 2, 0x7B, 0x7F),
    "e2m3": Small(1, 3, 0x1F, 0x1F, 6),
    "e3m2": Small(3, 2, 0x1F, 0x1F, 6),
    "e2m1": Small(1, 1, 0x7, 0x7, 4),
}


def _encode(x: Lanes, a: Value, small: Small, relu: bool) -> Value:
    """The code (in an i32) nearest to a float, clamped to the largest finite number."""
    bits = x.bitcast(a, "i32")
    magnitude = x.and_(bits, x.const("i32", 0x7FFFFFFF))
    drop = 23 - small.fraction
    odd = x.and_(x.lshr(magnitude, x.const("i32", drop)), x.const("i32", 1))
    rounded = x.add(magnitude, x.add(x.const("i32", (1 << (drop - 1)) - 1), odd))
    rebased = x.sub(x.lshr(rounded, x.const("i32", drop)), x.const("i32", (127 - small.bias) << small.fraction))
    # Below the smallest normal number: adding 2²³ quanta leaves the rounded number of quanta in the low bits.
    quanta = x.const("float", 2.0 ** (23 + 1 - small.bias - small.fraction))
    raised = x.bitcast(x.binary("fadd", x.bitcast(magnitude, "float"), quanta), "i32")
    few = x.and_(raised, x.const("i32", 0xFF))
    tiny = x.icmp("ult", magnitude, x.const("i32", (127 + 1 - small.bias) << 23))
    code = x.smin(x.select(tiny, few, rebased), x.const("i32", small.largest))
    sign = x.lshr(x.and_(bits, x.const("i32", 1 << 31)), x.const("i32", 32 - small.bits))
    code = x.or_(code, sign)
    if relu:
        code = x.select(x.icmp("slt", bits, x.const("i32", 0)), x.const("i32", 0), code)
    return x.select(x.is_nan(a), x.const("i32", small.nan), code)


def _two_floats(x: Lanes, f: Form, a: Value, b: Value | None) -> tuple[Value, Value]:
    """The lower and the upper number: b and a, or the halves of a."""
    if b is not None:
        return b, a
    kind = f.types[1].removesuffix("x2")
    low, high = halves(x, a)
    return to_single(x, low, kind), to_single(x, high, kind)


def _encode_pair(x: Lanes, f: Form, a: Value, b: Value | None = None) -> Value:
    kind = f.types[0].removesuffix("x2")
    first, second = (_encode(x, value, SMALL[kind], f.has("relu")) for value in _two_floats(x, f, a, b))
    place, whole = (4, "i8") if kind == "e2m1" else (8, "i16")
    return x.cast(x.or_(first, x.shl(second, x.const("i32", place))), "trunc", whole)


def _decode(x: Lanes, code: Value, small: Small, relu: bool) -> Value:
    """A code (in an i16, nothing above it) as float16, which holds each of them exactly."""
    sign_bit = 1 << (small.bits - 1)
    sign = x.shl(x.and_(code, x.const("i16", sign_bit)), x.const("i16", 16 - small.bits))
    magnitude = x.and_(code, x.const("i16", sign_bit - 1))
    raised = x.shl(magnitude, x.const("i16", 10 - small.fraction))
    if small.bias == 15:
        half = raised
        nan = x.icmp("ugt", magnitude, x.const("i16", small.largest + 1))
    else:
        # As float16 bits the exponent is off by the biases' difference; a product sets it right, subnormals too.
        wide = x.cast(x.bitcast(raised, "half"), "fpext", "float")
        scaled = x.binary("fmul", wide, x.const("float", 2.0 ** (15 - small.bias)))
        half = x.bitcast(x.cast(scaled, "fptrunc", "half"), "i16")
        nan = x.icmp("ugt", magnitude, x.const("i16", small.largest))
    value = x.select(nan, x.const("i16", 0x7FFF), x.or_(half, sign))
    if relu:
        value = x.select(x.and_(x.icmp("ne", sign, x.const("i16", 0)), x.not_(nan)), x.const("i16", 0), value)
    return value


def _decode_pair(x: Lanes, f: Form, a: Value) -> Value:
    small = SMALL[f.types[1].removesuffix("x2")]
    wide = x.resize(a, "i16")
    place = 4 if small.bits == 4 else 8
    mask = x.const("i16", (1 << small.bits) - 1)
    codes = (x.and_(x.lshr(wide, x.const("i16", shift)), mask) for shift in (0, place))
    low, high = (_decode(x, code, small, f.has("relu")) for code in codes)
    return pack(x, low, high)


def _exponent_of(x: Lanes, f: Form, a: Value) -> Value:
    """ue8m0: the biased exponent of |a| alone (in an i32), rounded down or up; 255 is NaN and infinity."""
    magnitude = x.and_(x.bitcast(a, "i32"), x.const("i32", 0x7FFFFFFF))
    code = x.lshr(magnitude, x.const("i32", 23))
    if f.has("rp"):
        # 2⁻¹²⁷ has the code 0, so that only numbers beyond it are rounded up to 2⁻¹²⁶.
        between = x.icmp("ne", x.and_(magnitude, x.const("i32", 0x7FFFFF)), x.const("i32", 0))
        between = x.and_(between, x.icmp("ugt", magnitude, x.const("i32", 0x00400000)))
        between = x.and_(between, x.icmp("ult", magnitude, x.const("i32", 0x7F800000)))
        code = x.add(code, x.resize(between, "i32"))
    if f.has("satfinite"):
        code = x.select(x.is_nan(a), code, x.umin(code, x.const("i32", 254)))
    return code


def _exponent_pair(x: Lanes, f: Form, a: Value, b: Value | None = None) -> Value:
    low, high = (_exponent_of(x, f, value) for value in _two_floats(x, f, a, b))
    return x.cast(x.or_(low, x.shl(high, x.const("i32", 8))), "trunc", "i16")


def _from_exponents(x: Lanes, f: Form, a: Value) -> Value:
    """Two powers of two as bfloat16: 2⁻¹²⁷ is subnormal there, 255 is NaN."""
    parts = []
    for shift in (0, 8):
        code = x.and_(x.lshr(a, x.const("i16", shift)), x.const("i16", 0xFF))
        bits = x.shl(code, x.const("i16", 7))
        bits = x.select(x.icmp("eq", code, x.const("i16", 0)), x.const("i16", 0x0040), bits)
        parts.append(x.select(x.icmp("eq", code, x.const("i16", 255)), x.const("i16", 0x7FFF), bits))
    return pack(x, parts[0], parts[1])


def _pack_integers(x: Lanes, f: Form, a: Value, b: Value, c: Value | None = None) -> Value:
    """Two clamped integers, b in the lowest bits, a above it, and c's low bits above both."""
    kind = f.pick("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2")
    width = int(kind[1:])
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    mask = x.const("i32", (1 << width) - 1)
    first, second = (x.and_(x.smin(x.smax(v, x.const("i32", low)), x.const("i32", high)), mask) for v in (b, a))
    packed = x.or_(first, x.shl(second, x.const("i32", width)))
    return packed if c is None else x.or_(packed, x.shl(c, x.const("i32", 2 * width)))


_EIGHT = "(e4m3x2|e5m2x2)"
_FEWER = "(e2m1x2|e2m3x2|e3m2x2)"

ROWS = (
    row(f"cvt.rn.satfinite{{.relu}}.{_EIGHT}.f32 d, a, b", "b into the lower byte, a into the upper.", _encode_pair),
    row(f"cvt.rn.satfinite{{.relu}}.{_EIGHT}.f16x2 d, a", "Each half into its byte.", _encode_pair),
    row(f"cvt.rn.satfinite{{.relu}}.{_EIGHT}.bf16x2 d, a", "Each half into its byte.", _encode_pair),
    row(f"cvt.rn{{.relu}}.f16x2.{_EIGHT} d, a", "Each byte into its half.", _decode_pair),
    row(
        f"cvt.rn.satfinite{{.relu}}.{_FEWER}.f32 d, a, b",
        "b into the lower byte (e2m1: four bits), a into the upper; NaN becomes the largest number.",
        _encode_pair,
    ),
    row(
        f"cvt.rn.satfinite{{.relu}}.{_FEWER}.(f16x2|bf16x2) d, a",
        "Each half into its byte (e2m1: four bits); NaN becomes the largest number.",
        _encode_pair,
    ),
    row(f"cvt.rn{{.relu}}.f16x2.{_FEWER} d, a", "Each byte (e2m1: four bits) into its half.", _decode_pair),
    row(
        "cvt.(rz|rp){.satfinite}.ue8m0x2.f32 d, a, b",
        "The exponents of |b| and |a|, rounded down or up; infinity and NaN are 255.",
        _exponent_pair,
    ),
    row(
        "cvt.(rz|rp){.satfinite}.ue8m0x2.bf16x2 d, a",
        "The exponent of each half's magnitude, rounded down or up; infinity and NaN are 255.",
        _exponent_pair,
    ),
    row("cvt.rn.bf16x2.ue8m0x2 d, a", "Each byte as a power of two.", _from_exponents),
    row("cvt.pack.sat.(u16|s16).s32 d:b32, a, b", "b and a, clamped, in the two halves.", _pack_integers),
    row(
        "cvt.pack.sat.(u8|s8|u4|s4|u2|s2).s32.b32 d:b32, a:s32, b:s32, c:b32",
        "b and a, clamped, in the lowest bits; c's low bits above them.",
        _pack_integers,
    ),
)
