"""Files that claim to be arrays, by what is wrong with them."""

import io
import struct

import numpy as np


def bad_array(kind: str) -> bytes:
    """The bytes of such a file."""
    if kind == "not an array":
        return b"a,b\n1,2\n"
    if kind == "has 65 MiB":
        return bytes(65 << 20)
    if kind == "claims 400 GB":
        return _header("<f4", 99_999_999_999)
    if kind == "objects":
        return _header("|O", 3) + bytes(24)
    stream = io.BytesIO()
    np.save(stream, np.zeros(32, np.float32))
    return stream.getvalue()[:-4]


def _header(dtype: str, count: int) -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({count},), }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117) + b"\n"
