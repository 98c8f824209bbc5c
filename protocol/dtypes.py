"""Element types of scalars and buffers, and the exact reading of a number written as text."""

import math
from typing import Annotated, Literal

from pydantic import StringConstraints

DType = Literal[
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]

ITEM_BYTES: dict[str, int] = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}

INTEGER_BITS: dict[str, tuple[int, bool]] = {
    f"{'' if signed else 'u'}int{bits}": (bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)
}
"""dtype -> (width in bits, signed)."""

Number = bool | int | float | Annotated[str, StringConstraints(max_length=400)]
"""A number in a request. Text carries what JSON cannot: 64-bit integers, 'nan', 'inf', '-inf', '1+2j', '0xff'."""


def integer_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer dtype."""
    bits, signed = INTEGER_BITS[dtype]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def read_number(value: Number, dtype: str) -> bool | int | float | complex:
    """The value as Python's own number for `dtype`.

    Raises ValueError, in words for the user, where the value is not of that type or does not fit.
    """
    if dtype == "bool":
        return _boolean(value)
    if dtype in INTEGER_BITS:
        return _integer(value, dtype)
    if dtype.startswith("complex"):
        return _complex(value)
    return _float(value)


def _boolean(value: Number) -> bool:
    table = {True: True, False: False, "true": True, "false": False, "1": True, "0": False}
    key = value.strip().lower() if isinstance(value, str) else value
    if key not in table:
        raise ValueError(f"{value!r} is not a bool: give true or false")
    return table[key]


def whole_number(value: Number) -> int:
    """A whole number of any size, from a JSON number or from text such as '0xff'; ValueError otherwise."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) <= 40:
        try:
            return int(value.strip().replace("_", ""), 0)
        except ValueError:
            pass
    if isinstance(value, int):
        return int(value)
    raise ValueError(f"{str(value)[:40]!r} is not a whole number")


def _integer(value: Number, dtype: str) -> int:
    number = whole_number(value)
    low, high = integer_range(dtype)
    if not low <= number <= high:
        raise ValueError(f"{number} does not fit {dtype}: {low} to {high}")
    return number


def _float(value: Number) -> float:
    if isinstance(value, str):
        try:
            return float(value.strip())
        except ValueError:
            raise ValueError(f"{value[:40]!r} is not a number") from None
    try:
        return float(value)
    except OverflowError:
        raise ValueError("the number is too large for a floating-point value") from None


def _complex(value: Number) -> complex:
    if isinstance(value, str):
        try:
            return complex(value.replace(" ", ""))
        except ValueError:
            raise ValueError(f"{value[:40]!r} is not a complex number, such as 1+2j") from None
    return complex(_float(value))


def write_number(value: bool | int | float | complex) -> Number:
    """The inverse of `read_number`: text where JSON would lose bits."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else str(value)
    if isinstance(value, complex):
        return str(value).strip("()")
    return value if math.isfinite(value) else str(value)
