"""What instructions compute, worked out a lane at a time with Python's integers and fractions.

Each function takes the form and the bits of the sources and returns the bits of the destinations. Nothing here
comes from the emulator: it is the other opinion.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction

from emulator.isa import Form

Reference = Callable[..., int | tuple[int, ...]]

# (fraction bits, exponent bits)
_LAYOUT = {"f16": (10, 5), "bf16": (7, 8), "f32": (23, 8), "f64": (52, 11)}
_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}


def width(kind: str) -> int:
    return 32 if kind.endswith("x2") else int(kind.lstrip("bfsu"))


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def number(kind: str, bits: int) -> int:
    """The integer that bits of an integer type stand for."""
    return signed(bits, width(kind)) if kind[0] == "s" else bits


# Floating numbers as exact fractions.


class Float:
    """A floating value: NaN, an infinity or an exact fraction, with its sign."""

    def __init__(self, kind: str, bits: int) -> None:
        fraction_bits, exponent_bits = _LAYOUT[kind]
        self.kind, self.bits = kind, bits
        self.negative = bool(bits >> (fraction_bits + exponent_bits))
        exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
        fraction = bits & ((1 << fraction_bits) - 1)
        top = exponent == (1 << exponent_bits) - 1
        self.nan, self.infinite = top and fraction != 0, top and fraction == 0
        self.subnormal = exponent == 0 and fraction != 0
        bias = (1 << (exponent_bits - 1)) - 1
        significand = fraction if exponent == 0 else fraction | 1 << fraction_bits
        power = max(exponent, 1) - bias - fraction_bits
        value = Fraction(significand) * Fraction(2) ** power
        self.value = -value if self.negative else value

    @property
    def zero(self) -> bool:
        return not (self.nan or self.infinite) and self.value == 0


def flushed(f: Form, a: Float) -> Float:
    if f.has("ftz") and a.subnormal:
        return Float(a.kind, int(a.negative) << (sum(_LAYOUT[a.kind])))
    return a


def infinity(kind: str, negative: bool) -> int:
    fraction_bits, exponent_bits = _LAYOUT[kind]
    return int(negative) << (fraction_bits + exponent_bits) | ((1 << exponent_bits) - 1) << fraction_bits


def rounded(kind: str, value: Fraction, mode: str, zero_negative: bool = False, unbounded: bool = False) -> int:
    """The bits of an exact value rounded to a format. `zero_negative` is the sign of an exact zero."""
    fraction_bits, exponent_bits = _LAYOUT[kind]
    sign_shift = fraction_bits + exponent_bits
    bias = (1 << (exponent_bits - 1)) - 1
    if value == 0:
        return int(zero_negative) << sign_shift
    negative, magnitude = value < 0, abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    scaled = magnitude / Fraction(2) ** (exponent - fraction_bits)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1 == 1),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    whole += int(up)
    # A carry out of the significand moves into the exponent field by itself.
    code = whole + ((exponent + bias - 1) << fraction_bits) if whole >> fraction_bits else whole
    largest = ((1 << exponent_bits) - 1) << fraction_bits
    if code >= largest:
        away = mode == "rn" or (mode == "rm" and negative) or (mode == "rp" and not negative)
        code = largest if away else largest - 1
    return int(negative) << sign_shift | code


def is_tiny(kind: str, value: Fraction, mode: str) -> bool:
    """Whether a value rounds below the smallest normal number when the exponent has no bounds."""
    fraction_bits, exponent_bits = _LAYOUT[kind]
    smallest = Fraction(2) ** (2 - (1 << (exponent_bits - 1)))
    if value == 0 or abs(value) >= smallest:
        return False
    lifted = rounded(kind, value * 2 ** (fraction_bits + 2), mode)
    return abs(Float(kind, lifted).value) < smallest * 2 ** (fraction_bits + 2)


def finished(f: Form, kind: str, value: Fraction, zero_negative: bool) -> int:
    """An exact result rounded, saturated and flushed as the form says."""
    mode = f.pick("rn", "rz", "rm", "rp", default="rn")
    bits = rounded(kind, value, mode, zero_negative)
    sign_bit = 1 << sum(_LAYOUT[kind])
    if f.has("ftz") and is_tiny(kind, value, mode):
        bits &= sign_bit
    if f.has("sat") or f.has("relu"):
        if bits & sign_bit:
            return 0
        one = rounded(kind, Fraction(1), "rn")
        return min(bits, one) if f.has("sat") else bits
    return bits


def nan_of(f: Form, kind: str, operands: Sequence[Float]) -> int:
    """The NaN of arithmetic: fixed, or for doubles the last operand's, quiet."""
    if f.has("sat"):
        return 0
    if kind != "f64":
        return _NAN[kind]
    for operand in reversed(operands):
        if operand.nan:
            return operand.bits | 1 << 51
    return 0xFFF8000000000000


def special(f: Form, kind: str, operands: Sequence[Float], outcome: int | None) -> int | None:
    """NaN operands win; else the outcome that infinities force (None: there is none)."""
    if any(o.nan for o in operands):
        return nan_of(f, kind, operands)
    if outcome is not None and f.has("sat"):
        return 0 if outcome >> sum(_LAYOUT[kind]) else rounded(kind, Fraction(1), "rn")
    if outcome is not None and f.has("relu") and outcome >> sum(_LAYOUT[kind]):
        return 0
    return outcome


def floating(f: Form, *bits: int) -> int:
    """add, sub, mul, fma, mad, div, rcp and sqrt of one floating kind."""
    kind = f.type
    operation = {"mad": "fma", "rcp": "div"}.get(f.opcode, f.opcode)
    values = [flushed(f, Float(kind, b)) for b in bits]
    if f.opcode == "rcp":
        values.insert(0, Float(kind, rounded(kind, Fraction(1), "rn")))
    minus_zero = f.pick("rn", "rz", "rm", "rp") == "rm"
    if operation in ("add", "sub"):
        a, b = values
        b_negative = b.negative != (operation == "sub")
        forced = None
        if a.infinite or b.infinite:
            if a.infinite and b.infinite and a.negative != b_negative:
                return nan_of(f, kind, [])
            forced = infinity(kind, a.negative if a.infinite else b_negative)
        found = special(f, kind, values, forced)
        if found is not None:
            return found
        total = a.value - b.value if operation == "sub" else a.value + b.value
        both = a.zero and b.zero and a.negative == b_negative
        return finished(f, kind, total, a.negative if both else minus_zero)
    if operation in ("mul", "fma"):
        a, b = values[:2]
        if f.has("oob") and 0x7FF7 in (bits[0] & 0x7FFF, bits[1] & 0x7FFF):
            return 0
        negative = a.negative != b.negative
        order = [values[0], values[2], values[1]] if operation == "fma" else values
        if any(v.nan for v in values):
            return nan_of(f, kind, order)
        if (a.infinite and b.zero) or (b.infinite and a.zero):
            return nan_of(f, kind, [])
        infinite = a.infinite or b.infinite
        if operation == "mul":
            if infinite:
                return special(f, kind, values, infinity(kind, negative)) or 0
            return finished(f, kind, a.value * b.value, negative)
        c = values[2]
        if infinite and c.infinite and c.negative != negative:
            return nan_of(f, kind, [])
        if infinite or c.infinite:
            return special(f, kind, values, infinity(kind, negative if infinite else c.negative)) or 0
        product = a.value * b.value
        both = product == 0 and c.zero and c.negative == negative
        return finished(f, kind, product + c.value, negative if both else minus_zero)
    if operation == "div":
        a, b = values
        negative = a.negative != b.negative
        if a.nan or b.nan:
            return nan_of(f, kind, [b, a] if f.opcode == "div" else [b])
        if (a.infinite and b.infinite) or (a.zero and b.zero):
            return nan_of(f, kind, [])
        if a.infinite or b.zero:
            return infinity(kind, negative)
        if b.infinite or a.zero:
            return int(negative) << sum(_LAYOUT[kind])
        return finished(f, kind, a.value / b.value, negative)
    (a,) = values
    if a.nan:
        return nan_of(f, kind, [a])
    if a.zero or (a.infinite and not a.negative):
        return a.bits
    if a.negative:
        return nan_of(f, kind, [])
    return rounded(kind, _root(a.value, f), f.pick("rn", "rz", "rm", "rp"))


def _root(value: Fraction, f: Form) -> Fraction:
    """√value to far more bits than any format, with a last bit that says whether it is inexact."""
    shift = 700
    scaled = value * 4**shift
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(whole) ** 2 == scaled
    return (Fraction(whole) + (0 if exact else Fraction(1, 2))) / 2**shift


def pairwise(reference: Reference) -> Reference:
    """The same on both halves of packed operands."""

    def apply(f: Form, *bits: int) -> int:
        kind = f.type.removesuffix("x2")
        part = 32 if f.type == "f32x2" else 16
        one = OneKind(f, kind)
        mask = (1 << part) - 1
        low = reference(one, *(b & mask for b in bits))
        high = reference(one, *(b >> part & mask for b in bits))
        assert isinstance(low, int) and isinstance(high, int)
        return low & mask | (high & mask) << part

    return apply


class OneKind:
    """A form seen as that of one element of its packed type."""

    def __init__(self, form: Form, kind: str) -> None:
        self._form, self.type = form, kind
        self.opcode, self.has, self.pick = form.opcode, form.has, form.pick
        self.types = (kind,)


def single(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
