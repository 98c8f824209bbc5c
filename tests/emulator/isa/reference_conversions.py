"""The references of cvt: integers, floating numbers, tf32, eight-bit floats and pairs."""

from __future__ import annotations

from fractions import Fraction

from emulator.isa import Form

from .references import Float, flushed, infinity, number, rounded, width


def _cvt_pack(f: Form, a: int, b: int, c: int = 0) -> int:
    kind = f.pick("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2")
    size = int(kind[1:])
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if kind[0] == "s" else (0, (1 << size) - 1)
    upper, lower = (max(low, min(high, number("s32", v))) & (1 << size) - 1 for v in (a, b))
    return (c << 2 * size | upper << size | lower) & 0xFFFFFFFF


def cvt(f: Form, *bits: int) -> int | None:
    """Conversions between integers and floating numbers; None for those that only the GPU answers."""
    if f.has("pack"):
        return _cvt_pack(f, *bits)
    target, source = f.types
    if "ue8m0x2" in f.types:
        return _cvt_packed(f, *bits)
    if source[0] in "us" and target[0] in "us":
        value = number(source, bits[0])
        if f.has("sat"):
            low, high = (
                (-(1 << width(target) - 1), (1 << width(target) - 1) - 1)
                if target[0] == "s"
                else (0, (1 << width(target)) - 1)
            )
            value = max(low, min(high, value))
        return value & (1 << width(target)) - 1
    floats = ("f16", "bf16", "f32", "f64")
    if target in floats and source[0] in "us":
        exact = Fraction(number(source, bits[0]))
        mode = f.pick("rn", "rz", "rm", "rp")
        if f.has("sat"):
            exact = max(Fraction(0), min(Fraction(1), exact))
        return rounded(target, exact, mode)
    if source not in floats or (target not in floats and target[0] not in "us"):
        return _cvt_packed(f, *bits)
    # Only single precision is flushed, and not on its way to float16.
    a = flushed(f, Float(source, bits[0])) if source == "f32" and target != "f16" else Float(source, bits[0])
    integral = f.pick("rni", "rzi", "rmi", "rpi")
    if target[0] in "us":
        size = width(target)
        low, high = (-(1 << size - 1), (1 << size - 1) - 1) if target[0] == "s" else (0, (1 << size) - 1)
        if a.nan:
            return 1 << size - 1 if size == 64 or source == "f64" else 0
        value = (low if a.negative else high) if a.infinite else _to_integral(a.value, integral)
        return max(low, min(high, value)) & (1 << size) - 1
    if a.nan:
        return None
    if a.infinite:
        value = infinity(target, a.negative)
        if f.has("satfinite"):
            return 0 if f.has("relu") and a.negative else value - 1
        if f.has("sat") or (f.has("relu") and a.negative):
            return 0 if a.negative else rounded(target, Fraction(1), "rn")
        return value
    exact = Fraction(_to_integral(a.value, integral)) if integral else a.value
    if f.has("sat"):
        exact, negative = max(Fraction(0), min(Fraction(1), exact)), False
    elif f.has("relu"):
        exact, negative = max(Fraction(0), exact), False
    else:
        negative = a.negative
    result = rounded(target, exact, f.pick("rn", "rz", "rm", "rp", default="rn"), negative)
    if f.has("satfinite") and Float(target, result).infinite:
        result -= 1
    if f.has("ftz") and target == "f32" and Float(target, result).subnormal:
        result &= 1 << 31
    return result


def _cvt_packed(f: Form, *bits: int) -> int | None:
    """Conversions to and from tf32, eight-bit floats and pairs."""
    target, source = f.types
    if target == "tf32":
        a = Float("f32", bits[0])
        if a.nan or a.infinite:
            return None
        if f.has("relu") and a.negative:
            return 0
        whole, rest = bits[0] >> 13 << 13, bits[0] & 0x1FFF
        odd = bits[0] >> 13 & 1
        up = {"rna": rest >= 0x1000, "rz": False, "rn": rest > 0x1000 or (rest == 0x1000 and odd == 1)}[
            f.pick("rna", "rz", "rn")
        ]
        result = whole + 0x2000 * int(up)
        return result - 0x2000 if f.has("satfinite") and Float("f32", result).infinite else result
    kind = target.removesuffix("x2")
    if source in _SMALL:
        size = _SMALL[source][3]
        place = 4 if size == 4 else 8
        parts = [_small_to_half(f, source, bits[0] >> at & (1 << size) - 1) for at in (0, place)]
        return parts[0] | parts[1] << 16
    if source == "ue8m0x2":
        parts = [{0: 0x0040, 255: 0x7FFF}.get(code, code << 7) for code in (bits[0] & 255, bits[0] >> 8)]
        return parts[0] | parts[1] << 16
    if source in ("f16x2", "bf16x2"):
        lows = [Float(source.removesuffix("x2"), v) for v in (bits[0] & 0xFFFF, bits[0] >> 16)]
    else:
        lows = [Float("f32", bits[1]), Float("f32", bits[0])]
    if target == "ue8m0x2":
        codes = [_exponent(f, a) for a in lows]
        return codes[0] | codes[1] << 8
    if target in _SMALL:
        codes = [_to_small(f, target, a) for a in lows]
        return codes[0] | codes[1] << (4 if _SMALL[target][3] == 4 else 8)
    if f.has("rs"):
        packed = [_by_chance(f, a, bits[2] >> shift & 0xFFFF) for a, shift in zip(lows, (0, 16), strict=True)]
        return packed[0] | packed[1] << 16
    mode = f.pick("rn", "rz")
    packed = [_half_of(f, kind, a, mode) for a in lows]
    return packed[0] | packed[1] << 16


def _half_of(f: Form, kind: str, a: Float, mode: str) -> int:
    if a.nan:
        return 0x7FFF
    if f.has("relu") and a.negative:
        return 0
    result = infinity(kind, a.negative) if a.infinite else rounded(kind, a.value, mode, a.negative)
    return result - 1 if f.has("satfinite") and Float(kind, result).infinite else result


def _by_chance(f: Form, a: Float, random: int) -> int:
    """A bfloat16 beside a number: the outer one where the dropped part and the random bits make a whole unit."""
    inner = _half_of(f, "bf16", a, "rz")
    if a.nan or a.infinite or (f.has("relu") and a.negative):
        return inner
    unit = Fraction(2) ** (max(inner >> 7 & 0xFF, 1) - 127 - 7)
    dropped = (abs(a.value) - abs(Float("bf16", inner).value)) / unit
    result = inner + int(dropped + Fraction(random, 1 << 16) >= 1)
    return result - 1 if f.has("satfinite") and Float("bf16", result).infinite else result


def _exponent(f: Form, a: Float) -> int:
    """The biased exponent of the power of two at most, or (`.rp`) at least, a magnitude; 2⁻¹²⁷ is the least."""
    if a.nan:
        return 255
    if a.infinite:
        return 254 if f.has("satfinite") else 255
    size = abs(a.value)
    if f.has("rp"):
        code = next(e for e in range(256) if size <= Fraction(2) ** (e - 127))
    else:
        code = max([e for e in range(255) if Fraction(2) ** (e - 127) <= size], default=0)
    return min(code, 254) if f.has("satfinite") else code


# (exponent bias, fraction bits, code of the largest finite number, bits in all)
_SMALL = {
    "e4m3x2": (7, 3, 0x7E, 8), "e5m2x2": (15, 2, 0x7B, 8), "e2m3x2": (1, 3, 0x1F, 6), "e3m2x2": (3, 2, 0x1F, 6),
    "e2m1x2": (1, 1, 7, 4),
}  # fmt: skip


def _small_value(kind: str, code: int) -> Fraction:
    bias, fraction_bits, _, _ = _SMALL[kind]
    exponent, fraction = code >> fraction_bits, code & (1 << fraction_bits) - 1
    significand = fraction | (1 << fraction_bits if exponent else 0)
    return Fraction(significand) * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)


def _to_small(f: Form, kind: str, a: Float) -> int:
    """The code of the nearest number, ties to the even code, by looking at all of them."""
    _, _, largest, width_ = _SMALL[kind]
    if a.nan:
        return 0x7F if width_ == 8 else largest
    if f.has("relu") and a.negative:
        return 0
    sign = int(a.negative) << width_ - 1
    size = abs(a.value)
    if a.infinite or size >= _small_value(kind, largest):
        return largest | sign
    code = next(c for c in range(largest) if _small_value(kind, c + 1) > size)
    below, above = size - _small_value(kind, code), _small_value(kind, code + 1) - size
    return code + int(above < below or (above == below and code & 1 == 1)) | sign


def _small_to_half(f: Form, kind: str, code: int) -> int:
    _, _, largest, width_ = _SMALL[kind]
    negative, size = code >> width_ - 1, code & (1 << width_ - 1) - 1
    if size > largest and not (kind == "e5m2x2" and size == 0x7C):
        return 0x7FFF
    if f.has("relu") and negative:
        return 0
    if size > largest:
        return infinity("f16", bool(negative))
    return rounded("f16", _small_value(kind, size) * (-1) ** negative, "rn", bool(negative))


def _to_integral(value: Fraction, mode: str) -> int:
    if mode == "rni":
        return round(value)
    if mode == "rmi":
        return value.numerator // value.denominator
    if mode == "rpi":
        return -(-value.numerator // value.denominator)
    return int(value)
