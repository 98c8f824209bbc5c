"""The elements of a matrix operand's registers as numbers to compute with."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.isa.builder import Value
from emulator.isa.half import halves, to_single
from emulator.isa.lanes import Lanes

NONE = -4000  # the power of two of a zero: below that of every product
# The power of two that subnormal numbers share, where it is not that of single precision; float8 becomes float16.
LEAST = {"f16": -14, "e4m3": -14, "e5m2": -14}
FLOATING = frozenset({"f16", "bf16", "tf32", "e4m3", "e5m2"})


def elements(x: Lanes, register: Value, kind: str) -> list[Value]:
    """The parts of a register in order: floats, doubles, 32-bit integers, or the word itself for single bits."""
    if kind in ("f64", "b1"):
        return [register]
    if kind == "tf32":
        # The hardware does not look at the lower 13 bits.
        return [x.bitcast(x.and_(register, x.const("i32", ~0x1FFF)), "float")]
    if kind in ("f16", "bf16"):
        return [to_single(x, half, kind) for half in halves(x, register)]
    if kind in ("e4m3", "e5m2"):
        return [_eight_bits(x, register, byte, kind) for byte in range(4)]
    bits = int(kind[1:])
    shift = x.ashr if kind[0] == "s" else x.lshr
    top = x.const("i32", 32 - bits)
    return [shift(x.shl(register, x.const("i32", 32 - bits - start)), top) for start in range(0, 32, bits)]


def _eight_bits(x: Lanes, register: Value, byte: int, kind: str) -> Value:
    """One float8 of a word as a float."""
    code = x.cast(x.lshr(register, x.const("i32", 8 * byte)), "trunc", "i8")
    word = x.cast(code, "zext", "i16")
    if kind == "e5m2":
        return to_single(x, x.shl(word, x.const("i16", 8)), "f16")
    magnitude = x.and_(word, x.const("i16", 0x7F))
    sign = x.shl(x.and_(word, x.const("i16", 0x80)), x.const("i16", 8))
    # float16 has the same fields with a bias that is larger by 8.
    half = x.or_(sign, x.shl(magnitude, x.const("i16", 7)))
    value = x.binary("fmul", to_single(x, half, "f16"), x.const("float", 256.0))
    nan = x.const_bits("float", 0x7FC00000)
    return x.select(x.icmp("eq", magnitude, x.const("i16", 0x7F)), nan, value)


def exponent(x: Lanes, a: Value, kind: str) -> Value:
    """The power of two (i32) of a float that holds a number of `kind`; far below all others for zero."""
    field = x.and_(x.lshr(x.bitcast(a, "i32"), x.const("i32", 23)), x.const("i32", 0xFF))
    found = x.smax(x.sub(field, x.const("i32", 127)), x.const("i32", LEAST.get(kind, -126)))
    return x.select(x.fcmp("oeq", a, x.const("float", 0.0)), x.const("i32", NONE), found)


def arrange(x: Lanes, sources: Sequence[Value], places: Sequence[tuple[int, int]]) -> Value:
    """A vector of the named lanes of several vectors of one type and length: (source, lane) for each of its own."""
    used = sorted({source for source, _ in places})
    lanes = sources[used[0]].lanes
    first, *others = used
    second = others.pop(0) if others else first
    start = {first: 0, second: lanes if second != first else 0}
    picked = [start[source] + lane if source in start else -1 for source, lane in places]
    result = x.shuffle(sources[first], picked, sources[second] if second != first else None)
    for other in others:
        wide = x.shuffle(sources[other], [lane if source == other else -1 for source, lane in places])
        blend = [len(places) + i if source == other else i for i, (source, _) in enumerate(places)]
        result = x.shuffle(result, blend, wide)
    return result
