"""Numbers of every dtype, as JSON and as text, keep all their bits."""

import math

import pytest

from protocol.dtypes import Number, read_number, write_number

GOOD: list[tuple[Number, str, object]] = [
    (7, "int32", 7),
    (7.0, "int32", 7),
    ("-9223372036854775808", "int64", -(1 << 63)),
    ("18446744073709551615", "uint64", (1 << 64) - 1),
    ("0xff", "uint8", 255),
    ("1_000", "int16", 1000),
    (True, "int32", 1),
    ("true", "bool", True),
    (0, "bool", False),
    (1, "float32", 1.0),
    ("inf", "float64", math.inf),
    ("-inf", "float16", -math.inf),
    ("1e-3", "bfloat16", 0.001),
    ("1+2j", "complex64", 1 + 2j),
    (2.5, "complex128", 2.5 + 0j),
]

BAD: list[tuple[Number, str, str]] = [
    (1.5, "int32", "not a whole number"),
    (128, "int8", "128 does not fit int8: -128 to 127"),
    (-1, "uint64", "does not fit uint64"),
    ("1e9", "int32", "not a whole number"),
    ("9" * 10_000, "uint64", "not a whole number"),
    ("one", "float32", "'one' is not a number"),
    (10**400, "float64", "too large"),
    (2, "bool", "give true or false"),
    ("1+", "complex64", "not a complex number"),
]


@pytest.mark.parametrize(("value", "dtype", "expected"), GOOD)
def test_reads(value: Number, dtype: str, expected: object) -> None:
    assert read_number(value, dtype) == expected


def test_reads_nan() -> None:
    assert math.isnan(float(read_number("nan", "float32").real))


@pytest.mark.parametrize(("value", "dtype", "words"), BAD)
def test_refuses_in_words(value: Number, dtype: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_number(value, dtype)


@pytest.mark.parametrize("value", [0, -5, (1 << 53) - 1, 1 << 63, 1.5, math.inf, -math.inf, True, 1 + 2j, -0.5j])
def test_written_numbers_read_back(value: bool | int | float | complex) -> None:
    written = write_number(value)
    dtype = {
        bool: "bool",
        int: "uint64" if not isinstance(value, complex) and value >= 0 else "int64",
        float: "float64",
    }
    assert read_number(written, dtype.get(type(value), "complex128")) == value
