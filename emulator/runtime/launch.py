"""Launches a compiled entry over OS threads and turns what happened into an outcome."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from emulator.instruments import make_instruments
from emulator.instruments.checking import Checking
from emulator.lowering import abi
from emulator.runtime import jit
from emulator.runtime.arena import Buffer, Memory
from emulator.runtime.compiled import CompiledEntry, ModuleVariable
from emulator.runtime.faults import Fault, FaultRecord, describe, describe_wait
from emulator.runtime.mbarriers import pending
from emulator.runtime.seating import Seating
from emulator.runtime.service import Service, service_address
from emulator.runtime.shadows import COPY_COUNTERS, SHARED_CELL, Shadows
from emulator.runtime.tiers import LaunchError, Loaded
from emulator.runtime.workspace import SeatSizes, Workspace

Dim3 = tuple[int, int, int]
_MOST_BLOCKS = (1 << 31) - 1, 65535, 65535
_MOST_SHARED = 232448
_STOP_DEADLINE = 2
_WORKSPACE_BYTES = 64  # at least `abi.GRID_BYTES`
MOST_CLUSTER_BLOCKS = 16
_RUN_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`fault` is None where every thread ran to its end; `seconds` is wall time of the kernel alone.

    `counters` and `findings` are those of the instruments that the entry was compiled with.
    """

    fault: Fault | None
    seconds: float
    counters: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Fault, ...] = ()

    @property
    def finished(self) -> bool:
        return self.fault is None


def launch(
    entry: CompiledEntry,
    memory: Memory,
    grid: Dim3,
    arguments: Sequence[bytes],
    dynamic_shared_bytes: int = 0,
    deadline_seconds: float = 10.0,
    threads: int = 2,
    on_print: Callable[[str], None] | None = None,
    loaded: Loaded | None = None,
    cooperative: bool = False,
    cluster: Dim3 | None = None,
    resident_blocks: int | None = None,
) -> Outcome:
    """Runs a grid. `arguments` are the bytes of each parameter in order; pointers are buffer addresses.

    `cooperative`: the grid can be synchronised. `cluster`: blocks of a cluster along each axis, where the kernel names
    none. `resident_blocks`: how many a GPU holds at once; of kernels whose blocks wait for each other no more begin
    before others have ended. None: as many as there is memory for.

    Raises LaunchError where the launch is malformed, OutOfMemory where module variables do not fit. `on_print`
    gets the kernel's printed text while it runs, from any thread, one call at a time.
    """
    _check(entry, grid, arguments, dynamic_shared_bytes, threads)
    shape = _cluster_of(entry, grid, cluster)
    loaded = loaded or Loaded(entry)
    variables = _place_variables(entry, memory)
    return _Launch(
        entry, memory, grid, arguments, dynamic_shared_bytes, threads, on_print, loaded, variables, cooperative, shape,
        resident_blocks,
    ).run(deadline_seconds)  # fmt: skip


def _cluster_of(entry: CompiledEntry, grid: Dim3, cluster: Dim3 | None) -> Dim3 | None:
    """The shape of the launch's clusters; None where it has none."""
    shape = entry.cluster or cluster
    if entry.cluster is not None and cluster is not None and cluster != entry.cluster:
        raise LaunchError(f"'{entry.name}' is compiled for clusters of {entry.cluster} blocks, not {cluster}")
    if shape is None:
        return None
    if min(shape) < 1 or shape[0] * shape[1] * shape[2] > MOST_CLUSTER_BLOCKS:
        raise LaunchError(f"a cluster of {shape} blocks is not between 1 and {MOST_CLUSTER_BLOCKS}")
    if any(blocks % extent for blocks, extent in zip(grid, shape, strict=True)):
        raise LaunchError(f"a grid of {grid} blocks cannot be divided into clusters of {shape}")
    return shape


def _check(entry: CompiledEntry, grid: Dim3, arguments: Sequence[bytes], dynamic: int, threads: int) -> None:
    if any(not 1 <= extent <= most for extent, most in zip(grid, _MOST_BLOCKS, strict=True)):
        raise LaunchError(f"a grid of {grid} blocks is not between 1 and {_MOST_BLOCKS}")
    if len(arguments) != len(entry.parameters):
        raise LaunchError(f"'{entry.name}' has {len(entry.parameters)} parameters, {len(arguments)} were given")
    for parameter, value in zip(entry.parameters, arguments, strict=True):
        if len(value) != parameter.size:
            raise LaunchError(f"parameter '{parameter.name}' has {parameter.size} bytes, {len(value)} were given")
    if not 0 <= dynamic <= _MOST_SHARED - entry.shared_bytes:
        raise LaunchError(f"a block can have {_MOST_SHARED - entry.shared_bytes} bytes of dynamic shared memory")
    if threads < 1:
        raise LaunchError("threads must be positive")


def _place_variables(entry: CompiledEntry, memory: Memory) -> list[Buffer]:
    """Module variables in the arena; those that an earlier launch placed keep their contents."""
    placed: list[Buffer] = []
    fresh: list[tuple[ModuleVariable, Buffer]] = []
    for variable in entry.variables:
        key = f"{entry.module_key}:{variable.name}"
        if key not in memory.variables:
            memory.variables[key] = memory.allocate(variable.name, variable.size)
            fresh.append((variable, memory.variables[key]))
        placed.append(memory.variables[key])
    symbols = {v.name: b.address for v, b in zip(entry.variables, placed, strict=True)} | entry.code_addresses
    for variable, buffer in fresh:
        view = buffer.bytes_view()
        view[: len(variable.initial)] = memoryview(variable.initial)
        for offset, size, symbol, addend in variable.addresses:
            value = (symbols.get(symbol, 0) + addend) & ((1 << 8 * size) - 1)
            view[offset : offset + size] = memoryview(value.to_bytes(size, "little"))
    return placed


class _Launch:
    def __init__(
        self, entry: CompiledEntry, memory: Memory, grid: Dim3, arguments: Sequence[bytes], dynamic: int, threads: int,
        on_print: Callable[[str], None] | None, loaded: Loaded, variables: list[Buffer], cooperative: bool,
        cluster: Dim3 | None, resident_blocks: int | None,
    ) -> None:  # fmt: skip
        self.entry = entry
        self.loaded = loaded
        self.memory = memory
        self.grid = grid
        blocks = grid[0] * grid[1] * grid[2]
        checked = Checking.name in entry.instruments
        x, y, z = entry.block
        total = x * y * z
        gangs = -(-total // 32)
        start = entry.shared_bytes if entry.dynamic_offset is None else entry.dynamic_offset
        self.shared_bytes = start + dynamic
        self.cooperative = cooperative
        extents = cluster or (1, 1, 1)
        self.cluster_blocks = extents[0] * extents[1] * extents[2]
        self.counter_names = [name for i in make_instruments(entry.instruments) for name in i.counters]
        seat = SeatSizes(
            self.shared_bytes, entry.frame_bytes * gangs if entry.suspends else 0, entry.local_bytes * 32 * gangs,
            max(1, self.shared_bytes) * SHARED_CELL + COPY_COUNTERS if checked else 0,
        )  # fmt: skip
        # The cells of the checks are not shared between threads.
        self.seating = Seating.plan(
            blocks, self.cluster_blocks, 1 if checked else threads, seat.total, entry.waits_for_blocks, resident_blocks
        )
        self.threads = len(self.seating.seats)
        self.workspace = Workspace(self.seating.seats, seat, len(entry.sites), len(self.counter_names))
        self.service = Service(self, memory, on_print)
        context = self.workspace.context
        grid_workspace = self._grid_workspace() if cooperative else abi.NO_GRID
        capacity = len(memory.buffers) + Service.MOST_HEAP_BUFFERS
        starts, sizes = self.workspace.table(capacity, memory.buffers)
        parameters = bytearray(max((p.offset + p.size for p in entry.parameters), default=0) + 16)
        for parameter, value in zip(entry.parameters, arguments, strict=True):
            parameters[parameter.offset : parameter.offset + parameter.size] = value
        put = context.put
        put(abi.CONTEXT_BLOCKS, "<Q", blocks)
        put(abi.CONTEXT_GRID, "<III", *grid)
        put(abi.CONTEXT_PARAMETERS, "<Q", self.workspace.keep(bytes(parameters)))
        addresses = struct.pack(f"<{len(variables)}Q", *(v.address for v in variables))
        put(abi.CONTEXT_GLOBALS, "<Q", self.workspace.keep(addresses))
        put(abi.CONTEXT_STARTS, "<Q", starts)
        put(abi.CONTEXT_SIZES, "<Q", sizes)
        put(abi.CONTEXT_ALLOCATIONS, "<Q", len(memory.buffers))
        put(abi.CONTEXT_SHARED_BYTES, "<Q", self.shared_bytes)
        put(abi.CONTEXT_LOCAL_BYTES, "<Q", entry.local_bytes)
        put(abi.CONTEXT_GANGS, "<Q", gangs)
        put(abi.CONTEXT_CALLS, "<Q", 1 if entry.whole else gangs)
        put(abi.CONTEXT_FRAME_BYTES, "<Q", entry.frame_bytes if entry.suspends and not entry.whole else 0)
        put(abi.CONTEXT_CHUNK, "<Q", max(1, min(64, blocks // (self.threads * 8))))
        put(abi.CONTEXT_SERVICE, "<Q", service_address())
        put(abi.CONTEXT_DYNAMIC_SHARED, "<Q", dynamic)
        put(abi.CONTEXT_THREADS, "<Q", total)
        put(abi.CONTEXT_SEAT_BYTES, "<Q", self.workspace.stride)
        put(abi.CONTEXT_CLUSTER_BLOCKS, "<Q", self.cluster_blocks)
        put(abi.CONTEXT_CLUSTER, "<IIII", *extents, int(cluster is not None))
        put(abi.CONTEXT_WORKSPACE, "<Q", grid_workspace)
        self.shadows = Shadows(self.workspace, memory, entry) if checked else None

    def _grid_workspace(self) -> int:
        """Where the threads of a cooperative grid meet: one for all launches of a run, cleared before each."""
        key = ":grid"
        if key not in self.memory.variables:
            self.memory.variables[key] = self.memory.allocate("the grid's barrier", _WORKSPACE_BYTES)
        buffer = self.memory.variables[key]
        buffer.bytes_view()[:] = 0
        return buffer.address

    def run(self, deadline_seconds: float) -> Outcome:
        run = _RUN_TYPE(jit.support().addresses["run_resident" if self.entry.waits_for_blocks else "run"])
        context = self.workspace.context
        done = threading.Semaphore(0)

        def work(worker: int) -> None:
            try:
                run(context.address, worker)
            finally:
                done.release()

        crew = [threading.Thread(target=work, args=(w.address,), daemon=True) for w in self.workspace.workers]
        timed_out = False
        with self.service.registered(context.address):
            with self.loaded.running(context.address):
                start = time.perf_counter()
                deadline = start + deadline_seconds
                for thread in crew:
                    thread.start()
                for _ in crew:
                    if not timed_out and not self._ended(done, deadline):
                        timed_out = True
                        context.put(abi.CONTEXT_STOP, "<i", _STOP_DEADLINE)
                        done.acquire()
                    elif timed_out:
                        done.acquire()
                seconds = time.perf_counter() - start
            for thread in crew:
                thread.join()
        findings: tuple[Fault, ...] = ()
        if self.shadows is not None:
            findings = self.shadows.findings(self.entry.sites, self.memory, self.grid, self.entry.block)
        return Outcome(self._fault(timed_out, deadline_seconds), seconds, self._counters(), findings)

    def _ended(self, done: threading.Semaphore, deadline: float) -> bool:
        """Waits for one thread until the deadline; a launch that lasts gets better code meanwhile."""
        patience, left = self.loaded.patience, deadline - time.perf_counter()
        if patience is not None and patience < left:
            if done.acquire(timeout=patience):
                return True
            self.loaded.improve()
        return done.acquire(timeout=max(0.0, deadline - time.perf_counter()))

    def _waits(self, begun: int) -> str | None:
        """What a launch that did not end may have waited for."""
        if not self.entry.waits_for_blocks:
            return None
        blocks = self.grid[0] * self.grid[1] * self.grid[2]
        if begun < blocks:
            resident = sum(self.seating.seats)
            reason = "for which there is memory" if self.seating.short else "as many as the GPU holds at once"
            return (
                f"{blocks - begun:,} of the {blocks:,} blocks have not started: at most {resident:,} are resident, "
                f"{reason}. Blocks that wait for others which cannot start before they end wait for ever, on a GPU too."
            )
        running = self.workspace.running(self.cluster_blocks)
        if not 0 < running < blocks:
            return None
        met = " Every block of a cooperative launch has to reach each grid.sync()." if self.cooperative else ""
        return (
            f"{running:,} of the {blocks:,} blocks had not ended. Blocks that wait for something from those which have "
            f"ended wait for ever.{met}"
        )

    def _counters(self) -> dict[str, int]:
        totals = [0] * len(self.counter_names)
        for worker in range(self.threads):
            totals = [a + b for a, b in zip(totals, self.workspace.counters(worker), strict=True)]
        return dict(zip(self.counter_names, totals, strict=True))

    def _fault(self, timed_out: bool, deadline_seconds: float) -> Fault | None:
        data = self.workspace.context.read()
        if struct.unpack_from("<i", data, abi.CONTEXT_CLAIMED)[0]:
            record = FaultRecord.read(data)
            message = self.service.message or self._missing(record)
            return describe(
                record, list(self.entry.sites), self.memory, self._intended(record), self.grid, self.entry.block,
                self.shared_bytes, self.entry.local_bytes, self.entry.stack_bytes, message,
            )  # fmt: skip
        if timed_out:
            (begun,) = struct.unpack_from("<Q", data, abi.CONTEXT_NEXT_BLOCK)
            return Fault("timeout", f"the kernel did not end within {deadline_seconds:g} s", note=self._waits(begun))
        return None

    def _missing(self, record: FaultRecord) -> str | None:
        """What threads in a deadlock wait for, if it is at an mbarrier."""
        offset = record.address & ((1 << abi.RANK_SHIFT) - 1)
        if abi.FAULT_KINDS[record.kind] != "deadlock" or record.site < 0 or offset + 8 > self.shared_bytes:
            return None
        (shared,) = self.workspace.seat(record.worker).get(abi.WORKER_SHARED, "<Q")
        word = int.from_bytes(ctypes.string_at(shared + offset, 8), "little")
        return describe_wait(record.address, *pending(word))

    def _intended(self, record: FaultRecord) -> Buffer | None:
        """The buffer that the faulting instruction used last on that thread."""
        if not 0 <= record.site < len(self.entry.sites):
            return None
        first, limit = self.workspace.site(record.worker, record.site)
        return self.memory.find(first) if limit else None
