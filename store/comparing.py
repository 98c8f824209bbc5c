"""Compares two stored buffers element by element, without loading more than a piece of them."""

import numpy as np
import numpy.typing as npt

from protocol.comparison import BufferDifference
from protocol.dtypes import Number, write_number
from protocol.events import BufferRead

Array = npt.NDArray[np.generic]
PIECE = 1 << 20
"""Elements at once."""
Rows = npt.NDArray[np.uint8]
"""The bytes of elements, one element a row."""
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def difference(
    first: BufferRead, data: memoryview, other: memoryview, relative: float = 0.0, absolute: float = 0.0
) -> BufferDifference:
    """Of two buffers of the same dtype and shape, whose bytes are given, row-major.

    With a tolerance also how many elements of the second lie beyond relative · |first| + absolute; NaN equals NaN.
    """
    found = BufferDifference(name=first.name, dtype=first.dtype, elements=int(np.prod(first.shape, dtype=np.int64)))
    item = first.bytes // max(1, found.elements)
    left, right = np.frombuffer(data, np.uint8).reshape(-1, item), np.frombuffer(other, np.uint8).reshape(-1, item)
    differing, at, beyond = 0, -1, 0
    largest, ulps = 0.0, 0
    for start in range(0, found.elements, PIECE):
        one, two = left[start : start + PIECE], right[start : start + PIECE]
        places = np.flatnonzero((one != two).any(axis=1))
        if not places.size:
            continue
        if at < 0:
            at = start + int(places[0])
        differing += int(places.size)
        far, apart = _distances(first.dtype, one[places], two[places])
        largest, ulps = max(largest, far), max(ulps, apart)
        beyond += _beyond(first.dtype, one[places], two[places], relative, absolute)
    if not differing:
        return found.model_copy(update={"equal": True})
    index = tuple(int(extent) for extent in np.unravel_index(at, first.shape))
    return found.model_copy(
        update={
            "differing": differing,
            "index": index,
            "first": _number(first, data, index),
            "second": _number(first, other, index),
            "beyond": beyond if relative or absolute else None,
            "largest_absolute": write_number(largest) if first.dtype not in ("bool",) else None,
            "largest_ulps": ulps if first.dtype in _FLOATS else None,
        }
    )


def _values(dtype: str, rows: Rows) -> Array:
    flat = np.ascontiguousarray(rows).reshape(-1)
    if dtype == "bfloat16":
        return (flat.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return flat.view(dtype)


def _distances(dtype: str, one: Rows, two: Rows) -> tuple[float, int]:
    """The largest difference of finite elements, and for floats how many values away from each other they lie."""
    if dtype == "bool":
        return 1.0, 0
    left, right = _values(dtype, one), _values(dtype, two)
    if left.dtype.kind in "iu":
        low, high = np.minimum(left, right), np.maximum(left, right)
        # Modulo 2^64 the difference is right even where it does not fit the dtype.
        return float((high.astype(np.uint64) - low.astype(np.uint64)).max()), 0
    with np.errstate(all="ignore"):
        wide = np.complex128 if left.dtype.kind == "c" else np.float64
        far = np.abs(left.astype(wide) - right.astype(wide))
    finite = far[np.isfinite(far)]
    largest = float(finite.max()) if finite.size else 0.0
    if dtype not in _FLOATS:
        return largest, 0
    known = np.isfinite(left) & np.isfinite(right)
    places = [_ordered(side, one.shape[1]) for side in (one[known], two[known])]
    apart = np.maximum(*places) - np.minimum(*places)
    return largest, int(apart.max()) if apart.size else 0


def _beyond(dtype: str, one: Rows, two: Rows, relative: float, absolute: float) -> int:
    """How many elements differ by more than the tolerance, as a check of a run counts them."""
    left, right = _values(dtype, one), _values(dtype, two)
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        want, got = left.astype(wide), right.astype(wide)
        near = np.abs(got - want) <= relative * np.abs(want) + absolute
    return int(np.count_nonzero(~(near | (np.isnan(want) & np.isnan(got)))))


def _ordered(rows: Rows, width: int) -> npt.NDArray[np.uint64]:
    """Bits of floats as whole numbers that go up with the values."""
    bits = np.ascontiguousarray(rows).reshape(-1).view(_BITS[width]).astype(np.uint64)
    sign = np.uint64(1 << (8 * width - 1))
    mask = np.uint64((1 << (8 * width)) - 1)
    return np.where(bits & sign != 0, ~bits & mask, bits | sign)


def _number(read: BufferRead, data: memoryview, index: tuple[int, ...]) -> Number:
    stored = np.frombuffer(data, "uint16" if read.dtype == "bfloat16" else read.dtype).reshape(read.shape)
    value = stored[index]
    if read.dtype == "bfloat16":
        value = (np.uint32(value) << np.uint32(16)).view(np.float32)
    return write_number(value.item())
