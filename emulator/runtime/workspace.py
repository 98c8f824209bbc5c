"""The native structures of one launch: context, workers, and the memory they point to."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass

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


class Seat:
    """One worker state inside an OS thread's region."""

    def __init__(self, region: Region, offset: int) -> None:
        self.address = region.address + offset
        self._region = region
        self._offset = offset

    def get(self, offset: int, layout: str) -> tuple[int, ...]:
        return self._region.get(self._offset + offset, layout)


@dataclass(frozen=True, slots=True)
class SeatSizes:
    """Bytes that one resident block takes: shared memory, frames, local memory, and cells of the checks."""

    shared: int
    frames: int
    local: int
    shadow: int

    @property
    def total(self) -> int:
        """Of a seat, its worker state included."""
        shared = _up(abi.WORKER_BYTES + abi.SHARED_SCRATCH) + _up(self.shared + 64)
        return shared + _up(self.frames) + _up(self.local) + _up(self.shadow)


class Workspace:
    """Context and workers: the region of an OS thread holds its seats, then what they share. `seats` counts them."""

    def __init__(self, seats: Sequence[int], sizes: SeatSizes, sites: int, counters: int) -> None:
        self.context = Region(abi.CONTEXT_BYTES)
        self.workers: list[Region] = []
        self._kept: list[Region] = []
        self.stride = sizes.total
        shared_at = _up(abi.WORKER_BYTES + abi.SHARED_SCRATCH)
        frames_at = shared_at + _up(sizes.shared + 64)
        local_at = frames_at + _up(sizes.frames)
        shadow_at = local_at + _up(sizes.local)
        self._sites_at = [self.stride * count for count in seats]
        self._counters_at = [at + _up(16 * sites) for at in self._sites_at]
        for count, sites_at, counters_at in zip(seats, self._sites_at, self._counters_at, strict=True):
            worker = Region(counters_at + 8 * counters + 64)
            worker.put(abi.WORKER_SITES, "<Q", worker.address + sites_at)
            worker.put(abi.WORKER_COUNTERS, "<Q", worker.address + counters_at)
            worker.put(abi.WORKER_SHARED, "<Q", worker.address + shared_at)
            worker.put(abi.WORKER_FRAMES, "<Q", worker.address + frames_at)
            worker.put(abi.WORKER_LOCAL, "<Q", worker.address + local_at)
            worker.put(abi.WORKER_SHADOW, "<Q", worker.address + shadow_at)
            worker.put(abi.WORKER_CLUSTER, "<Q", worker.address)
            worker.put(abi.WORKER_STATE, "<i", 1)
            worker.put(abi.WORKER_CLOCK, "<Q", worker.address + abi.WORKER_OWN_CLOCK)
            worker.put(abi.WORKER_SEATS, "<Q", count)
            self.workers.append(worker)
        self._counters = counters

    def seat(self, address: int) -> Seat:
        """The seat at an address. KeyError where there is none."""
        for worker in self.workers:
            if 0 <= address - worker.address < worker.size:
                return Seat(worker, address - worker.address)
        raise KeyError(address)

    def running(self, cluster_blocks: int) -> int:
        """Blocks that sit and have not ended; seats that nobody took hold none."""
        count = 0
        for worker in self.workers:
            (seats,) = worker.get(abi.WORKER_SEATS, "<Q")
            for first in range(0, seats, cluster_blocks):
                if worker.get(first * self.stride + abi.WORKER_TAKEN, "<i") == (0,):
                    continue
                places = range(first, first + cluster_blocks)
                count += sum(worker.get(at * self.stride + abi.WORKER_STATE, "<i")[0] for at in places)
        return count

    def counters(self, worker: int) -> tuple[int, ...]:
        """What the instruments of an OS thread have counted."""
        return self.workers[worker].get(self._counters_at[worker], f"<{self._counters}Q")

    def remember(self) -> None:
        """Takes what `restore` brings back: context and workers as they are before a run."""
        self._image = self.context.read()
        self._images = [worker.read(0, abi.WORKER_BYTES) for worker in self.workers]

    def restore(self, used: int) -> None:
        """Context and the first workers as `remember` found them, and no allocation known to a site. One seat each."""
        ctypes.memmove(self.context.address, self._image, abi.CONTEXT_BYTES)
        for index in range(used):
            address = self.workers[index].address
            ctypes.memmove(address, self._images[index], abi.WORKER_BYTES)
            start = self._sites_at[index]
            ctypes.memset(address + start, 0, self._counters_at[index] - start)

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

    def site(self, address: int, index: int) -> tuple[int, int]:
        """First address and limit of a site's cached allocation, for the thread of a seat."""
        (sites,) = self.seat(address).get(abi.WORKER_SITES, "<Q")
        for worker in self.workers:
            if 0 <= sites - worker.address < worker.size:
                first, limit = worker.get(sites - worker.address + 16 * index, "<QQ")
                return first, limit
        return 0, 0


def _up(offset: int) -> int:
    return (offset + 63) // 64 * 64
