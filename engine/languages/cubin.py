"""Reads a CUBIN (ELF64): the entries, where their parameters lie, and their launch bounds.

Section and attribute numbers of .nv.info are NVIDIA's and undocumented; they were found by comparing CUBINs of
sm_75 to sm_121 with the assembler's own report.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SECTION = struct.Struct("<IIQQQQIIQQ")
_PARAMETER = struct.Struct("<IHHI")
_NO_BITS = 8
_CONSTANTS = ".nv.constant3"
_INFO = ".nv.info."
_VARIABLES, _TEXTS = ".nv.global", ("$str", "__unnamed_")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOLS, _OBJECT = 2, 1
# .nv.info attributes: a parameter, launch bounds, and the block size that the kernel requires.
_KPARAM_INFO, _MAX_THREADS, _REQUIRED_THREADS = 0x17, 0x05, 0x10
_SIZED = 4


class BadCubin(ValueError):
    """Not a CUBIN as the assembler writes it."""


@dataclass(frozen=True, slots=True)
class CubinEntry:
    """An entry: (offset, bytes) of each parameter, and how many threads a block may have (0: no bound given)."""

    name: str
    parameters: tuple[tuple[int, int], ...]
    max_threads: int


def read_entries(cubin: bytes) -> tuple[CubinEntry, ...]:
    """The entries of a CUBIN, in the order of their sections. Raises BadCubin."""
    try:
        return tuple(_entry(name[len(_INFO) :], data) for name, data in _sections(cubin) if name.startswith(_INFO))
    except (struct.error, ValueError, IndexError) as error:
        raise BadCubin(f"the compiler's object code cannot be read: {error}") from error


def constant_bytes(cubin: bytes) -> int:
    """Bytes of the module's __constant__ variables, which all of its entries share."""
    return next((len(data) for name, data in _sections(cubin) if name == _CONSTANTS), 0)


def variables(cubin: bytes) -> tuple[tuple[str, int], ...]:
    """(name, bytes) of the module's __device__ and static variables; texts such as printf's are left out."""
    headers, names = _headers(cubin)
    tables = [header for header in headers if header[1] == _SYMBOLS]
    found = []
    for table in tables:
        strings = headers[table[6]][4]
        for place in range(table[4], table[4] + table[5], _SYMBOL.size):
            name, kind, _, section, _, size = _SYMBOL.unpack_from(cubin, place)
            if kind & 15 != _OBJECT or section >= len(headers):
                continue
            text = _text(cubin, strings + name)
            if _text(cubin, names + headers[section][0]).startswith(_VARIABLES) and not text.startswith(_TEXTS):
                found.append((text, size))
    return tuple(found)


def _sections(cubin: bytes) -> Iterator[tuple[str, bytes]]:
    headers, names = _headers(cubin)
    for header in headers:
        name, kind, offset, size = header[0], header[1], header[4], header[5]
        yield _text(cubin, names + name), b"" if kind == _NO_BITS else cubin[offset : offset + size]


def _headers(cubin: bytes) -> tuple[list[tuple[int, ...]], int]:
    """All section headers, and where their names lie."""
    if cubin[:5] != b"\x7fELF\x02":
        raise BadCubin("not an ELF64 file")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    count, names_index = struct.unpack_from("<HH", cubin, 0x3C)
    headers = [_SECTION.unpack_from(cubin, table + _SECTION.size * index) for index in range(count)]
    return headers, headers[names_index][4]


def _text(cubin: bytes, start: int) -> str:
    return cubin[start : cubin.index(b"\0", start)].decode()


def _entry(name: str, info: bytes) -> CubinEntry:
    parameters: list[tuple[int, int, int]] = []
    threads = 0
    position = 0
    while position + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, position)
        position += 4
        if form != _SIZED:
            continue
        data = info[position : position + value]
        position += value
        if attribute == _KPARAM_INFO:
            _, ordinal, offset, flags = _PARAMETER.unpack(data[: _PARAMETER.size])
            parameters.append((ordinal, offset, flags >> 18))
        elif attribute in (_MAX_THREADS, _REQUIRED_THREADS):
            x, y, z = struct.unpack_from("<III", data)
            threads = x * y * z
    return CubinEntry(name, tuple((offset, size) for _, offset, size in sorted(parameters)), threads)
