"""The native structures of one launch: context, workers, and the memory they point to."""

from __future__ import annotations

import ctypes
import mmap
import struct

from emulator.lowering import abi
from emulator.runtime.arena import Buffer

_PAGE = 4096


class Region:
    """A zeroed, page-aligned piece of memory with a guard of one page behind."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._mapping = mmap.mmap(-1, -(-size // _PAGE) * _PAGE + _PAGE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._mapping))

    def put(self, offset: int, layout: str, *values: int) -> None:
        struct.pack_into(layout, self._mapping, offset, *values)

    def get(self, offset: int, layout: str) -> tuple[int, ...]:
        return struct.unpack_from(layout, self._mapping, offset)

    def read(self, offset: int = 0, size: int | None = None) -> bytes:
        return bytes(memoryview(self._mapping)[offset : offset + (self.size if size is None else size)])


class Workspace:
    """Context and workers. Sizes are bytes of one worker: a block's shared memory, frames and local memory."""

    def __init__(self, threads: int, sites: int, shared: int, frames: int, local: int, counters: int) -> None:
        self.context = Region(abi.CONTEXT_BYTES)
        self.workers: list[Region] = []
        self._kept: list[Region] = []
        sites_at = _up(abi.WORKER_BYTES)
        counters_at = _up(sites_at + 16 * sites)
        shared_at = _up(counters_at + 8 * counters)
        frames_at = _up(shared_at + shared + 64)
        local_at = _up(frames_at + frames)
        for _ in range(threads):
            worker = Region(local_at + local + 64)
            worker.put(abi.WORKER_SITES, "<Q", worker.address + sites_at)
            worker.put(abi.WORKER_COUNTERS, "<Q", worker.address + counters_at)
            worker.put(abi.WORKER_SHARED, "<Q", worker.address + shared_at)
            worker.put(abi.WORKER_FRAMES, "<Q", worker.address + frames_at)
            worker.put(abi.WORKER_LOCAL, "<Q", worker.address + local_at)
            self.workers.append(worker)
        self._sites_at = sites_at
        self._counters_at = counters_at
        self._counters = counters

    def counters(self, worker: Region) -> tuple[int, ...]:
        return worker.get(self._counters_at, f"<{self._counters}Q")

    def keep(self, data: bytes) -> int:
        """Copies bytes to where the kernel can read them; returns their address."""
        region = Region(max(1, len(data)))
        region.put(0, f"<{len(data)}s", data)  # type: ignore[arg-type]
        self._kept.append(region)
        return region.address

    def table(self, capacity: int, buffers: list[Buffer]) -> tuple[int, int]:
        """Addresses of the tables of first addresses and sizes, with room to grow."""
        starts, sizes = Region(8 * capacity), Region(8 * capacity)
        starts.put(0, f"<{len(buffers)}Q", *(b.address for b in buffers))
        sizes.put(0, f"<{len(buffers)}Q", *(b.nbytes for b in buffers))
        self._kept += [starts, sizes]
        self.starts, self.sizes = starts, sizes
        return starts.address, sizes.address

    def site(self, worker: Region, index: int) -> tuple[int, int]:
        first, limit = worker.get(self._sites_at + 16 * index, "<QQ")
        return first, limit


def _up(offset: int) -> int:
    return (offset + 63) // 64 * 64
