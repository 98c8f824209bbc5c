"""Two runs side by side: the first difference, how far apart, and what compares at all."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from protocol.comparison import compare_times
from protocol.events import BufferRead, Timed
from protocol.timing import Measured
from store.comparing import difference
from tests.app.test_runs import finish_with_buffer
from tests.service.harness import Served

NO_DIGEST = "0" * 64


def compared(dtype: str, one: Any, two: Any, stored: str = "") -> dict[str, Any]:
    left, right = (np.asarray(values, stored or dtype) for values in (one, two))
    read = BufferRead(name="y", dtype=dtype, shape=left.shape, digest=NO_DIGEST, bytes=left.nbytes)  # type: ignore[arg-type]
    found = difference(read, memoryview(left.tobytes()), memoryview(right.tobytes()))
    return found.model_dump(exclude={"name", "why_not", "dtype", "beyond"})


def same(count: int) -> dict[str, Any]:
    return {
        "equal": True, "elements": count, "differing": 0, "index": None, "first": None, "second": None,
        "largest_absolute": None, "largest_ulps": None,
    }  # fmt: skip


NEXT = float(np.nextafter(np.float32(1), np.float32(2)))
CASES: list[tuple[str, Any, Any, dict[str, Any]]] = [
    ("int32", [1, 2, 3, 4], [1, 2, 3, 4], same(4)),
    ("int32", [[1, 2], [3, 4]], [[1, 2], [9, 5]],
     {"differing": 2, "index": (1, 0), "first": 3, "second": 9, "largest_absolute": 6.0, "largest_ulps": None}),
    ("int8", [-128, 0], [127, 0], {"differing": 1, "first": -128, "second": 127, "largest_absolute": 255.0}),
    ("int64", [-(2**63), 5], [2**63 - 1, 5], {"first": str(-(2**63)), "largest_absolute": float(2**64 - 1)}),
    ("uint64", [2**64 - 1], [0], {"first": str(2**64 - 1), "second": 0, "largest_absolute": float(2**64 - 1)}),
    ("float32", [1, 1, 5], [1, NEXT, 5], {"index": (1,), "largest_ulps": 1, "largest_absolute": NEXT - 1}),
    ("float32", [-1.0, 0.0], [1.0, 0.0], {"largest_absolute": 2.0, "largest_ulps": 2 * 0x3F800000 + 1}),
    ("float64", [1.0], [1.0 + 3 * 2.0**-52], {"largest_ulps": 3}),
    ("float32", [np.nan, 1], [np.nan, 1], same(2)),
    ("float32", [np.inf, 1.0], [1.0, 1.5], {"differing": 2, "first": "inf", "largest_absolute": 0.5}),
    ("complex64", [1 + 1j], [1 + 2j], {"first": "1+1j", "largest_absolute": 1.0, "largest_ulps": None}),
    ("bool", [True, False], [True, True], {"index": (1,), "first": False, "second": True, "largest_absolute": None}),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "one", "two", "expected"), CASES)
def test_differences(dtype: str, one: Any, two: Any, expected: dict[str, Any]) -> None:
    found = compared(dtype, one, two)
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("tolerance", "beyond"), [((0.0, 0.0), None), ((1e-3, 0.0), 2), ((0.0, 0.6), 1), ((1.0, 10.0), 0)]
)
def test_a_tolerance(tolerance: tuple[float, float], beyond: int | None) -> None:
    one, two = (np.array(values, "float32") for values in ([1, 2, 3, np.nan], [1, 2.5, 4, np.nan]))
    read = BufferRead(name="y", dtype="float32", shape=(4,), digest=NO_DIGEST, bytes=16)
    found = difference(read, memoryview(one.tobytes()), memoryview(two.tobytes()), *tolerance)
    assert (found.differing, found.beyond) == (2, beyond)


def test_bfloat16_is_read_as_its_number() -> None:
    found = compared("bfloat16", [0x3F80, 0x4000], [0x3F81, 0x4000], "uint16")
    assert (found["first"], found["second"], found["largest_ulps"]) == (1.0, 1.0078125, 1)


def test_pieces_are_compared_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.comparing.PIECE", 4)
    left, right = np.zeros(11, np.int32), np.zeros(11, np.int32)
    right[[5, 10]] = 1, -9
    found = compared("int32", left, right)
    assert (found["differing"], found["index"], found["largest_absolute"]) == (2, (5,), 9.0)


def test_the_route(served: Served) -> None:
    values = np.arange(8, dtype="int32")
    first = finish_with_buffer(served, "int32", (8,), values.tobytes())
    other = values.copy()
    other[5] = 7
    second = finish_with_buffer(served, "int32", (8,), other.tobytes())
    found = served.http.get(f"/api/runs/{first}/compare/{second}").json()
    assert (found["first"], found["second"], found["same_source"]) == (first, second, True)
    (buffer,) = found["buffers"]
    assert (buffer["index"], buffer["first"], buffer["second"], buffer["differing"]) == ([5], 5, 7, 1)
    assert served.http.get(f"/api/runs/{first}/compare/{first}").json()["buffers"][0]["equal"]
    assert served.http.get(f"/api/runs/{first}/compare/AAAAAAAAAAA").status_code == 404


def timed(**fields: Any) -> Timed:
    return Timed.model_validate({"stage": "run", "seconds": 1e-3, "step": "steps.0"} | fields)


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        ({}, {"clock": "gpu-events"}, "one is GPU time and the other that of a processor"),
        ({}, {"seconds": 2e-3}, "both were emulated on a processor"),
        ({"clock": "gpu-events", "launches": 2}, {"clock": "gpu-events"}, "of 2 and of 1 launches"),
        ({"clock": "gpu-events"}, {"clock": "gpu-events", "samples": 9}, "a single launch was timed"),
    ],
)
def test_times_that_do_not_compare_say_why(one: dict[str, Any], two: dict[str, Any], words: str) -> None:
    (found,) = compare_times([timed(**one)], [timed(**two)])
    assert (found.verdict, words in found.reason) == ("not-comparable", True)
    assert compare_times([timed()], [timed(step="steps.1")]) == ()


def series(microseconds: float, spread: float = 0.002) -> dict[str, Any]:
    samples = [microseconds * 1e-6 * (1 + spread * (index - 7) / 7) for index in range(15)]
    low, median, high = samples[3], samples[7], samples[11]
    return {"cache": "warm", "samples": samples, "median": median, "low": low, "high": high, "stopped": "precise"}


@pytest.mark.parametrize(
    ("first", "second", "verdict", "words"),
    [
        (series(10), series(20), "slower", "by 2.00 times, 20.00 µs (19.98 to 20.02, 15 launches) beside 10.00 µs"),
        (series(20), series(10), "faster", "by 2.00 times"),
        (series(10), series(10), "same", "10.00 µs"),
        (series(10), series(10.25), "same", "10.25 µs"),
        (series(100), series(101.9), "same", "101.90 µs"),
        (series(100), series(102.1), "slower", "by 1.02 times"),
        (series(10, 0.3), series(11, 0.3), "same", "11.00 µs"),
    ],
)
def test_times_of_a_gpu_are_told_apart_by_their_series(
    first: dict[str, Any], second: dict[str, Any], verdict: str, words: str
) -> None:
    measured = [Measured.model_validate_json(json.dumps({"series": [item]})) for item in (first, second)]
    one, two = (timed(clock="gpu-events", samples=15, measured=item) for item in measured)
    (found,) = compare_times([one], [two])
    assert (found.verdict, words in found.reason) == (verdict, True), found
