"""The hyperbolic tangent of the special function unit, bit for bit, from the coefficients that an H200 uses."""

from __future__ import annotations

from emulator.isa import interpolation_tables as tables
from emulator.isa.builder import Value
from emulator.isa.interpolation import cut_off, lookup, square_above
from emulator.isa.lanes import Lanes

# Octaves from 2⁻⁸ to 8: the binary logarithm of how many segments each has.
_SEGMENTS = (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)
_FIRST = -8
_BITS, _CUT = 17, 19
_WORDS = [tuple(int(part, 16) for part in word.split("/")) for word in tables.TANH.split()]
_CONSTANT, _LINEAR, _QUADRATIC = (tuple(word[part] for word in _WORDS) for part in range(3))
# By octave: where its segments begin, and four times further up how they are counted.
_OCTAVES = tuple(sum(1 << n for n in _SEGMENTS[:i]) | n << 8 for i, n in enumerate(_SEGMENTS))


def tanh(x: Lanes, a: Value) -> Value:
    """tanh a: a itself below 2⁻⁸, ±1 from 8 on."""
    bits = x.bitcast(a, "i32")
    magnitude = x.and_(bits, x.const("i32", 0x7FFFFFFF))
    exponent = x.sub(x.lshr(magnitude, x.const("i32", 23)), x.const("i32", 127))
    octave = x.sub(x.smax(x.smin(exponent, x.const("i32", 2)), x.const("i32", _FIRST)), x.const("i32", _FIRST))
    place = x.cast(lookup(x, "tanh.octave", _OCTAVES, octave), "trunc", "i32")
    count = x.lshr(place, x.const("i32", 8))
    fraction = x.and_(magnitude, x.const("i32", (1 << 23) - 1))
    segment = x.add(
        x.and_(place, x.const("i32", 0xFF)),
        x.binary("lshr", fraction, x.sub(x.const("i32", 23), count)),
    )
    offset = x.binary("lshr", fraction, x.sub(x.const("i32", 23 - _BITS), count))
    offset = x.and_(offset, x.const("i32", (1 << _BITS) - 1))
    total = lookup(x, "tanh.constant", _CONSTANT, segment)
    total = x.add(total, x.mul(lookup(x, "tanh.linear", _LINEAR, segment), x.resize(offset, "i64")))
    square = x.shl(x.resize(square_above(x, offset, _BITS, _CUT), "i64"), x.const("i64", 2))
    total = x.sub(total, x.mul(lookup(x, "tanh.quadratic", _QUADRATIC, segment), square))
    scale = x.add(x.smax(x.smin(exponent, x.const("i32", 0)), x.const("i32", _FIRST)), x.const("i32", 128))
    value = x.binary("fmul", cut_off(x, total, 0), x.bitcast(x.shl(scale, x.const("i32", 23)), "float"))
    size = x.bitcast(magnitude, "float")
    value = x.select(x.fcmp("olt", size, x.const("float", 2.0**_FIRST)), size, value)
    value = x.select(x.fcmp("oge", size, x.const("float", 8.0)), x.const("float", 1.0), value)
    return x.select(x.is_nan(a), x.const_bits("float", 0x7FFFFFFF), x.copysign(value, a))
