"""Makes the array that a buffer starts from, as its initialiser says."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.values.dtypes import Array, cast, numpy_dtype
from engine.values.formula import evaluate
from protocol.arguments import (
    Arange,
    Formula,
    Full,
    Initialiser,
    Integers,
    Linspace,
    Literals,
    Normal,
    Uniform,
    Uninitialised,
    Upload,
    Zeros,
)
from protocol.dtypes import INTEGER_BITS, integer_range, read_number, whole_number

_MOST_HEADER = 1 << 17
_COMPONENT = {"complex64": "float32", "complex128": "float64"}


def initial_array(
    init: Initialiser, dtype: str, shape: Sequence[int], uploads: Mapping[str, memoryview]
) -> Array | None:
    """The values, flat and row-major; None where the buffer is left as allocated.

    `uploads` holds whole .npy files by digest. ValueError, in words for the user, where the values cannot be made.
    Random numbers are numpy.random.default_rng(seed)'s: float64 and complex128 draw doubles, all others floats.
    """
    count = int(np.prod(shape, dtype=np.int64))
    match init:
        case Zeros():
            return np.zeros(count, numpy_dtype(dtype))
        case Full():
            return _full(count, read_number(init.value, dtype), dtype)
        case Arange():
            return _arange(init, dtype, count)
        case Linspace():
            return _linspace(init, dtype, count)
        case Uniform():
            values = _random(init.seed, "random", dtype, count)
            if (init.low, init.high) != (0.0, 1.0):
                values = init.low + (init.high - init.low) * values.astype(_wide(dtype))
            return cast(values, dtype)
        case Normal():
            values = _random(init.seed, "standard_normal", dtype, count)
            if (init.mean, init.deviation) != (0.0, 1.0):
                values = init.mean + init.deviation * values
            return cast(values, dtype)
        case Integers():
            return _integers(init, dtype, count)
        case Formula():
            return evaluate(init.text, shape, dtype)
        case Literals():
            return _exact([read_number(value, dtype) for value in init.values], dtype)
        case Uninitialised():
            return None
        case Upload():
            return _uploaded(uploads[init.digest], dtype, shape)


def _full(count: int, value: bool | int | float | complex, dtype: str) -> Array:
    return np.full(count, _exact([value], dtype)[0], numpy_dtype(dtype))


def _exact(values: Sequence[bool | int | float | complex], dtype: str) -> Array:
    """Python's numbers as an array; integers never go through floats."""
    if dtype == "bool" or dtype in INTEGER_BITS:
        return np.array(values, numpy_dtype(dtype))
    return cast(np.array(values, _wide(dtype)), dtype)


def _wide(dtype: str) -> Any:
    return np.complex128 if dtype.startswith("complex") else np.float64


def _arange(init: Arange, dtype: str, count: int) -> Array:
    if dtype in INTEGER_BITS:
        start, step = whole_number(init.start), whole_number(init.step)
        low, high = integer_range(dtype)
        last = start + step * (count - 1)
        if not (low <= start <= high and low <= last <= high):
            raise ValueError(f"the values go from {start} to {last}; {dtype} holds {low} to {high}")
        # The sum fits, so that arithmetic modulo 2^64 gives it exactly.
        wrapped = np.arange(count, dtype=np.uint64) * np.uint64(step % (1 << 64)) + np.uint64(start % (1 << 64))
        return wrapped.astype(numpy_dtype(dtype))
    if dtype == "bool":
        raise ValueError("a range of numbers cannot fill bool; take zeros, one value, or random integers from 0 to 2")
    start_at, by = (
        read_number(value, "complex128" if dtype in _COMPONENT else "float64") for value in (init.start, init.step)
    )
    return cast(start_at + by * np.arange(count), dtype)


def _linspace(init: Linspace, dtype: str, count: int) -> Array:
    if dtype == "bool":
        raise ValueError("evenly spaced numbers cannot fill bool")
    kind = "complex128" if dtype in _COMPONENT else "float64"
    values: Array = np.linspace(read_number(init.start, kind), read_number(init.stop, kind), count)
    return cast(np.rint(values) if dtype in INTEGER_BITS else values, dtype)


def _random(seed: int, method: str, dtype: str, count: int) -> Array:
    """Draws for `dtype`: a complex number takes two, its real part first."""
    if dtype == "bool":
        raise ValueError("random real numbers cannot fill bool; take random integers from 0 to 2")
    draw = getattr(np.random.default_rng(seed), method)
    if dtype in _COMPONENT:
        pairs = _draw(draw, 2 * count, _COMPONENT[dtype], method).astype(_COMPONENT[dtype])
        return pairs.view(numpy_dtype(dtype))
    return _draw(draw, count, dtype, method)


def _draw(draw: Any, count: int, dtype: str, method: str) -> Array:
    # Uniform numbers below float64 take half the random bits; normal ones are doubles for every type.
    if method == "random" and dtype != "float64":
        return np.asarray(draw(count, dtype=np.float32))
    return np.asarray(draw(count))


def _integers(init: Integers, dtype: str, count: int) -> Array:
    low, high = whole_number(init.low), whole_number(init.high)
    if not low < high:
        raise ValueError(f"random integers need low < high; low is {low} and high is {high}")
    if not (low >= -(1 << 63) and high <= 1 << 64) or (low < 0 and high > 1 << 63):
        raise ValueError(f"random integers from {low} to {high} need more than 64 bits")
    generator = np.random.default_rng(init.seed)
    if high <= 1 << 63:
        values: Array = generator.integers(low, high, size=count)
    else:
        values = generator.integers(low, high, size=count, dtype=np.uint64)
    if dtype == "bool":
        return values.astype(np.bool_)
    return cast(values, dtype)


def _uploaded(data: memoryview, dtype: str, shape: Sequence[int]) -> Array:
    """The contents of a .npy file, which may hold bfloat16 as uint16; a view of it where the layout allows."""
    wanted = numpy_dtype(dtype)
    stored_shape, fortran, stored, offset = _npy_header(data)
    expected = np.dtype(np.uint16) if dtype == "bfloat16" else wanted
    if stored.hasobject or stored.newbyteorder("=") != expected:
        raise ValueError(f"the uploaded array is {stored}; the buffer is {dtype}")
    if stored_shape != tuple(shape):
        raise ValueError(f"the uploaded array has shape {_shape(stored_shape)}; the buffer has {_shape(shape)}")
    count = math.prod(shape)
    if len(data) - offset < count * stored.itemsize:
        raise ValueError(f"the uploaded file ends after {len(data):,} bytes, before its last element")
    values: Array = np.frombuffer(data, stored, count, offset)
    values = values.reshape(tuple(shape), order="F" if fortran else "C")
    native = np.ascontiguousarray(values.astype(expected, copy=False)).reshape(-1)
    return native.view(wanted)


def _npy_header(data: memoryview) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, whether the layout is Fortran's, element type, and where the elements begin."""
    file = io.BytesIO(data[:_MOST_HEADER])
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"format {version[0]}.{version[1]} is not known")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, stored = read(file)
    except Exception as error:
        # The header is parsed as Python text, whose own errors are of many kinds.
        raise ValueError(f"the uploaded file is not a .npy array: {str(error)[:200]}") from None
    return shape, fortran, stored, file.tell()


def _shape(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape)) if shape else "() (one number)"
