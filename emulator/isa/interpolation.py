"""The special function unit's quadratic interpolation, bit for bit: reciprocal, roots, power, logarithm and sine.

The unit takes coefficients from a table by the upper bits of the fraction, x being the n bits below them, and forms

    c₀·2^(f−2) + bias + c₁·x·2^(17−n) + c₂·s·2²,     of which bit f is the last of a 24-bit result,

where s is the square of x without those partial products xᵢ·xⱼ whose column (i + j + 1, or 2i for i = j) lies below
`cut`, in units of 2^cut. That structure was read off the results of an H200 by their Walsh spectrum; see the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.isa import interpolation_tables as tables
from emulator.isa.builder import Value
from emulator.isa.lanes import Lanes


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    words: tuple[int, ...]
    bits: int  # n: bits of the fraction below those that choose the segment
    cut: int
    fraction: int  # f
    bias: int
    carry: int = 0  # bits of the linear coefficient that count once more, as if x were one larger

    def interpolate(self, x: Lanes, segment: Value, offset: Value) -> Value:
        """The 24-bit result (i32) at `offset` (i32, n bits) in the segment (i32)."""
        return x.cast(x.ashr(self.total(x, segment, offset), x.const("i64", self.fraction)), "trunc", "i32")

    def total(self, x: Lanes, segment: Value, offset: Value) -> Value:
        """The whole sum (i64)."""
        word = self._word(x, segment)
        quadratic = x.ashr(x.shl(word, x.const("i64", 50)), x.const("i64", 50))
        linear = x.ashr(x.shl(word, x.const("i64", 30)), x.const("i64", 44))
        total = x.shl(x.lshr(word, x.const("i64", 34)), x.const("i64", self.fraction - 2))
        total = x.add(total, x.const("i64", self.bias))
        if self.carry:
            total = x.add(total, x.and_(linear, x.const("i64", self.carry)))
        wide = x.shl(x.resize(offset, "i64"), x.const("i64", 17 - self.bits))
        total = x.add(total, x.mul(linear, wide))
        square = x.shl(x.resize(self._square(x, offset), "i64"), x.const("i64", 2))
        return x.add(total, x.mul(quadratic, square))

    def _square(self, x: Lanes, offset: Value) -> Value:
        return square_above(x, offset, self.bits, self.cut)

    def _word(self, x: Lanes, segment: Value) -> Value:
        return lookup(x, self.name, self.words, segment)


def square_above(x: Lanes, offset: Value, bits: int, cut: int) -> Value:
    """The square of a number of `bits` bits (i32) without the partial products below the column `cut`."""
    total = x.const("i32", 0)
    for i in range((cut + 1) // 2, bits):
        lowest = cut - 1 - i  # the products with lower bits fall below the cut
        others = x.and_(offset, x.const("i32", (1 << i) - (1 << lowest)))
        row = x.add(x.lshr(others, x.const("i32", lowest)), x.const("i32", 1 << (2 * i - cut)))
        chosen = x.sub(x.const("i32", 0), x.and_(x.lshr(offset, x.const("i32", i)), x.const("i32", 1)))
        total = x.add(total, x.and_(row, chosen))
    return total


def lookup(x: Lanes, name: str, words: Sequence[int], index: Value) -> Value:
    """The words (i64) at the indices (i32) of a constant table."""
    size = len(words)
    entries = ", ".join(f"i64 {word}" for word in words)
    x.declare(f"@interpolate.{name} = internal constant [{size} x i64] [{entries}]")
    place = x.fresh()
    x.emit(f"{place} = getelementptr i64, ptr @interpolate.{name}, {index}")
    if not index.lanes:
        return x._put(f"load i64, ptr {place}", "i64", 0)
    lanes = index.lanes
    kind, mask = f"<{lanes} x i64>", f"<{lanes} x i1>"
    gather = f"llvm.masked.gather.v{lanes}i64.v{lanes}p0"
    x.declare(f"declare {kind} @{gather}(<{lanes} x ptr>, {mask}, {kind})")
    call = f"call {kind} @{gather}(<{lanes} x ptr> {place}, {mask} splat (i1 true), {kind} poison)"
    return x._put(call, "i64", lanes)


def _table(name: str, text: str, bits: int, cut: int, fraction: int, bias: int, carry: int = 0) -> Table:
    return Table(name, tuple(int(word, 16) for word in text.split()), bits, cut, fraction, bias, carry)


RECIPROCAL = _table("reciprocal", tables.RCP, 16, 17, 17, 8095)
RECIPROCAL_ROOT = _table("reciprocal_root", tables.RSQRT, 17, 19, 17, 32767)
ROOT = _table("root", tables.SQRT, 17, 19, 18, 65535)
POWER = _table("power", tables.EX2, 17, 19, 17, 24459)
LOGARITHM = _table("logarithm", tables.LG2, 17, 19, 17, 6688, 8)
SINE = _table("sine", tables.SIN, 17, 19, 17, 0)

_FRACTION = (1 << 23) - 1
_INFINITY = 0x7F800000


def _field(x: Lanes, a: Value) -> tuple[Value, Value]:
    """The unbiased exponent and the fraction of a normal float."""
    bits = x.bitcast(a, "i32")
    exponent = x.sub(x.and_(x.lshr(bits, x.const("i32", 23)), x.const("i32", 0xFF)), x.const("i32", 127))
    return exponent, x.and_(bits, x.const("i32", _FRACTION))


def _power_of_two(x: Lanes, exponent: Value) -> Value:
    return x.bitcast(x.shl(x.add(exponent, x.const("i32", 127)), x.const("i32", 23)), "float")


def _scaled(x: Lanes, significand: Value, exponent: Value) -> Value:
    """significand·2^exponent for a significand of 24 bits, exact."""
    return x.binary("fmul", x.cast(significand, "sitofp", "float"), _power_of_two(x, exponent))


def _raised(x: Lanes, a: Value) -> tuple[Value, Value]:
    """The value with subnormal numbers multiplied by 2²⁴, and where that was done."""
    tiny = x.fcmp("olt", x.fabs(a), x.const("float", 2.0**-126))
    return x.select(tiny, x.binary("fmul", a, x.const("float", 2.0**24)), a), tiny


def _ordinary(x: Lanes, a: Value) -> Value:
    """Where the value is finite and not zero."""
    magnitude = x.fabs(a)
    infinity = x.const_bits("float", _INFINITY)
    return x.and_(x.fcmp("ogt", magnitude, x.const("float", 0.0)), x.fcmp("olt", magnitude, infinity))


def reciprocal(x: Lanes, a: Value) -> Value:
    """1/a; subnormal numbers count."""
    one, quarter, many = (x.const("float", value) for value in (1.0, 0.25, 2.0**24))
    magnitude = x.fabs(a)
    factor = x.select(x.fcmp("ogt", magnitude, x.const("float", 2.0**126)), quarter, one)
    factor = x.select(x.fcmp("olt", magnitude, x.const("float", 2.0**-126)), many, factor)
    scaled = x.binary("fmul", a, factor)
    exponent, fraction = _field(x, scaled)
    segment = x.lshr(fraction, x.const("i32", 16))
    found = RECIPROCAL.interpolate(x, segment, x.and_(fraction, x.const("i32", 0xFFFF)))
    found = x.select(x.icmp("eq", fraction, x.const("i32", 0)), x.const("i32", 1 << 24), found)
    # 2⁻²⁴ comes last but one: the exponent of a scaled number is at most 125, so each factor is normal.
    value = x.binary("fmul", _scaled(x, found, x.const("i32", -24)), _power_of_two(x, x.neg(exponent)))
    value = x.copysign(x.binary("fmul", value, factor), a)
    plain = x.canonical(x.binary("fdiv", one, a))
    return x.select(_ordinary(x, a), value, plain)


def reciprocal_root(x: Lanes, a: Value) -> Value:
    """1/√a; subnormal numbers count."""
    scaled, tiny = _raised(x, a)
    exponent, fraction = _field(x, scaled)
    segment, offset = _two_octaves(x, exponent, fraction)
    found = RECIPROCAL_ROOT.interpolate(x, segment, offset)
    whole = x.icmp("eq", x.or_(segment, offset), x.const("i32", 0))
    found = x.select(whole, x.const("i32", 1 << 24), found)
    half = x.ashr(exponent, x.const("i32", 1))
    value = _scaled(x, found, x.sub(x.const("i32", -24), half))
    value = x.select(tiny, x.binary("fmul", value, x.const("float", 4096.0)), value)
    plain = x.canonical(x.binary("fdiv", x.const("float", 1.0), x.call("llvm.sqrt", a)))
    return x.select(x.and_(_ordinary(x, a), x.fcmp("ogt", a, x.const("float", 0.0))), value, plain)


def root(x: Lanes, a: Value) -> Value:
    """√a; subnormal numbers count."""
    scaled, tiny = _raised(x, a)
    exponent, fraction = _field(x, scaled)
    found = ROOT.interpolate(x, *_two_octaves(x, exponent, fraction))
    value = _scaled(x, found, x.sub(x.ashr(exponent, x.const("i32", 1)), x.const("i32", 23)))
    value = x.select(tiny, x.binary("fmul", value, x.const("float", 2.0**-12)), value)
    plain = x.canonical(x.call("llvm.sqrt", a))
    return x.select(x.and_(_ordinary(x, a), x.fcmp("ogt", a, x.const("float", 0.0))), value, plain)


def _two_octaves(x: Lanes, exponent: Value, fraction: Value) -> tuple[Value, Value]:
    """Segment and offset of a function of [1, 4): 64 segments for even exponents, 64 for odd ones."""
    odd = x.shl(x.and_(exponent, x.const("i32", 1)), x.const("i32", 6))
    return x.or_(odd, x.lshr(fraction, x.const("i32", 17))), x.and_(fraction, x.const("i32", (1 << 17) - 1))


def power(x: Lanes, a: Value, gradual: bool) -> Value:
    """2ᵃ; with `gradual` results below 2⁻¹²⁶ are made by squaring the power of half the exponent, as compilers do."""
    low = x.fcmp("olt", a, x.const("float", -126.0))
    halved = x.select(low, x.binary("fmul", a, x.const("float", 0.5)), a) if gradual else a
    bounded = x.call("llvm.minnum", x.fabs(halved), x.const("float", 160.0))
    # Fixed point by cutting off; a negative number with a fraction is complemented bit by bit, not negated.
    size = x.cast(x.binary("fmul", bounded, x.const("float", 2.0**23)), "fptosi", "i32")
    whole = x.icmp("eq", x.and_(size, x.const("i32", _FRACTION)), x.const("i32", 0))
    below = x.select(whole, x.neg(size), x.not_(size))
    number = x.select(x.fcmp("olt", halved, x.const("float", 0.0)), below, size)
    exponent = x.ashr(number, x.const("i32", 23))
    fraction = x.and_(number, x.const("i32", _FRACTION))
    found = POWER.interpolate(x, *_seventeen(x, fraction))
    inside = x.smax(x.smin(exponent, x.const("i32", 127)), x.const("i32", -126))
    value = x.binary("fmul", _scaled(x, found, x.const("i32", -23)), _power_of_two(x, inside))
    value = x.select(x.icmp("slt", exponent, x.const("i32", -126)), x.const("float", 0.0), value)
    value = x.select(x.icmp("sgt", exponent, x.const("i32", 127)), x.const_bits("float", _INFINITY), value)
    if gradual:
        value = x.select(low, x.binary("fmul", value, value), value)
    return x.select(x.is_nan(a), x.const_bits("float", 0x7FFFFFFF), value)


def cut_off(x: Lanes, total: Value, unseen: int) -> Value:
    """A sum in units of 2⁻⁴¹ as a float, cut off to 24 bits and the `unseen` low bits; sums are below 2⁵³.

    The magnitude of a negative sum is its complement, one unit less than the number.
    """
    sign = x.ashr(total, x.const("i64", 63))
    magnitude = x.and_(x.xor(total, sign), x.const("i64", -1 << unseen))
    wide = x.bitcast(x.cast(magnitude, "sitofp", "double"), "i64")
    kept = x.bitcast(x.and_(wide, x.const("i64", -(1 << 29))), "double")
    value = x.cast(x.binary("fmul", kept, x.const("double", 2.0**-41)), "fptrunc", "float")
    flipped = x.shl(x.cast(sign, "trunc", "i32"), x.const("i32", 31))
    return x.bitcast(x.xor(x.bitcast(value, "i32"), flipped), "float")


def _seventeen(x: Lanes, fraction: Value) -> tuple[Value, Value]:
    """Segment and offset of a 23-bit fraction for tables of 64 segments."""
    return x.lshr(fraction, x.const("i32", 17)), x.and_(fraction, x.const("i32", (1 << 17) - 1))


def logarithm(x: Lanes, a: Value) -> Value:
    """log₂ a; subnormal numbers count, −∞ at ±0, NaN below."""
    scaled, tiny = _raised(x, a)
    exponent, fraction = _field(x, scaled)
    total = LOGARITHM.total(x, *_seventeen(x, fraction))
    total = x.add(total, x.shl(x.resize(exponent, "i64", signed=True), x.const("i64", 41)))
    value = x.select(x.fcmp("oeq", scaled, x.const("float", 1.0)), x.const("float", 0.0), cut_off(x, total, 5))
    value = x.select(tiny, x.binary("fadd", value, x.const("float", -24.0)), value)
    zero, infinity = x.const("float", 0.0), x.const_bits("float", _INFINITY)
    value = x.select(x.fcmp("oeq", a, infinity), infinity, value)
    value = x.select(x.fcmp("oeq", a, zero), x.const_bits("float", 0xFF800000), value)
    return x.select(x.fcmp("ult", a, zero), x.const_bits("float", 0x7FFFFFFF), value)


# 1/2π as the float that compilers multiply by; the product is cut off to a float.
_TURN = 0.15915493667125702


def sine(x: Lanes, a: Value, cosine: bool) -> Value:
    """sin or cos of an angle in radians; NaN at infinities."""
    product = x.binary("fmul", x.cast(x.flush(a), "fpext", "double"), x.const("double", _TURN))  # exact
    turns = x.bitcast(x.and_(x.bitcast(product, "i64"), x.const("i64", -(1 << 29))), "double")
    # Fixed point with 25 bits behind the point, cut off; whole turns do not count.
    size = x.call("llvm.trunc", x.binary("fmul", x.fabs(turns), x.const("double", 2.0**25)))
    rest = x.call("llvm.trunc", x.binary("fmul", size, x.const("double", 2.0**-25)))
    size = x.binary("fsub", size, x.binary("fmul", rest, x.const("double", 2.0**25)))
    number = x.call("llvm.fptosi.sat", size, type="i32", overloads=2)
    quarter = x.lshr(number, x.const("i32", 23))
    fraction = x.and_(number, x.const("i32", _FRACTION))
    falling = x.xor(x.and_(quarter, x.const("i32", 1)), x.const("i32", int(cosine)))
    complement = x.xor(fraction, x.const("i32", _FRACTION))
    fraction = x.select(x.icmp("ne", falling, x.const("i32", 0)), complement, fraction)
    value = x.bitcast(cut_off(x, SINE.total(x, *_seventeen(x, fraction)), 0), "i32")
    if cosine:
        quarter = x.add(quarter, x.const("i32", 1))
    sign = x.shl(x.lshr(x.and_(quarter, x.const("i32", 2)), x.const("i32", 1)), x.const("i32", 31))
    if not cosine:
        sign = x.xor(sign, x.and_(x.bitcast(a, "i32"), x.const("i32", 1 << 31)))
    result = x.bitcast(x.xor(value, sign), "float")
    finite = x.fcmp("olt", x.fabs(a), x.const_bits("float", _INFINITY))
    return x.select(finite, result, x.const_bits("float", 0x7FFFFFFF))
