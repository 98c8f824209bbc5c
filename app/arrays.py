"""Reads .npy headers, and cuts NumPy slices out of stored buffers without loading them."""

import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import EllipsisType

import numpy as np
from numpy.lib import format as npy

from protocol.arguments import MAX_BUFFER_BYTES, MAX_DIMENSIONS
from protocol.dtypes import ITEM_BYTES

CHUNK_ELEMENTS = 1 << 17
_MAGIC = b"\x93NUMPY"
_NUMBER = r"[+-]?\d{1,12}"
_RANGE = rf"({_NUMBER})?\s*:\s*({_NUMBER})?(\s*:\s*({_NUMBER})?)?"
_PART = re.compile(rf"\s*(?:(?P<all>\.\.\.)|(?P<range>{_RANGE})|(?P<at>{_NUMBER}))\s*")

Index = int | slice | EllipsisType
Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


@dataclass(frozen=True)
class ArrayHeader:
    """Of a .npy file: its dtype in protocol terms, shape, and where the data begins."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    plain: bool
    """Row-major and little-endian already."""
    numpy_dtype: np.dtype[np.generic]
    column_major: bool


def read_header(data: memoryview) -> ArrayHeader:
    """Checks a whole .npy file. Raises ValueError, in words for the user; nothing is unpickled."""
    if bytes(data[:6]) != _MAGIC:
        raise ValueError("this is not a .npy file: save the array with numpy.save")
    stream = io.BytesIO(bytes(data[:65_536]))
    try:
        version = npy.read_magic(stream)
        reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if reader is None:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not taken")
        shape, column_major, dtype = reader(stream, max_header_size=10_000)
    except Exception as error:  # NumPy lets its tokenizer's errors through, among others
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ValueError(f"the header of the .npy file cannot be read: {reason}") from None
    name = dtype.name
    if dtype.hasobject or dtype.names or dtype.subdtype or name not in ITEM_BYTES:
        raise ValueError(f"its dtype is {str(dtype)[:60]}; buffers can have {', '.join(ITEM_BYTES)}")
    if not 1 <= len(shape) <= MAX_DIMENSIONS or 0 in shape:
        raise ValueError(f"its shape is {shape}; buffers have 1 to {MAX_DIMENSIONS} dimensions and no empty one")
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_BUFFER_BYTES:
        raise ValueError(f"the array has {size:,} bytes; a buffer has at most {MAX_BUFFER_BYTES:,}")
    there = len(data) - stream.tell()
    if there != size:
        raise ValueError(f"shape {shape} of {name} takes {size:,} bytes, but the file holds {there:,}")
    plain = dtype.byteorder in "=|<" and (not column_major or len(shape) == 1)
    return ArrayHeader(name, tuple(int(extent) for extent in shape), stream.tell(), plain, dtype, column_major)


def row_major(data: memoryview, header: ArrayHeader) -> memoryview:
    """The file as a row-major little-endian one; itself where it is that already."""
    if header.plain:
        return data
    flat = np.frombuffer(data, header.numpy_dtype, offset=header.offset)
    array = flat.reshape(header.shape, order="F" if header.column_major else "C")
    stream = io.BytesIO()
    npy.write_array(stream, np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))), allow_pickle=False)
    return stream.getbuffer()


def stored_array(data: memoryview, dtype: str, shape: tuple[int, ...]) -> Array:
    """A view of a buffer's bytes; bfloat16 as uint16."""
    return np.frombuffer(data, "uint16" if dtype == "bfloat16" else dtype).reshape(shape)


def parse_slice(text: str, dimensions: int) -> tuple[Index, ...]:
    """NumPy's basic slicing, such as '0:10,::2' or '...,3'. Raises ValueError."""
    parts = text.split(",")
    index: list[Index] = []
    for part in parts:
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(f"{part.strip()[:40]!r} is not an index, a range such as 0:10:2, or ...")
        if found["all"]:
            index.append(...)
        elif found["at"]:
            index.append(int(found["at"]))
        else:
            bounds = [int(bound) if bound.strip() else None for bound in found["range"].split(":")]
            if len(bounds) == 3 and bounds[2] == 0:
                raise ValueError("a step of 0 goes nowhere")
            index.append(slice(*bounds))
    if index.count(...) > 1:
        raise ValueError("... may stand once")
    if len(index) - index.count(...) > dimensions:
        raise ValueError(f"{len(index)} indices for {dimensions} dimension{'s' if dimensions > 1 else ''}")
    return tuple(index)


def frame_slice(index: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[int | range, tuple[Index, ...]]:
    """An index into a stack of arrays as those that it takes, and the index into each. IndexError."""
    head, *rest = index[1:] if index[0] is ... and len(index) > len(shape) else index
    count = shape[0]
    if isinstance(head, EllipsisType):
        return range(count), (..., *rest)
    if isinstance(head, slice):
        return range(count)[head], tuple(rest)
    try:
        return range(count)[head], tuple(rest)
    except IndexError:
        raise IndexError(f"index {head} is out of bounds for axis 0 with size {count}") from None


def encode(array: Array) -> tuple[int, Iterator[bytes]]:
    """The array as a .npy file: its size in bytes, and its bytes piece by piece."""
    return encode_stack([array], array, single=True)


def encode_stack(parts: Sequence[Array], like: Array, single: bool = False) -> tuple[int, Iterator[bytes]]:
    """Arrays as a .npy file, each like `like`: stacked along a new first axis, or the `single` one as it is."""
    stream = io.BytesIO()
    shape = like.shape if single else (len(parts), *like.shape)
    header = {"descr": npy.dtype_to_descr(like.dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(stream, header)

    def pieces() -> Iterator[bytes]:
        yield stream.getvalue()
        for part in parts:
            if not part.size:
                continue
            with np.nditer(
                part,
                flags=["external_loop", "buffered", "zerosize_ok"],
                order="C",
                buffersize=CHUNK_ELEMENTS,
            ) as chunks:
                for chunk in chunks:
                    yield np.asarray(chunk).tobytes()

    return len(stream.getvalue()) + like.nbytes * len(parts), pieces()
