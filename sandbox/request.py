"""The input of a job: one sealed memfd that holds the request and the named blobs."""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterator, Mapping

from sandbox import linux

_LENGTH = struct.Struct("<I")
_ALIGNMENT = 4096

Buffer = bytes | bytearray | memoryview


def pack(request: bytes, blobs: Mapping[str, Buffer]) -> int:
    """A sealed memfd: u32 table length, JSON table [[name, offset, size]…], sections on page borders.

    The first section, named "", is the request. Nobody can change the file any more, on either side.
    """
    if "" in blobs:
        raise ValueError("a blob needs a name")
    sections: list[tuple[str, Buffer]] = [("", request), *blobs.items()]
    sizes = [len(memoryview(data).cast("B")) if len(data) else 0 for _, data in sections]
    # Offsets depend on the table's length and the table on the offsets: give the table room first.
    room = 64 + sum(len(json.dumps(name)) + 64 for name, _ in sections)
    start = -(-room // _ALIGNMENT) * _ALIGNMENT
    table, offset = [], start
    for (name, _), size in zip(sections, sizes, strict=True):
        table.append([name, offset, size])
        offset += -(-size // _ALIGNMENT) * _ALIGNMENT
    text = json.dumps(table).encode()

    def parts() -> Iterator[Buffer]:
        head = _LENGTH.pack(len(text)) + text
        yield head + bytes(start - len(head))
        for (_, data), size in zip(sections, sizes, strict=True):
            yield data
            yield bytes(-size % _ALIGNMENT)

    return linux.sealed_memfd("job-input", parts())


def unpack(fd: int) -> tuple[bytes, dict[str, memoryview]]:
    """The request and read-only views of the blobs; the file stays mapped, without a copy."""
    whole = memoryview(mmap.mmap(fd, os.fstat(fd).st_size, access=mmap.ACCESS_READ))
    (length,) = _LENGTH.unpack_from(whole)
    table = json.loads(bytes(whole[_LENGTH.size : _LENGTH.size + length]))
    views = {name: whole[offset : offset + size] for name, offset, size in table}
    return bytes(views.pop("")), views
