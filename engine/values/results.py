"""What is told of a buffer at the end: its extremes, and whether it is what a check expects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.values.dtypes import Array
from protocol.checks import Check, NumpyReference
from protocol.dtypes import write_number
from protocol.events import Checked

_CHUNK = 1 << 20


def extremes(values: Array, dtype: str) -> tuple[bool | int | float | None, bool | int | float | None, int]:
    """Smallest and largest finite element, None where there is none or the dtype is complex, and how many are not."""
    smallest: bool | int | float | None = None
    largest: bool | int | float | None = None
    not_finite = 0
    for start in range(0, values.size, _CHUNK):
        chunk = values[start : start + _CHUNK]
        if dtype in ("float16", "bfloat16"):
            chunk = chunk.astype(np.float32)
        if chunk.dtype.kind in "fc":
            finite = np.isfinite(chunk)
            not_finite += int(chunk.size - np.count_nonzero(finite))
            chunk = chunk[finite]
        if dtype.startswith("complex") or not chunk.size:
            continue
        low, high = chunk.min().item(), chunk.max().item()
        smallest = low if smallest is None else min(smallest, low)
        largest = high if largest is None else max(largest, high)
    return smallest, largest, not_finite


def check(item: Check, buffer: str, got: Array, want: Array, shape: Sequence[int]) -> Checked:
    """Compares two flat arrays of one dtype: |got − want| ≤ relative·|want| + absolute, and NaN equals NaN.

    With a reference, whose tolerance is that of numpy.allclose unless set, integers and bool must be equal.
    """
    exact = isinstance(item, NumpyReference) and got.dtype.kind in "biu"
    relative, absolute = (0.0, 0.0) if exact else (item.relative, item.absolute)
    differing, first = 0, -1
    for start in range(0, got.size, _CHUNK):
        bad = _different(relative, absolute, got[start : start + _CHUNK], want[start : start + _CHUNK])
        count = int(np.count_nonzero(bad))
        if count and first < 0:
            first = start + int(np.argmax(bad))
        differing += count
    if not differing:
        return Checked(buffer=buffer, passed=True, message=f"{buffer} is as expected")
    index = tuple(int(part) for part in np.unravel_index(first, tuple(shape)))
    value, expected = _plain(got[first]), _plain(want[first])
    place = f"{buffer}[{', '.join(map(str, index))}]"
    return Checked(
        buffer=buffer,
        passed=False,
        differing=differing,
        index=index,
        got=write_number(value),
        expected=write_number(expected),
        message=f"{place} is {value}, expected {expected}; {differing:,} of {got.size:,} elements differ",
    )


def first_difference(got: Array, want: Array, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Index of the first element whose bytes differ; None where all are the same."""
    size = got.dtype.itemsize
    for start in range(0, got.size, _CHUNK):
        bytes_got, bytes_want = (np.ascontiguousarray(a[start : start + _CHUNK]).view("u1") for a in (got, want))
        bad = bytes_got != bytes_want
        if bad.any():
            flat = start + int(np.argmax(bad)) // size
            return tuple(int(part) for part in np.unravel_index(flat, tuple(shape)))
    return None


def _different(relative: float, absolute: float, got: Array, want: Array) -> Array:
    exact = not (relative or absolute)
    if got.dtype.kind in "biu":
        if exact or got.dtype.kind == "b":
            return np.asarray(got != want)
        # Modulo 2^64 the difference of two 64-bit integers is exact.
        larger = np.maximum(got, want).astype(np.uint64)
        apart = larger - np.minimum(got, want).astype(np.uint64)
        return np.asarray(apart > relative * np.abs(want.astype(np.float64)) + absolute)
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        a, b = got.astype(wide), want.astype(wide)
        close = np.abs(a - b) <= relative * np.abs(b) + absolute
    # Infinities are apart by NaN from each other and by infinity, within any relative tolerance, from the rest.
    close = np.where(np.isinf(b) | np.isinf(a), a == b, close)
    return np.asarray(~(close | (np.isnan(a) & np.isnan(b))))


def _plain(value: np.generic) -> bool | int | float | complex:
    """Python's own number of a NumPy scalar; bfloat16 has no such conversion but through float."""
    if isinstance(value, np.bool_ | np.number):
        item: bool | int | float | complex = value.item()
        return item
    return float(value)
