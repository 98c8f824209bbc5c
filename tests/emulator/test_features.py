"""One kernel a feature, in the PTX of three architectures, against what the CUDA language says it computes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from launching import Dim3, Run, compiled, int32, run

from emulator import Memory

ARCHITECTURES = ("75", "90", "100")
Array = np.ndarray[Any, Any]
T32, T64, T128 = np.arange(32), np.arange(64), np.arange(128)


def zeros(count: int, dtype: Any = np.int32) -> Array:
    return np.zeros(count, dtype)


def random(low: int, high: int, count: int, dtype: Any = np.int32) -> Array:
    return np.random.default_rng(low + 31 * high + count).integers(low, high, count).astype(dtype)


X64, X96, X128 = random(0, 8, 64), random(0, 8, 96), random(0, 60, 128)


def follow_gotos(value: int) -> int:
    count, place = 0, "B" if value & 1 else "A"
    while True:
        if place == "A":
            count, value = count + 1, value - 3
            if value < 0:
                return count
            count += 0 if value & 2 else 10
            place = "B"
        else:
            count, value = count + 100, value - 2
            if value <= 0:
                return count
            place = "A"


def switched(thread: int, value: int) -> int:
    cases = (5, thread, thread**2, -thread, 100, 7 - thread, value ^ thread, thread << 2)
    return cases[value] if value < 8 else -1


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def pointed(thread: int) -> int:
    index = thread & 7
    values = (index * 7, int(X64[index]), int(X64[(thread + index) & 63]))
    return values[thread % 3] + 1


def early(thread: int) -> int:
    return 0 if thread >= 50 else sum(k for k in range(min(thread, 20)) if k % 7 != 6)


SWITCH = random(0, 10, 64)
BARRIERS = random(0, 6, 64)
BYTES, WORDS = random(-128, 128, 128, np.int8), random(-9999, 9999, 128, np.int16)
UNSIGNED = random(0, 256, 128, np.uint8)
QUADS = random(-99, 99, 400)
Q = QUADS.reshape(-1, 4)
DOUBLES = random(0, 100, 64, np.float64)

# name, block, grid, arguments, expected last array(s)
ROWS: list[tuple[str, Dim3, Dim3, list[Array | bytes], list[Any]]] = [
    ("mal", (64, 1, 1), (1, 1, 1), [zeros(64)], [T64 + 5]),
    ("named", (128, 1, 1), (1, 1, 1), [zeros(128)], [np.r_[(63 - T64) * 2, np.arange(64, 128)]]),
    ("prodcons", (64, 1, 1), (1, 1, 1), [zeros(32)], [T32 * 3]),
    ("spinwarp", (64, 1, 1), (1, 1, 1), [zeros(32)], [np.full(32, 9)]),
    ("spinlane", (32, 1, 1), (1, 1, 1), [zeros(16)], [np.full(16, 4)]),
    ("lookback", (32, 1, 1), (500, 1, 1), [zeros(500), zeros(500)], [np.cumsum(np.arange(500))]),
    ("gotos", (128, 1, 1), (1, 1, 1), [X128, zeros(128)], [[follow_gotos(int(v)) for v in X128]]),
    ("sw", (64, 1, 1), (1, 1, 1), [SWITCH, zeros(64)], [[switched(t, int(v)) for t, v in enumerate(SWITCH)]]),
    ("st", (32, 1, 1), (1, 1, 1), [struct.pack("<bxhid", -3, 700, 11, 2.5), zeros(32)], [T32 + 710]),
    ("big", (32, 1, 1), (1, 1, 1), [np.arange(20, dtype=np.int32).tobytes(), zeros(32)], [T32 % 20]),
    ("generic", (64, 1, 1), (1, 1, 1), [X64, zeros(64)], [[pointed(t) for t in range(64)]]),
    (
        "locd", (64, 1, 1), (1, 1, 1), [X64, zeros(64, np.float64), zeros(64, np.int8)],
        [T64 * (X64 % 6) + T64 - X64 % 5, (T64 + X64 % 12).astype(np.int8)],
    ),
    ("casd", (64, 1, 1), (3, 1, 1), [zeros(1, np.float64), DOUBLES], [[3 * DOUBLES.sum()], DOUBLES]),
    ("divbar", (64, 1, 1), (1, 1, 1), [BARRIERS, zeros(64)], [BARRIERS * (BARRIERS - 1) // 2]),
    ("fibk", (64, 1, 1), (1, 1, 1), [zeros(64)], [[fibonacci(t % 15) for t in range(64)]]),
    ("mutual", (64, 1, 1), (1, 1, 1), [zeros(64)], [1 - T64 % 2]),
    ("shfldiv", (32, 1, 1), (1, 1, 1), [zeros(64)], [np.r_[np.where(T32 & 1, T32 ^ 2, T32 ^ 4), (T32 + 2) // 3]]),
    ("early", (64, 1, 1), (1, 1, 1), [int32(50), zeros(64)], [[early(t) for t in range(64)]]),
    (
        "vol4", (100, 1, 1), (1, 1, 1), [QUADS, zeros(200)],
        [np.c_[Q[:, 0] + Q[:, 3], Q[:, 1] - Q[:, 2]].reshape(-1)],
    ),
    (
        "red", (96, 1, 1), (1, 1, 1), [X96, zeros(288)],
        [np.tile([(X96 > 3).sum(), 1, int((X96 == 7).any())], 96)],
    ),
]  # fmt: skip


def run_feature(architecture: str, name: str, block: Dim3, *arguments: Array | bytes, **options: Any) -> Run:
    return run(compiled(f"features_sm_{architecture}", name, block), *arguments, **options)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("name", "block", "grid", "arguments", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_feature(
    architecture: str, name: str, block: Dim3, grid: Dim3, arguments: list[Array | bytes], expected: list[Any]
) -> None:
    result = run_feature(architecture, name, block, *arguments, grid=grid)
    assert result.outcome.fault is None
    for got, want in zip(result.arrays[-len(expected) :], expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_bytes_and_halves(architecture: str) -> None:
    result = run_feature(architecture, "chars", (128, 1, 1), BYTES, UNSIGNED, WORDS, zeros(160))
    assert result.outcome.fault is None
    want = BYTES.astype(int) + UNSIGNED.astype(int) * 2 + WORDS.astype(int) * 3
    np.testing.assert_array_equal(result.arrays[3][:128], want)
    np.testing.assert_array_equal(result.arrays[3].view(np.int8)[512:640], BYTES - 1)


SHAPES: list[Dim3] = [
    (24, 5, 1), (8, 8, 4), (7, 1, 1), (1, 1, 1), (16, 16, 1), (3, 3, 3), (1, 64, 1), (2, 3, 11), (5, 1, 13),
    (64, 2, 2), (1, 1, 40), (33, 2, 1), (16, 2, 2), (4, 4, 5), (1024, 1, 1), (32, 32, 1),
]  # fmt: skip


@pytest.mark.parametrize("block", SHAPES, ids=str)
def test_thread_indices(block: Dim3) -> None:
    count = block[0] * block[1] * block[2]
    result = run_feature("90", "shapes", block, zeros(count * 12), grid=(2, 3, 2))
    assert result.outcome.fault is None
    z, y, x = np.meshgrid(*(np.arange(block[axis]) for axis in (2, 1, 0)), indexing="ij")
    want = (x + 100 * y + 10000 * z).reshape(-1)
    np.testing.assert_array_equal(result.arrays[0].reshape(12, count), want[None] + np.arange(12)[:, None] * 1_000_000)


@pytest.mark.parametrize("block", [shape for shape in SHAPES if shape[2] == 1], ids=str)
def test_rows_of_any_width(block: Dim3) -> None:
    """A guard cuts rows of 70 off in the middle of gangs."""
    width, height = 70, block[1] * 3
    x = np.random.default_rng(5).random(width * height).astype(np.float32)
    grid = (-(-width // block[0]), 3, 1)
    result = run_feature("90", "shapes2", block, x, zeros(x.size, np.float32), int32(width), grid=grid)
    assert result.outcome.fault is None
    np.testing.assert_array_equal(result.arrays[1], x * 2 + x[np.arange(x.size) ^ 1])


def test_module_variables_outlive_a_launch() -> None:
    memory = Memory(1 << 20)
    for launches in (1, 2):
        result = run_feature("90", "glob", (64, 1, 1), zeros(64), memory=memory)
        np.testing.assert_array_equal(result.arrays[0], np.full(64, launches * 8 * 31))


def test_prints_in_order_of_threads() -> None:
    lines = run_feature("90", "pr", (64, 1, 1), int32(3)).printed.splitlines()
    want = [f"t {i} {i * 1.5:f} str {chr(97 + i)} {i << 33} {i / 3:5.2f}|{i:<6d}|{i * 16:x} 7 %" for i in range(3)]
    assert lines == want


def raising(text: str) -> None:
    raise RuntimeError(text)


def test_an_error_while_printing_reaches_the_caller() -> None:
    from emulator import launch

    entry = compiled("features_sm_90", "pr", (32, 1, 1))
    callback: Callable[[str], None] = raising
    with pytest.raises(RuntimeError, match="t 0"):
        launch(entry, Memory(1 << 20), (1, 1, 1), [int32(1)], on_print=callback)
