""".npy files and slices of any bytes: each is read as NumPy reads it, or refused in words."""

import io
import re
import struct
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.arrays import parse_slice, read_header, row_major

DTYPES = ("<f4", ">f8", "|b1", "<i2", "|u1", "<c8", "|O", "<U4", "V3", "<f4, <i4", "", "f" * 300)
SHAPES = ("(4,)", "(2, 2)", "()", "(0,)", "(-1,)", "(10**18,)", "(True,)", "(4.0,)", "4", "(" * 200 + ")" * 200, "None")
ARRAY = np.arange(24, dtype="float32").reshape(2, 3, 4)


def saved() -> bytes:
    stream = io.BytesIO()
    np.save(stream, ARRAY)
    return stream.getvalue()


def headed(dtype: str, order: str, shape: str, version: int, data: bytes) -> bytes:
    text = f"{{'descr': {dtype!r}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


CHANGED = st.builds(
    lambda at, byte, end: (lambda whole: whole[:at] + bytes([byte]) + whole[at + 1 : end])(saved()),
    *(st.integers(0, 223), st.integers(0, 255), st.integers(1, 224)),
)
HEADED = st.builds(
    headed,
    *(st.sampled_from(DTYPES), st.sampled_from(("True", "False", "1", "[]")), st.sampled_from(SHAPES)),
    *(st.integers(1, 4), st.binary(max_size=40)),
)
FILES = st.one_of(st.binary(max_size=200), st.binary(max_size=200).map(b"\x93NUMPY".__add__), CHANGED, HEADED)


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(FILES)
def test_a_file_is_read_or_refused(data: bytes) -> None:
    try:
        header = read_header(memoryview(data))
    except ValueError as error:
        assert 10 < len(str(error)) < 600
        return
    found = np.load(io.BytesIO(bytes(row_major(memoryview(data), header))), allow_pickle=False)
    expected = np.load(io.BytesIO(data), allow_pickle=False)
    assert (found.shape, found.dtype.name) == (header.shape, header.dtype)
    assert found.tobytes() == expected.astype(expected.dtype.newbyteorder("<")).tobytes()


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.one_of(st.text(max_size=30), st.text("0123456789:,. -+", max_size=24)))
def test_a_slice_is_numpy_s_or_refused(text: str) -> None:
    try:
        index: Any = parse_slice(text, ARRAY.ndim)
    except ValueError as error:
        assert 10 < len(str(error)) < 200
        return
    plain = re.sub(r"(?<!\d)0+(?=\d)", "", text.strip())  # 01 is a fault to Python alone
    written = eval(f"np.s_[{plain}]", {"np": np})
    assert index == (written if isinstance(written, tuple) else (written,))
