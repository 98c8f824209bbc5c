"""Buffers of every initialiser and element type, and a kernel that takes none of them."""

import json
from typing import Any

import numpy as np

from engine.values.initialise import initial_array
from protocol.arguments import Buffer
from protocol.kernel import Entry, Resources
from protocol.run import RunRequest

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*INTEGERS, *FLOATS, *COMPLEX)
ALL = ("bool", *NUMBERS)

STARTS: list[tuple[tuple[str, ...], tuple[int, ...], dict[str, Any]]] = [
    (ALL, (5,), {"kind": "zeros"}),
    (ALL, (3, 2), {"kind": "full", "value": 1}),
    (FLOATS, (2,), {"kind": "full", "value": 0.1}),
    (FLOATS, (2,), {"kind": "full", "value": "-inf"}),
    (COMPLEX, (2,), {"kind": "full", "value": "0.1-2.5j"}),
    (("int64",), (2,), {"kind": "full", "value": "-9223372036854775808"}),
    (("uint64",), (2,), {"kind": "full", "value": "18446744073709551615"}),
    (NUMBERS, (7, 3), {"kind": "arange"}),
    (("int8", "int64", *FLOATS), (9,), {"kind": "arange", "start": 5, "step": -3}),
    (("uint64",), (4,), {"kind": "arange", "start": "18446744073709551612"}),
    ((*FLOATS, *COMPLEX), (2049,), {"kind": "arange", "start": 0.1, "step": 0.7}),
    (NUMBERS, (11,), {"kind": "linspace", "start": 0, "stop": 7}),
    (FLOATS, (1000,), {"kind": "linspace", "start": -0.3, "stop": 1.7}),
    (FLOATS, (3,), {"kind": "linspace", "start": 2.5, "stop": 2.5}),
    (("float64",), (1,), {"kind": "linspace", "start": 2.5, "stop": 9.5}),
    (NUMBERS, (1001,), {"kind": "uniform", "seed": 3}),
    (("int16", *FLOATS, *COMPLEX), (1001,), {"kind": "uniform", "low": -4.1, "high": 9.3, "seed": 4}),
    ((*FLOATS, *COMPLEX), (20_001,), {"kind": "normal", "seed": 5}),
    (("int32", *FLOATS, *COMPLEX), (3001,), {"kind": "normal", "mean": 2.2, "deviation": 3.3, "seed": 6}),
    (ALL, (1001,), {"kind": "integers", "low": 0, "high": 2, "seed": 7}),
    (("int8", "int16", "int32", "int64", "float16", "float32"), (999,), {"kind": "integers", "low": -100, "high": 99}),
    (("int64", "bfloat16", "float64"), (999,), {"kind": "integers", "low": -5, "high": "6000000000"}),
    (("uint32", "float32"), (99,), {"kind": "integers", "high": "4294967296", "seed": 1}),
    (("int64",), (99,), {"kind": "integers", "low": "-9223372036854775808", "high": "9223372036854775807"}),
    (("uint64",), (99,), {"kind": "integers", "high": "18446744073709551616", "seed": 2}),
    (("uint64",), (99,), {"kind": "integers", "low": 5, "high": "14446744073709551616", "seed": 2}),
    (("bool",), (3,), {"kind": "literals", "values": [True, False, True]}),
    (INTEGERS, (3,), {"kind": "literals", "values": [1, 0, 127]}),
    (("int64",), (2,), {"kind": "literals", "values": ["-9223372036854775808", "0x7fffffffffffffff"]}),
    (FLOATS, (6,), {"kind": "literals", "values": [0.1, -2.5, "nan", "inf", 1.00390625001, 6e-8]}),
    (COMPLEX, (2,), {"kind": "literals", "values": ["1+2j", 0.1]}),
    (ALL, (2,), {"kind": "uninitialised"}),
]

FORMULAS: list[tuple[str, tuple[int, ...], str]] = [
    ("float32", (6, 5), "100 * exp(-((x - 2) * (x - 2) + (y - 3) * (y - 3)) / 8)"),
    ("float64", (4, 3, 2), "x + 10 * y + 100 * z + 1000 * w + 0.5 * i / n + nx * ny - nz % 3"),
    ("float64", (2, 3, 4, 2), "w * 1000 + z * 100 + y * 10 + x"),
    ("int32", (100,), "x if i % 2 == 0 else -1"),
    ("int64", (100,), "(i - 50) // 7 * 100 + (i - 50) % 7"),
    ("int64", (100,), "(i - 50) // -7 * 100 + mod(i - 50, -7) + fmod(i - 50, 7)"),
    ("float64", (100,), "(i - 50.5) // 7.25 * 100 + (i - 50.5) % -7.25 + fmod(i - 50, 3.5)"),
    ("int64", (100,), "i * 6364136223846793005 + 1442695040888963407 ^ i << 40 | i >> 2 & ~i"),
    ("int64", (70,), "(1 << i) + (i - 35 >> i)"),
    ("int64", (40,), "i ** 5 + 3 ** i + int(trunc(-i / 3))"),
    ("float64", (9,), "float(i) ** 2 + sqrt(i) - abs(i - 2.5) + floor(i / 3) + ceil(i / 3) + round(i / 4)"),
    ("bool", (40,), "0 < x <= 5 and not y or x == 7"),
    ("uint8", (8, 8), "(x + y) % 2 * 255"),
    ("float16", (40,), "where(x < 20, x / 3, -x / 3)"),
    ("bfloat16", (40,), "where(x < 20, 1, 2.5) + x / 7"),
    ("float64", (40,), "min(x, 5.5, i) + max(x, 3) + min(x, 7) + sign(x - 3) + sign(x - 3.5)"),
    ("float64", (40,), "0 / x + max(0 / x, 1.0) + 1 / 0"),
    ("int32", (40,), "int(x / 3) + int(x > 3) + (x < 3) * 2 + (x < 5) - (x < 9)"),
    ("float64", (3,), "pi * e + 7 // 2 + 7 % 4 + 1e3"),
    ("int8", (3,), "-7 // 2 + 2 ** 3"),
    ("float64", (3,), "5"),
    ("int32", (3,), "True"),
    ("float32", (300,), "sin(x / 10) * cos(x / 9) + atan2(x, 3) + hypot(x, 4) + log(x + 1) + tanh(x / 100)"),
    ("float64", (30,), "2 ** (x - 3) + (x > 5) ** x"),
    ("complex64", (30,), "exp(2j * pi * x / n)"),
    ("float64", (30,), "abs((1 + 2j) * x) + real(3j * x) + imag(3j * x) + imag(x)"),
    ("float32", (300_000,), "i % 1000 / 7"),
]  # fmt: skip

KERNEL = "__global__ void nothing() {}\n"
ENTRY = Entry(name="_Z7nothingv", display="nothing", resources=Resources(registers=1))


def buffers() -> list[dict[str, Any]]:
    """One buffer for every row and element type."""
    made = [
        {"name": f"b{row}_{dtype}", "dtype": dtype, "shape": shape, "init": init}
        for row, (dtypes, shape, init) in enumerate(STARTS)
        for dtype in dtypes
    ]
    for row, (dtype, shape, text) in enumerate(FORMULAS):
        made.append({"name": f"f{row}", "dtype": dtype, "shape": shape, "init": {"kind": "formula", "text": text}})
    return made


def requests() -> list[RunRequest]:
    """All of them, in runs of at most 32 buffers."""
    made = buffers()
    step = {"kind": "launch", "config": {"grid": [1], "block": [1]}}
    return [
        RunRequest.model_validate_json(
            json.dumps({"source": {"text": KERNEL}, "buffers": made[at : at + 32], "steps": [step]})
        )
        for at in range(0, len(made), 32)
    ]


def expected(buffer: Buffer) -> "np.ndarray[Any, Any] | None":
    """The engine's array; bfloat16 as its bits."""
    array = initial_array(buffer.init, buffer.dtype, buffer.shape, {})
    if array is None:
        return None
    return (array.view(np.uint16) if buffer.dtype == "bfloat16" else array).reshape(buffer.shape)


def same(got: "np.ndarray[Any, Any]", want: "np.ndarray[Any, Any]", name: str) -> None:
    """Equal to the bit, but for the payload of a NaN."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape), name
    np.testing.assert_array_equal(got, want, err_msg=name)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got) & ~np.isnan(got), np.signbit(want) & ~np.isnan(want), name)
