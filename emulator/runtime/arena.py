"""The memory of a run: one mapping, in it named buffers that are bounded to the byte."""

from __future__ import annotations

import bisect
import ctypes
import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_ALIGNMENT = 256  # of every buffer, as cudaMalloc guarantees
_REDZONE = 256  # bytes at least that belong to nobody between two buffers
_PAGE = 2 << 20


class OutOfMemory(MemoryError):
    """The run asked for more than its limit; `requested` and `available` are bytes."""

    def __init__(self, name: str, requested: int, available: int) -> None:
        super().__init__(f"'{name}' needs {requested} bytes, {available} are left")
        self.name = name
        self.requested = requested
        self.available = available


@dataclass(frozen=True, slots=True)
class Buffer:
    """A named piece of the arena; `address` is what a kernel gets, `nbytes` its exact size."""

    name: str
    address: int
    nbytes: int
    memory: Memory
    initialised: bool = True

    def bytes_view(self) -> npt.NDArray[np.uint8]:
        """The bytes themselves, writable; shape (nbytes,)."""
        start = self.address - self.memory.base
        return np.frombuffer(self.memory.mapping, np.uint8, self.nbytes, start)

    def view(self, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The elements on the arena, writable; shape (nbytes // itemsize,); trailing bytes are left out."""
        kind = np.dtype(dtype)
        count = self.nbytes // kind.itemsize
        return np.frombuffer(self.memory.mapping, kind, count, self.address - self.memory.base)


class Memory:
    """All device memory of a run. `limit_bytes` bounds the sum of buffers, with their padding.

    Not thread-safe, save that the run time adds heap buffers under its own lock while a kernel runs.
    """

    def __init__(self, limit_bytes: int) -> None:
        if limit_bytes <= 0:
            raise ValueError("limit_bytes must be positive")
        self.limit = limit_bytes
        size = -(-(limit_bytes + _REDZONE) // _PAGE) * _PAGE + _PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        self.mapping = mmap.mmap(-1, size, flags=flags)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self.mapping.madvise(mmap.MADV_HUGEPAGE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.mapping))
        first = -(-self.base // _PAGE) * _PAGE
        self._next = first + _REDZONE
        self._end = first + _REDZONE + limit_bytes
        self.buffers: list[Buffer] = []
        self.known: dict[int, npt.NDArray[np.uint8]] = {}  # address → which bytes have been written
        self.variables: dict[str, Buffer] = {}  # of modules, which outlive a launch

    @property
    def available(self) -> int:
        return max(0, self._end - self._next)

    def allocate(self, name: str, nbytes: int, fill: bytes | None = None, initialised: bool = True) -> Buffer:
        """A new buffer, filled by repeating `fill`, else with zeros. Raises OutOfMemory beyond the limit.

        Reads of a buffer that is not `initialised` are findings of the checks until a kernel has written there.
        """
        if nbytes < 0:
            raise ValueError("nbytes must not be negative")
        if nbytes > self.available:
            raise OutOfMemory(name, nbytes, self.available)
        buffer = Buffer(name, self._next, nbytes, self, initialised)
        if not initialised:
            self.known[buffer.address] = np.zeros(nbytes, np.uint8)
        self._next = -(-(self._next + nbytes + _REDZONE) // _ALIGNMENT) * _ALIGNMENT
        self.buffers.append(buffer)
        if fill:
            view = buffer.bytes_view()
            pattern = np.frombuffer(fill, np.uint8)
            view[:] = np.resize(pattern, nbytes)
        return buffer

    def find(self, address: int) -> Buffer | None:
        """The buffer that holds an address."""
        buffer = self.nearest(address)
        return buffer if buffer is not None and 0 <= address - buffer.address < buffer.nbytes else None

    def nearest(self, address: int) -> Buffer | None:
        """The buffer whose closest byte is closest to an address."""
        if not self.buffers:
            return None
        index = bisect.bisect_right(self.buffers, address, key=lambda b: b.address)
        around = self.buffers[max(0, index - 1) : index + 1]
        return min(around, key=lambda b: max(b.address - address, address - (b.address + b.nbytes) + 1, 0))
