"""The device runtime's functions that the host serves: printf, assert, malloc and free.

Compiled code calls one process-wide C function with the launch context, the worker, the number of the service, the
site, the mask of active lanes and the arguments (i64, one row of 32 lanes each). It returns 0 to stop the kernel.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from emulator.analysis.flat import LOCAL_TAG, SHARED_TAG
from emulator.lowering import abi
from emulator.runtime.arena import Memory, OutOfMemory
from emulator.runtime.printf import format_printf

if TYPE_CHECKING:
    from emulator.runtime.prepared import Prepared
    from emulator.runtime.workspace import Seat

_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64
)
_WIDTH = 32
_LONGEST_STRING = 1 << 16
_active: dict[int, Service] = {}


class BadAddress(LookupError):
    """A service was given an address that is in no memory of the launch."""


class Service:
    MOST_HEAP_BUFFERS = 1 << 16

    def __init__(self, launch: Prepared, memory: Memory) -> None:
        self.launch = launch
        self.memory = memory
        self.on_print: Callable[[str], None] | None = None
        self.message: str | None = None
        self.failure: BaseException | None = None
        self._lock = threading.Lock()
        self._heap = 0
        self._freed: set[int] = set()

    @contextmanager
    def registered(self, context: int, on_print: Callable[[str], None] | None) -> Iterator[None]:
        """Calls that name the context come here; what `on_print` raised is raised again at the end."""
        self.on_print = on_print
        _active[context] = self
        try:
            yield
        finally:
            del _active[context]
        if self.failure is not None:
            raise self.failure

    @property
    def used(self) -> bool:
        """Whether it keeps something of a run: a message, or what became of the heap."""
        return bool(self.message or self.failure or self._heap or self._freed)

    def serve(self, worker: int, number: int, site: int, mask: int, arguments: int) -> int:
        seat = self.launch.workspace.seat(worker)
        rows = (ctypes.c_uint64 * (_WIDTH * 5)).from_address(arguments)
        lanes = [lane for lane in range(_WIDTH) if mask >> lane & 1]
        with self._lock:
            for lane in lanes:
                if not self._one(seat, number, site, lane, rows):
                    return 0
        return 1

    def _one(self, worker: Seat, number: int, site: int, lane: int, rows: ctypes.Array[ctypes.c_uint64]) -> bool:
        values = [rows[_WIDTH * index + lane] for index in range(5)]
        try:
            if number == 1:
                self._print(worker, lane, values[0], values[1])
                rows[lane] = 0
            elif number == 2:
                self._assert(worker, lane, values)
                self._record(worker, abi.ASSERT, site, lane)
                return False
            elif number == 3:
                rows[lane] = self._allocate(values[0])
            else:
                self._free(values[0])
        except BadAddress as error:
            self.message = str(error)
            self._record(worker, abi.OUT_OF_BOUNDS, site, lane)
            return False
        return True

    def _record(self, worker: Seat, kind: int, site: int, lane: int) -> None:
        context = self.launch.workspace.context
        if context.get(abi.CONTEXT_CLAIMED, "<i") == (0,):
            (gang,) = worker.get(abi.WORKER_GANG, "<i")
            (block,) = worker.get(abi.WORKER_BLOCK, "<q")
            context.put(abi.CONTEXT_FAULT, "<iiiiqQiiqQ", kind, site, 0, 0, 0, 0, lane, gang, block, worker.address)
            context.put(abi.CONTEXT_CLAIMED, "<i", 1)
            context.put(abi.CONTEXT_STOP, "<i", 1)

    # Reading what the kernel points to.

    def read(self, worker: Seat, lane: int, address: int, size: int) -> bytes:
        """Bytes at a generic address, as the lane sees them. Raises BadAddress."""
        tag, offset = address >> 56, address & ((1 << 56) - 1)
        launch = self.launch
        if tag == SHARED_TAG >> 56:
            rank, offset = offset >> abi.RANK_SHIFT, offset & ((1 << abi.RANK_SHIFT) - 1)
            if rank > launch.cluster_blocks or offset + size > launch.shared_bytes:
                raise BadAddress(f"shared address {address & ((1 << 56) - 1):#x} is out of bounds")
            if rank:
                (first,) = worker.get(abi.WORKER_CLUSTER, "<Q")
                worker = launch.workspace.seat(first + (rank - 1) * launch.workspace.stride)
            (start,) = worker.get(abi.WORKER_SHARED, "<Q")
            return ctypes.string_at(start + offset, size)
        if tag == LOCAL_TAG >> 56:
            if offset + size > launch.entry.local_bytes:
                raise BadAddress(f"local address {offset:#x} is out of bounds")
            (start,) = worker.get(abi.WORKER_LOCAL, "<Q")
            (gang,) = worker.get(abi.WORKER_GANG, "<i")
            base = start + gang * launch.entry.local_bytes * _WIDTH + 4 * lane
            return bytes(
                ctypes.c_uint8.from_address(base + (at & ~3) * _WIDTH + (at & 3)).value
                for at in range(offset, offset + size)
            )
        buffer = self.memory.find(address)
        if buffer is None or address + size > buffer.address + buffer.nbytes:
            raise BadAddress(f"address {address:#x} is in no buffer")
        return ctypes.string_at(address, size)

    def _string(self, worker: Seat, lane: int, address: int) -> bytes:
        """A string that ends with a zero byte."""
        if address == 0:
            return b"(null)"
        found = bytearray()
        while len(found) < _LONGEST_STRING:
            byte = self.read(worker, lane, address + len(found), 1)
            if byte == b"\0":
                break
            found += byte
        return bytes(found)

    # The services.

    def _print(self, worker: Seat, lane: int, format_address: int, arguments: int) -> None:
        text = format_printf(
            self._string(worker, lane, format_address),
            lambda offset, size: self.read(worker, lane, arguments + offset, size),
            lambda address: self._string(worker, lane, address),
        )
        if self.on_print is not None and self.failure is None:
            try:
                self.on_print(text)
            except BaseException as error:  # it must not unwind through compiled code
                self.failure = error

    def _assert(self, worker: Seat, lane: int, values: list[int]) -> None:
        message, file, function = (
            self._string(worker, lane, values[index]).decode(errors="replace") for index in (0, 1, 3)
        )
        self.message = f"assertion '{message}' failed in {function} ({file}:{values[2] & 0xFFFFFFFF})"

    def _allocate(self, size: int) -> int:
        """malloc: a heap buffer, 0 where memory or the table is full."""
        if size == 0 or self._heap >= self.MOST_HEAP_BUFFERS:
            return 0
        try:
            buffer = self.memory.allocate(f"malloc #{self._heap + 1}", size)
        except OutOfMemory:
            return 0
        self._heap += 1
        workspace, index = self.launch.workspace, len(self.memory.buffers) - 1
        # Buffers are allocated at ascending addresses, so readers see a sorted table at any time.
        workspace.starts.put(8 * index, "<Q", buffer.address)
        workspace.sizes.put(8 * index, "<Q", buffer.nbytes)
        workspace.context.put(abi.CONTEXT_ALLOCATIONS, "<Q", index + 1)
        return buffer.address

    def _free(self, address: int) -> None:
        if address == 0:
            return
        index = next((i for i, b in enumerate(self.memory.buffers) if b.address == address), None)
        if index is None or not self.memory.buffers[index].name.startswith("malloc #"):
            raise BadAddress(f"free of address {address:#x}, which malloc did not return")
        if address in self._freed:
            raise BadAddress(f"free of address {address:#x} twice")
        self._freed.add(address)
        self.launch.workspace.sizes.put(8 * index, "<Q", 0)


def _dispatch(context: int, worker: int, number: int, site: int, mask: int, arguments: int) -> int:
    service = _active[context]
    try:
        return service.serve(worker, number, site, mask, arguments)
    except BaseException as error:  # it must not unwind through compiled code
        service.failure = error
        service.launch.workspace.context.put(abi.CONTEXT_STOP, "<i", 1)
        return 0


# Made at import: a confined process may not be able to make executable memory for it.
_FUNCTION = _TYPE(_dispatch)


def service_address() -> int:
    return ctypes.cast(_FUNCTION, ctypes.c_void_p).value or 0
