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
from emulator.runtime.faults import Fault, FaultRecord, describe
from emulator.runtime.service import Service, service_address
from emulator.runtime.shadows import Shadows
from emulator.runtime.workspace import Workspace

Dim3 = tuple[int, int, int]
_MOST_BLOCKS = (1 << 31) - 1, 65535, 65535
_MOST_SHARED = 232448
_STOP_DEADLINE = 2
_RUN_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class LaunchError(ValueError):
    """The launch itself is wrong: sizes, number of arguments, or code of another host."""


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


class Loaded:
    """A compiled entry linked into the process."""

    def __init__(self, entry: CompiledEntry) -> None:
        if entry.host != jit.host_key():
            raise LaunchError("the code was compiled for another processor")
        imports = {name: address for name, address in jit.support().addresses.items() if name != "run"}
        for name in entry.instruments:
            imports |= jit.instrument_support(name).addresses
        self._linked = jit.link(entry.code, ("kernel",), imports)
        self.address = self._linked.addresses["kernel"]


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
) -> Outcome:
    """Runs a grid. `arguments` are the bytes of each parameter in order; pointers are buffer addresses.

    Raises LaunchError where the launch is malformed, OutOfMemory where module variables do not fit. `on_print`
    gets the kernel's printed text while it runs, from any thread, one call at a time.
    """
    _check(entry, grid, arguments, dynamic_shared_bytes, threads)
    loaded = loaded or Loaded(entry)
    variables = _place_variables(entry, memory)
    return _Launch(entry, memory, grid, arguments, dynamic_shared_bytes, threads, on_print, loaded, variables).run(
        deadline_seconds
    )


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
        on_print: Callable[[str], None] | None, loaded: Loaded, variables: list[Buffer],
    ) -> None:  # fmt: skip
        self.entry = entry
        self.memory = memory
        self.grid = grid
        blocks = grid[0] * grid[1] * grid[2]
        checked = Checking.name in entry.instruments
        # The cells of the checks are not shared between threads.
        self.threads = 1 if checked else min(threads, blocks)
        x, y, z = entry.block
        total = x * y * z
        gangs = -(-total // 32)
        start = entry.shared_bytes if entry.dynamic_offset is None else entry.dynamic_offset
        self.shared_bytes = start + dynamic
        self.counter_names = [name for i in make_instruments(entry.instruments) for name in i.counters]
        self.workspace = Workspace(
            self.threads, len(entry.sites), self.shared_bytes, entry.frame_bytes * gangs if entry.suspends else 0,
            entry.local_bytes * 32 * gangs, len(self.counter_names),
        )  # fmt: skip
        self.service = Service(self, memory, on_print)
        context = self.workspace.context
        capacity = len(memory.buffers) + Service.MOST_HEAP_BUFFERS
        starts, sizes = self.workspace.table(capacity, memory.buffers)
        parameters = bytearray(max((p.offset + p.size for p in entry.parameters), default=0) + 16)
        for parameter, value in zip(entry.parameters, arguments, strict=True):
            parameters[parameter.offset : parameter.offset + parameter.size] = value
        put = context.put
        put(abi.CONTEXT_BLOCKS, "<Q", blocks)
        put(abi.CONTEXT_KERNEL, "<Q", loaded.address)
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
        put(abi.CONTEXT_FRAME_BYTES, "<Q", entry.frame_bytes if entry.suspends else 0)
        put(abi.CONTEXT_CHUNK, "<Q", max(1, min(64, blocks // (self.threads * 8))))
        put(abi.CONTEXT_SERVICE, "<Q", service_address())
        put(abi.CONTEXT_DYNAMIC_SHARED, "<Q", dynamic)
        put(abi.CONTEXT_THREADS, "<Q", total)
        self.shadows = Shadows(self.workspace, memory, entry, self.shared_bytes) if checked else None

    def run(self, deadline_seconds: float) -> Outcome:
        run = _RUN_TYPE(jit.support().addresses["run"])
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
            start = time.perf_counter()
            deadline = start + deadline_seconds
            for thread in crew:
                thread.start()
            for _ in crew:
                if not timed_out and not done.acquire(timeout=max(0.0, deadline - time.perf_counter())):
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

    def _counters(self) -> dict[str, int]:
        totals = [0] * len(self.counter_names)
        for worker in self.workspace.workers:
            totals = [a + b for a, b in zip(totals, self.workspace.counters(worker), strict=True)]
        return dict(zip(self.counter_names, totals, strict=True))

    def _fault(self, timed_out: bool, deadline_seconds: float) -> Fault | None:
        data = self.workspace.context.read()
        if struct.unpack_from("<i", data, abi.CONTEXT_CLAIMED)[0]:
            record = FaultRecord.read(data)
            return describe(
                record, list(self.entry.sites), self.memory, self._intended(record), self.grid, self.entry.block,
                self.shared_bytes, self.entry.local_bytes, self.entry.stack_bytes, self.service.message,
            )  # fmt: skip
        if timed_out:
            return Fault("timeout", f"the kernel did not end within {deadline_seconds:g} s")
        return None

    def _intended(self, record: FaultRecord) -> Buffer | None:
        """The buffer that the faulting instruction used last on that thread."""
        for worker in self.workspace.workers:
            if worker.address == record.worker and 0 <= record.site < len(self.entry.sites):
                first, limit = self.workspace.site(worker, record.site)
                return self.memory.find(first) if limit else None
        return None
