"""One launch, set up once and run as often as a loop of steps asks: what it takes, and what came of it."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from emulator.instruments import make_instruments
from emulator.instruments.checking import Checking
from emulator.lowering import abi
from emulator.runtime import jit
from emulator.runtime.arena import Buffer, Memory
from emulator.runtime.faults import Fault, FaultRecord, describe, describe_wait
from emulator.runtime.mbarriers import pending
from emulator.runtime.seating import Seating
from emulator.runtime.service import Service, service_address
from emulator.runtime.shadows import COPY_COUNTERS, SHARED_CELL, Shadows
from emulator.runtime.team import Alarm, Call, Team
from emulator.runtime.tiers import Loaded
from emulator.runtime.workspace import SeatSizes, Workspace

Dim3 = tuple[int, int, int]
_STOP_DEADLINE = 2
_WORKSPACE_BYTES = 64  # at least `abi.GRID_BYTES`
_BRIEF_SECONDS = 1e-4
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


class Prepared:
    """A launch with everything set up but its arguments; see `fresh` for whether it can run once more."""

    def __init__(
        self, loaded: Loaded, memory: Memory, grid: Dim3, dynamic: int, threads: int, team: Team,
        variables: Sequence[Buffer], cooperative: bool, cluster: Dim3 | None, resident_blocks: int | None,
    ) -> None:  # fmt: skip
        self.entry = entry = loaded.entry
        self.loaded = loaded
        self.team = team
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
            self.shared_bytes, entry.frame_bytes * entry.gangs if entry.suspends else 0, entry.local_bytes * 32 * gangs,
            max(1, self.shared_bytes) * SHARED_CELL + COPY_COUNTERS if checked else 0,
        )  # fmt: skip
        # The cells of the checks are not shared between threads.
        self.seating = Seating.plan(
            blocks, self.cluster_blocks, 1 if checked else threads, seat.total, entry.waits_for_blocks, resident_blocks
        )
        self.threads = len(self.seating.seats)
        self.workspace = Workspace(self.seating.seats, seat, len(entry.sites), len(self.counter_names))
        self.service = Service(self, memory)
        context = self.workspace.context
        grid_workspace = self._grid_workspace() if cooperative else abi.NO_GRID
        capacity = len(memory.buffers) + Service.MOST_HEAP_BUFFERS
        starts, sizes = self.workspace.table(capacity, memory.buffers)
        self._arguments = bytearray(max((p.offset + p.size for p in entry.parameters), default=0) + 16)
        self._parameters = self.workspace.keep(bytes(self._arguments))
        put = context.put
        put(abi.CONTEXT_BLOCKS, "<Q", blocks)
        put(abi.CONTEXT_GRID, "<III", *grid)
        put(abi.CONTEXT_PARAMETERS, "<Q", self._parameters)
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
        name = "run_resident" if entry.waits_for_blocks else "run"
        function = _RUN_TYPE(jit.support().addresses[name])
        address = self.workspace.context.address
        self._kernel = ctypes.c_uint64.from_address(address + abi.CONTEXT_KERNEL)
        self._calls: list[Call] = [partial(function, address, worker.address) for worker in self.workspace.workers]
        # Nothing that a run leaves behind matters to the next one.
        self._plain = not (entry.instruments or entry.waits_for_blocks or cooperative or cluster is not None)
        self._allocations = len(memory.buffers)
        self._brief = False
        self._runs = 0

    def _grid_workspace(self) -> int:
        """Where the threads of a cooperative grid meet: one for all launches of a run, cleared before each."""
        key = ":grid"
        if key not in self.memory.variables:
            self.memory.variables[key] = self.memory.allocate("the grid's barrier", _WORKSPACE_BYTES)
        buffer = self.memory.variables[key]
        buffer.bytes_view()[:] = 0
        return buffer.address

    @property
    def fresh(self) -> bool:
        """Whether the launch can run as it is: for the first time, or again where nothing but state is left behind."""
        if not self._runs:
            return True
        return self._plain and len(self.memory.buffers) == self._allocations and not self.service.used

    def run(
        self,
        arguments: Sequence[bytes],
        deadline_seconds: float,
        on_print: Callable[[str], None] | None = None,
        only: range | None = None,
    ) -> Outcome:
        """Runs the grid, or `only` the blocks of these linear indices (x fastest).

        `arguments` are as `emulator.launch` takes them. Counters go on from where the run before left them.
        """
        self._set(arguments)
        if only is not None:
            self.workspace.context.put(abi.CONTEXT_NEXT_BLOCK, "<QQ", only.start, only.stop)
            self.workspace.context.put(abi.CONTEXT_CHUNK, "<Q", 1)
        calls = self._calls_now()
        with self.service.registered(self.workspace.context.address, on_print):
            self.loaded.begin(self._kernel)
            start = time.perf_counter()
            alarms: list[Alarm] = [(start + deadline_seconds, self._stop)]
            patience = self.loaded.patience
            if patience is not None:
                alarms.append((start + patience, self.loaded.improve))
            try:
                self.team.run(calls, alarms)
            finally:
                seconds = time.perf_counter() - start
                self.loaded.end(seconds)
        self._brief = self._plain and seconds < _BRIEF_SECONDS
        findings: tuple[Fault, ...] = ()
        if self.shadows is not None:
            findings = self.shadows.findings(self.entry.sites, self.memory, self.grid, self.entry.block)
        return Outcome(self._fault(deadline_seconds), seconds, self._counters(), findings)

    def _calls_now(self) -> list[Call]:
        # Waking other threads takes longer than what a brief launch computes.
        return self._calls[:1] if self._brief else self._calls

    def _set(self, arguments: Sequence[bytes]) -> None:
        """Writes the arguments, and what a run before has changed back to what it was."""
        values = self._arguments
        for parameter, value in zip(self.entry.parameters, arguments, strict=True):
            values[parameter.offset : parameter.offset + parameter.size] = value
        ctypes.memmove(self._parameters, bytes(values), len(values))
        if self._runs:
            self.workspace.restore(len(self._calls_now()))
        else:
            self.workspace.remember()
        self._runs += 1

    def _stop(self) -> None:
        self.workspace.context.put(abi.CONTEXT_STOP, "<i", _STOP_DEADLINE)

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
        if not self.counter_names:
            return {}
        totals = [0] * len(self.counter_names)
        for worker in range(self.threads):
            totals = [a + b for a, b in zip(totals, self.workspace.counters(worker), strict=True)]
        return dict(zip(self.counter_names, totals, strict=True))

    def _fault(self, deadline_seconds: float) -> Fault | None:
        stop, claimed = self.workspace.context.get(abi.CONTEXT_STOP, "<ii")
        if not stop and not claimed:
            return None
        data = self.workspace.context.read()
        if claimed:
            record = FaultRecord.read(data)
            message = self.service.message or self._missing(record)
            return describe(
                record, list(self.entry.sites), self.memory, self._intended(record), self.grid, self.entry.block,
                self.shared_bytes, self.entry.local_bytes, self.entry.stack_bytes, message,
            )  # fmt: skip
        if stop == _STOP_DEADLINE:
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
