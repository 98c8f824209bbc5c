"""Formulas: what they yield, and what is said of those that are none."""

from __future__ import annotations

import time

import numpy as np
import pytest

from engine.values.formula import CHUNK, FormulaError, evaluate

FLAT = np.arange(12)
X, Y = FLAT % 4, FLAT // 4

VALUES = {
    "i": FLAT,
    "2*x + 10*y": 2 * X + 10 * Y,
    "i / n": FLAT / 12,
    "i // 5 + i % 5": FLAT // 5 + FLAT % 5,
    "-i + +3": 3 - FLAT,
    "x**2": X**2,
    "2**-1 + i": FLAT + 0.5,
    "pow(x, 0.5)": np.sqrt(X),
    "sin(pi * i / n)": np.sin(np.pi * FLAT / 12),
    "atan2(y, x + 1)": np.arctan2(Y, X + 1),
    "arctan2(y, x + 1)": np.arctan2(Y, X + 1),
    "hypot(x, y)": np.hypot(X, Y),
    "exp(-i) + log(e)": np.exp(-FLAT) + 1,
    "min(x, 2, y)": np.minimum(np.minimum(X, 2), Y),
    "max(x, y)": np.maximum(X, Y),
    "abs(i - 6)": np.abs(FLAT - 6),
    "floor(i / 5) + ceil(i / 5) + round(i / 5) + trunc(i / 5)": np.floor(FLAT / 5)
    + np.ceil(FLAT / 5)
    + np.rint(FLAT / 5)
    + FLAT // 5,
    "where(x < 2, i, -i)": np.where(X < 2, FLAT, -FLAT),
    "i if 1 <= x < 3 else 100": np.where((X >= 1) & (X < 3), FLAT, 100),
    "(x == y) + (x != 3)": (X == Y).astype(int) + (X != 3),
    "x > 1 and not y == 0 or i == 0": ((X > 1) & (Y != 0)) | (FLAT == 0),
    "i ^ (i >> 1)": FLAT ^ (FLAT >> 1),
    "(i & 3) | (i << 2)": (FLAT & 3) | (FLAT << 2),
    "~i": ~FLAT,
    "nx * 1000 + ny * 100 + nz * 10 + nw + z + w": np.full(12, 4311),
    "int(i / 2.5)": (FLAT / 2.5).astype(int),
    "float(i) / 2": FLAT / 2,
    "sqrt(0.0 - i)": np.sqrt(-FLAT.astype(complex)).real * np.nan ** np.sign(FLAT),
    "  i  ": FLAT,
    "7": np.full(12, 7),
    "True": np.ones(12),
}


@pytest.mark.parametrize("text", VALUES)
def test_value(text: str) -> None:
    found = evaluate(text, (3, 4), "float64")
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.broadcast_to(VALUES[text], 12), rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "dtype", "want"),
    [
        ("i * 4611686018427387904 - 9223372036854775807 - 1", "int64", [-(1 << 63), -(1 << 62), 0]),
        ("i - 0.6", "int32", [0, 0, 1]),
        ("x + 2j", "complex64", [2j, 1 + 2j, 2 + 2j]),
        ("i % 2 == 0", "bool", [True, False, True]),
        ("i / 3", "float32", np.arange(3) / np.float64(3)),
    ],
)
def test_types(text: str, dtype: str, want: list[object]) -> None:
    found = evaluate(text, (3,), dtype)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, np.array(want).astype(dtype))


def test_large_arrays_go_in_pieces() -> None:
    found = evaluate("i * 2", (3, CHUNK), "int64")
    np.testing.assert_array_equal(found, np.arange(3 * CHUNK) * 2)


MISTAKES = {
    "i +": (1, "invalid syntax"),
    "": (1, ""),
    "foo + 1": (1, "foo is not known; the variables are i, x"),
    "1 + foo": (5, "foo is not known"),
    "x ? 1 : 2": (3, "write where(condition, a, b)"),
    "x < 1 && y": (8, "write 'and' for &&"),
    "foo(1)": (1, "foo is not a function here"),
    "__import__('os')": (1, "__import__ is not a function here"),
    "x.__class__": (1, "only arithmetic"),
    "x[0]": (1, "only arithmetic"),
    "'a' * 3": (1, "only numbers"),
    "[1, 2]": (1, "only arithmetic"),
    "lambda: 1": (1, "only arithmetic"),
    "(lambda: 1)()": (1, "this is not a function here"),
    "sin(1, 2)": (1, "sin takes 1 arguments, not 2"),
    "min(1)": (1, "min takes 2 to 16 arguments, not 1"),
    "where(1, 2)": (1, "where takes 3 arguments"),
    "sin(a=1)": (1, "sin takes plain arguments"),
    "sin(*x)": (1, "sin takes plain arguments"),
    "1.5 & i": (1, "bitwise operators take whole numbers"),
    "i % x": (5, "the divisor is 0"),
    "9223372036854775808": (1, "whole numbers go to 2^63 - 1"),
    "x is y": (6, "only <, <="),
    "floor(2j)": (1, "floor does not take complex"),
    "2j // 1": (1, "this operator does not take complex"),
    "x @ y": (1, "this operator is not known"),
    "y := 3": (3, ""),
    "(" * 250 + "i" + ")" * 250: (0, ""),
    "-" * 400 + "i": (1, "too long"),
    "-" * 100 + "i": (62, "nested more than 60 deep"),
    "+".join(["i"] * 200): (1, "too long"),
    "i; i": (2, ""),
    "await x": (1, "only arithmetic"),
    "i\x00": (1, ""),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistake(text: str) -> None:
    column, message = MISTAKES[text]
    with pytest.raises(FormulaError) as raised:
        evaluate(text, (3,), "float64")
    assert message in str(raised.value)
    assert raised.value.column == column or not column
    assert str(raised.value).startswith(f"column {raised.value.column}: ")


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("i * 100", "int8", "element 2 is 200, which does not fit int8 (-128 to 127)"),
        ("-1", "uint32", "element 0 is -1, which does not fit uint32"),
        ("log(i)", "int32", "element 0 is -inf, which does not fit int32"),
        ("1e39 * i", "float32", "element 1 is 1e+39, which does not fit float32"),
        ("1e5", "float16", "element 0 is 100000.0, which does not fit float16 (up to 65504)"),
        ("2j", "float32", "complex numbers do not fit float32"),
    ],
)
def test_values_that_do_not_fit(text: str, dtype: str, message: str) -> None:
    with pytest.raises(ValueError, match="fit") as raised:
        evaluate(text, (3,), dtype)
    assert message in str(raised.value)


def test_towers_of_powers_end_at_once() -> None:
    begin = time.perf_counter()
    evaluate("9**9**9**9**9", (1000,), "float64")
    assert time.perf_counter() - begin < 5
