"""The protocol's element types as NumPy's, and casts that refuse what does not fit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from protocol.dtypes import INTEGER_BITS, integer_range

Array = npt.NDArray[Any]

_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
_LARGEST["complex64"] = _LARGEST["float32"]


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The NumPy type of a protocol dtype; bfloat16 is ml_dtypes'."""
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def cast(values: Array, dtype: str) -> Array:
    """Values as `dtype`, floats towards zero for integers. ValueError, in words for users, where one does not fit."""
    wanted = numpy_dtype(dtype)
    if values.dtype == wanted:
        return values
    if np.iscomplexobj(values) and not dtype.startswith("complex"):
        raise ValueError(f"complex numbers do not fit {dtype}")
    if dtype in INTEGER_BITS and values.dtype != np.bool_:
        _within(values, dtype)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        result = values.astype(wanted)
    if dtype in _LARGEST and values.dtype.kind in "fciu":
        _still_finite(values, result, dtype)
    return result


def _within(values: Array, dtype: str) -> None:
    low, high = integer_range(dtype)
    if values.dtype.kind == "f":
        whole = np.trunc(values)
        # 2^63 and 2^64 are exact floats, while the largest integers below them are not.
        bad = ~(np.isfinite(values) & (whole >= float(low)) & (whole < float(high + 1)))
    else:
        smallest, largest = (int(values.min()), int(values.max())) if values.size else (0, 0)
        if low <= smallest and largest <= high:
            return
        bad = (values < low) if low >= -(1 << 63) and smallest < low else np.zeros(values.shape, bool)
        bad |= values > high
    _refuse(values, bad, dtype, f"{low} to {high}")


def _still_finite(values: Array, result: Array, dtype: str) -> None:
    bad = np.isfinite(values) & ~np.isfinite(result)
    largest = _LARGEST[dtype]
    _refuse(values, bad, dtype, f"up to {largest:g}")


def _refuse(values: Array, bad: Array, dtype: str, wanted: str) -> None:
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        raise ValueError(f"element {index:,} is {values.reshape(-1)[index]}, which does not fit {dtype} ({wanted})")
