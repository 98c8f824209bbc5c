"""How buffers start, what is told of them at the end, and checks."""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from pydantic import TypeAdapter

from engine.values.initialise import initial_array
from engine.values.results import check, extremes
from protocol.arguments import Initialiser
from protocol.checks import Equals

TRUTH = Path(__file__).parent.parent / "data" / "truth"
INIT: TypeAdapter[Any] = TypeAdapter(Initialiser)
DIGEST = "0" * 64
BF16 = ml_dtypes.bfloat16


def made(kind: str, dtype: str, shape: tuple[int, ...], upload: bytes = b"", **fields: Any) -> Any:
    init = INIT.validate_json(json.dumps({"kind": kind, **fields}))
    return initial_array(init, dtype, shape, {DIGEST: memoryview(upload)})


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


ROWS: list[tuple[str, str, dict[str, Any], Any]] = [
    ("zeros", "bfloat16", {}, np.zeros(6, BF16)),
    ("full", "int64", {"value": "9223372036854775807"}, np.full(6, (1 << 63) - 1)),
    ("full", "uint64", {"value": "0xffffffffffffffff"}, np.full(6, (1 << 64) - 1, np.uint64)),
    ("full", "float32", {"value": "nan"}, np.full(6, np.nan, np.float32)),
    ("full", "float64", {"value": 0.1}, np.full(6, 0.1)),
    ("full", "bfloat16", {"value": 1.5}, np.full(6, 1.5, BF16)),
    ("full", "complex64", {"value": "1+2j"}, np.full(6, 1 + 2j, np.complex64)),
    ("full", "bool", {"value": True}, np.full(6, True)),
    ("arange", "int32", {}, np.arange(6, dtype=np.int32)),
    ("arange", "float32", {}, np.arange(6, dtype=np.float32)),
    ("arange", "int8", {"start": 100, "step": -40}, np.array([100, 60, 20, -20, -60, -100], np.int8)),
    ("arange", "uint64", {"start": str((1 << 64) - 6)}, np.arange(6, dtype=np.uint64) + np.uint64((1 << 64) - 6)),
    ("arange", "float16", {"start": 0.5, "step": 0.25}, (0.5 + 0.25 * np.arange(6)).astype(np.float16)),
    ("arange", "complex128", {"start": "1j", "step": 2}, 1j + 2 * np.arange(6)),
    ("linspace", "float64", {"start": -1, "stop": 1}, np.linspace(-1, 1, 6)),
    ("linspace", "int32", {"start": 0, "stop": 9}, np.array([0, 2, 4, 5, 7, 9], np.int32)),
    ("uniform", "float32", {"seed": 1}, rng(1).random(6, dtype=np.float32)),
    ("uniform", "float64", {"seed": 1}, rng(1).random(6)),
    ("uniform", "float16", {"seed": 1}, rng(1).random(6, dtype=np.float32).astype(np.float16)),
    ("uniform", "bfloat16", {"seed": 1}, rng(1).random(6, dtype=np.float32).astype(BF16)),
    ("uniform", "complex64", {"seed": 2}, rng(2).random(12, dtype=np.float32).view(np.complex64)),
    ("uniform", "float64", {"low": -2, "high": 3, "seed": 1}, -2 + 5 * rng(1).random(6)),
    ("uniform", "int32", {"high": 10.0, "seed": 1}, (10 * rng(1).random(6, np.float32).astype(float)).astype(int)),
    ("normal", "float32", {"seed": 3}, rng(3).standard_normal(6).astype(np.float32)),
    ("normal", "float64", {"mean": 5, "deviation": 2, "seed": 3}, 5 + 2 * rng(3).standard_normal(6)),
    ("normal", "complex128", {"seed": 3}, rng(3).standard_normal(12).view(np.complex128)),
    ("integers", "int32", {"low": -5, "high": 9, "seed": 4}, rng(4).integers(-5, 9, 6).astype(np.int32)),
    ("integers", "bool", {"high": 2, "seed": 4}, rng(4).integers(0, 2, 6).astype(bool)),
    ("integers", "float32", {"high": 100, "seed": 4}, rng(4).integers(0, 100, 6).astype(np.float32)),
    (
        "integers", "uint64", {"high": str(1 << 64), "seed": 4},
        rng(4).integers(0, 1 << 64, 6, dtype=np.uint64),
    ),
    ("formula", "int32", {"text": "x + 10*y"}, np.array([0, 1, 2, 10, 11, 12], np.int32)),
    ("literals", "int16", {"values": [1, -2, 3, "0x10", 5, 6]}, np.array([1, -2, 3, 16, 5, 6], np.int16)),
    ("literals", "float32", {"values": [1, "inf", "nan", 0.1, -0.0, 6]}, np.float32([1, np.inf, np.nan, 0.1, -0.0, 6])),
    ("literals", "bfloat16", {"values": [1, 2, 3, 4, 5, 0.1]}, np.array([1, 2, 3, 4, 5, 0.1], BF16)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "dtype", "fields", "want"), ROWS, ids=[f"{r[0]}-{r[1]}-{i}" for i, r in enumerate(ROWS)]
)
def test_initial_values(kind: str, dtype: str, fields: dict[str, Any], want: Any) -> None:
    found = made(kind, dtype, (2, 3), **fields)
    assert found.shape == (6,)
    assert found.dtype == (BF16 if dtype == "bfloat16" else np.dtype(dtype))
    assert found.tobytes() == want.astype(found.dtype).tobytes()


def test_uninitialised_has_no_values() -> None:
    assert made("uninitialised", "float32", (4,)) is None


FAULTS: list[tuple[str, str, dict[str, Any], str]] = [
    ("arange", "int8", {"start": 127}, "the values go from 127 to 132; int8 holds -128 to 127"),
    ("arange", "bool", {}, "cannot fill bool"),
    ("linspace", "uint8", {"stop": 300}, "does not fit uint8"),
    ("uniform", "bool", {}, "random integers from 0 to 2"),
    ("uniform", "int8", {"high": 1000.0, "seed": 1}, "does not fit int8"),
    ("integers", "float32", {"low": 3, "high": 3}, "low < high"),
    ("integers", "float64", {"low": -1, "high": str(1 << 64)}, "more than 64 bits"),
    ("full", "float16", {"value": 1e6}, "does not fit float16 (up to 65504)"),
    ("formula", "float32", {"text": "q"}, "column 1: q is not known"),
]


@pytest.mark.parametrize(("kind", "dtype", "fields", "message"), FAULTS)
def test_values_that_cannot_be_made(kind: str, dtype: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        made(kind, dtype, (6,), **fields)


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("dtype", "array"),
    [
        ("float32", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("float32", np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))),
        ("int32", np.arange(6, dtype=">i4").reshape(2, 3)),
        ("bfloat16", np.arange(6, dtype=np.uint16).reshape(2, 3)),
        ("bool", np.ones((2, 3), bool)),
    ],
)
def test_upload(dtype: str, array: Any) -> None:
    found = made("upload", dtype, (2, 3), npy(array), digest=DIGEST)
    native = array.astype(array.dtype.newbyteorder("="))
    assert found.tobytes() == np.ascontiguousarray(native).tobytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(np.zeros((2, 3), np.int32)), "the uploaded array is int32; the buffer is float32"),
        (npy(np.zeros((3, 2), np.float32)), "has shape 3 × 2; the buffer has 2 × 3"),
        (npy(np.float32(1)), "has shape () (one number)"),
        (npy(np.array([object()])), "the uploaded array is object; the buffer is float32"),
        (npy(np.zeros((2, 3), [("a", np.float32)])), "the uploaded array is [('a', '<f4')]"),
        (b"", "is not a .npy array"),
        (b"PK\x03\x04 a zip", "is not a .npy array"),
        (npy(np.zeros((2, 3), np.float32))[:-1], "before its last element"),
        (b"\x93NUMPY\x03\x00" + b"x" * 99, "format 3.0 is not known"),
        (b"\x93NUMPY\x01\x00\x05\x00{'a':", "is not a .npy array"),
    ],
)
def test_uploads_that_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match="uploaded") as raised:
        made("upload", "float32", (2, 3), data, digest=DIGEST)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("values", "dtype", "want"),
    [
        (np.array([3, -1, 2], np.int32), "int32", (-1, 3, 0)),
        (np.array([np.nan, 2, -np.inf, 1], np.float32), "float32", (1.0, 2.0, 2)),
        (np.array([np.nan], np.float64), "float64", (None, None, 1)),
        (np.array([1.5, np.inf], BF16), "bfloat16", (1.5, 1.5, 1)),
        (np.array([1j, np.nan], np.complex64), "complex64", (None, None, 1)),
        (np.array([True, False]), "bool", (False, True, 0)),
        (np.array([1 << 63], np.uint64), "uint64", (1 << 63, 1 << 63, 0)),
        (np.arange(3_000_000, dtype=np.int32) - 5, "int32", (-5, 2_999_994, 0)),
    ],
)
def test_extremes(values: Any, dtype: str, want: tuple[object, ...]) -> None:
    assert extremes(values, dtype) == want


INF = np.inf
CHECKS: list[tuple[Any, Any, float, float, int]] = [
    (np.array([1, 2], np.int32), np.array([1, 2], np.int32), 0, 0, 0),
    (np.array([1, 5], np.int32), np.array([1, 2], np.int32), 0, 2, 1),
    (np.array([1, 5], np.int32), np.array([1, 2], np.int32), 0, 3, 0),
    (np.array([0], np.uint8), np.array([255], np.uint8), 0, 254, 1),
    (np.array([-(1 << 63)]), np.array([(1 << 63) - 1]), 0, 1, 1),
    (np.array([(1 << 63) - 1]), np.array([(1 << 63) - 2]), 0, 1, 0),
    (np.array([1.0, np.nan]), np.array([1.0, np.nan]), 0, 0, 0),
    (np.array([1.0]), np.array([np.nan]), 1, 1e9, 1),
    (np.array([np.nan]), np.array([1.0]), 1, 1e9, 1),
    (np.array([INF, -INF]), np.array([INF, -INF]), 0, 0, 0),
    (np.array([INF, 1.0]), np.array([-INF, INF]), 1, 1, 2),
    (np.array([1.01], np.float32), np.array([1.0], np.float32), 0.02, 0, 0),
    (np.array([1.03], np.float32), np.array([1.0], np.float32), 0.02, 0, 1),
    (np.array([1.0], BF16), np.array([1.0078125], BF16), 0, 0, 1),
    (np.array([1 + 1j]), np.array([1 + 1.1j]), 0, 0.11, 0),
    (np.array([True]), np.array([False]), 1, 1, 1),
    (np.array([0.0]), np.array([-0.0]), 0, 0, 0),
]


@pytest.mark.parametrize(("got", "want", "relative", "absolute", "differing"), CHECKS)
def test_check(got: Any, want: Any, relative: float, absolute: float, differing: int) -> None:
    equals = Equals.model_validate(
        {"buffer": "b", "expected": {"kind": "zeros"}, "relative": float(relative), "absolute": float(absolute)}
    )
    found = check(equals, "b", got, want, got.shape)
    assert (found.passed, found.differing) == (differing == 0, differing)
    found.model_dump_json()


def test_the_first_difference_is_named() -> None:
    got = np.arange(12, dtype=np.int32)
    want = got.copy()
    want[[6, 9]] += 1
    equals = Equals.model_validate({"buffer": "b", "expected": {"kind": "zeros"}})
    found = check(equals, "b", got, want, (3, 4))
    assert (found.index, found.got, found.expected) == ((1, 2), 6, 7)
    assert found.message == "b[1, 2] is 6, expected 7; 2 of 12 elements differ"


def test_initial_values_are_those_of_the_measured_outputs() -> None:
    """A copied buffer came back from the GPU with these bits."""
    outputs = json.loads((TRUTH / "outputs_sm_90.json").read_text())
    values = made("uniform", "float32", (1 << 16,), seed=1)
    copied = np.zeros(1 << 16, np.float32)
    copied[: (1 << 16) - 7] = values[: (1 << 16) - 7]
    assert hashlib.sha256(copied.tobytes()).hexdigest() == outputs["copy_coalesced_b256.2"]["sha256"]
    doubles = made("uniform", "float64", (16384,), seed=1)
    assert hashlib.sha256((doubles * 1.5).tobytes()).hexdigest() == outputs["copy_double.2"]["sha256"]
    small = made("integers", "uint8", (16384,), low=0, high=256, seed=1)
    assert hashlib.sha256(small.tobytes()).hexdigest() == outputs["copy_bytes.2"]["sha256"]
