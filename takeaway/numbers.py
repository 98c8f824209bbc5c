"""Numbers of a request as their bytes in a kernel's memory."""

from __future__ import annotations

import math
import struct

from protocol.dtypes import INTEGER_BITS, ITEM_BYTES, Number, read_number

_INFINITY = 0x7F80
_FORMATS = {"float16": "<e", "float32": "<f", "float64": "<d"}


def number_bytes(value: Number, dtype: str) -> bytes:
    """One element of `dtype`, little-endian. ValueError where the value does not fit."""
    number = read_number(value, dtype)
    if isinstance(number, complex):
        part = "float32" if dtype == "complex64" else "float64"
        return _real(number.real, part) + _real(number.imag, part)
    if dtype == "bool" or dtype in INTEGER_BITS:
        return (int(number) % (1 << 8 * ITEM_BYTES[dtype])).to_bytes(ITEM_BYTES[dtype], "little")
    return _real(float(number), dtype)


def _real(number: float, dtype: str) -> bytes:
    try:
        if dtype == "bfloat16":
            bits = _bfloat16(struct.unpack("<I", struct.pack("<f", number))[0])
            if math.isfinite(number) and bits & 0x7FFF == _INFINITY:
                raise OverflowError
            return bits.to_bytes(2, "little")
        return struct.pack(_FORMATS[dtype], number)
    except OverflowError:
        raise ValueError(f"{number!r} does not fit {dtype}") from None


def _bfloat16(bits: int) -> int:
    """The upper half of a float32's bits, rounded to nearest even; a NaN stays one."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
