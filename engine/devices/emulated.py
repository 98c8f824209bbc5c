"""The PTX emulator as a device: code is made in the compile step, kernels run on the processor's vector units."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

import emulator
from emulator import CompiledEntry, CompileProblems, InternalFailure, Loaded, Memory, Prepared, Team
from emulator.runtime.trace import Tracer
from engine.devices.device import Code, DeviceRefusal, LaunchReport, Print
from engine.devices.findings import TIMEOUT, Named, finding, own_fault, refusal
from engine.devices.occupancy import resident_blocks
from engine.estimating.profile import Profile, sampled
from engine.languages.source_text import SourceText
from engine.values.dtypes import Array, numpy_dtype
from protocol.diagnostics import Diagnostic
from protocol.dtypes import ITEM_BYTES
from protocol.events import DeviceKind, Found
from protocol.frames import object_key, profile_key, trace_key
from protocol.kernel import CompiledKernel
from protocol.run import LaunchRequest
from protocol.source import Source

if TYPE_CHECKING:
    # Checks of a launch look up the limits that lie beside this module.
    from engine.launching.plan import Plan, PlannedLaunch

MAX_THREADS = 8
HEAP_BYTES = 8 << 20
"""For malloc inside kernels: CUDA's own default."""
_PADDING = 4096
_UNINITIALISED = b"\xcd"
_TRACING = emulator.Options(fast=True, instruments=("trace",))
_COUNTING = emulator.Options(fast=True, instruments=("profile",))
_MOST_REFUSALS = 20


@dataclass(frozen=True, slots=True)
class EmulatedBuffer:
    """A buffer in the emulator's arena."""

    allocation: emulator.Buffer
    dtype: str

    @property
    def address(self) -> int:
        return self.allocation.address

    def write(self, values: Array) -> None:
        self.allocation.view(numpy_dtype(self.dtype))[:] = values

    def read(self) -> Array:
        return self.allocation.view(numpy_dtype(self.dtype))


class EmulatedDevice:
    """Runs launches over the processor's cores."""

    kind: DeviceKind = "emulator"
    clock: Literal["wall", "gpu-events"] = "wall"

    def __init__(self, memory: Memory, code: Mapping[str, CompiledEntry], source: Source, architecture: str) -> None:
        self._memory = memory
        self._architecture = architecture
        self._code = code
        self._loaded: dict[str, Loaded] = {}
        self._source = SourceText(source.text, source.file_name)
        self._buffers: dict[str, Named] = {}
        self._threads = available_threads()
        self._team = Team()
        self._prepared: dict[str, tuple[PlannedLaunch, Prepared]] = {}

    @property
    def name(self) -> str:
        return f"PTX emulator ({self._threads} thread{'' if self._threads == 1 else 's'})"

    @staticmethod
    def prewarm() -> None:
        emulator.prewarm()

    @staticmethod
    def prepare(kernel: CompiledKernel, plan: Plan, source: Source, final: bool = False) -> dict[str, Code]:
        """Machine code of every distinct entry and block of the plan."""
        text = SourceText(source.text, source.file_name)
        own = source.file_name if kernel.language == "ptx" else None
        # What a compiler made needs no look at what is not launched.
        wanted = None if own else {launch.entry.name for launch in plan.launches.values()}
        module, problems = emulator.parse(kernel.ptx, own, wanted)
        if problems:
            raise DeviceRefusal(_shown([refusal(item, text, "the module") for item in problems]))
        options = emulator.Options(instruments=plan.instruments, patient=final, hasty=plan.hasty)
        objects: dict[str, Code] = {}
        refused: list[Diagnostic] = []
        for launch in plan.launches.values():
            key = object_key(launch.entry.name, launch.block)
            if key in objects and (plan.traced != launch.step or trace_key(key) in objects):
                continue
            try:
                entry = emulator.compile_entry(module, launch.entry.name, launch.block, options)
                objects[key] = Code(entry.to_bytes(), quick=bool(entry.better))
                if plan.estimated:
                    counting = emulator.compile_entry(module, launch.entry.name, launch.block, _COUNTING)
                    objects[profile_key(key)] = Code(counting.to_bytes())
                if plan.traced == launch.step:
                    tracing = emulator.compile_entry(module, launch.entry.name, launch.block, _TRACING)
                    objects[trace_key(key)] = Code(tracing.to_bytes())
            except CompileProblems as error:
                found = error.problems if own is None else [_in(own, item) for item in error.problems]
                refused += [refusal(item, text, launch.entry.display) for item in found]
            except InternalFailure as failure:
                refused.append(own_fault(failure, launch.entry.display))
        if refused:
            raise DeviceRefusal(_shown(refused))
        return objects

    @classmethod
    def open(cls, request: LaunchRequest, blobs: Mapping[str, memoryview]) -> Self:
        """`blobs` holds object:<key> for every launch of the request."""
        code = {
            name.removeprefix("object:"): CompiledEntry.from_bytes(bytes(data))
            for name, data in blobs.items()
            if name.startswith("object:")
        }
        variables = {(entry.module_key, item.name): item.size for entry in code.values() for item in entry.variables}
        # The last is of the grid's own barrier.
        sizes = [_PADDING, *variables.values(), *(buffer.bytes for buffer in request.run.buffers)]
        return cls(
            Memory(sum(size + _PADDING for size in sizes) + HEAP_BYTES),
            code,
            request.run.source,
            request.kernel.architecture,
        )

    def allocate(self, name: str, dtype: str, count: int, values: Array | None) -> EmulatedBuffer:
        fill = _UNINITIALISED if values is None else None
        # Variables of the module lie in the same arena: a blank is in no name of theirs.
        label = f"buffer {name}"
        size, given = count * ITEM_BYTES[dtype], values is not None
        buffer = EmulatedBuffer(self._memory.allocate(label, size, fill, initialised=given), dtype)
        if values is not None:
            buffer.write(values)
        self._buffers[label] = Named(name, dtype, count)
        return buffer

    def residency(self, launch: PlannedLaunch) -> None:
        """Nothing: the blocks of a launch share no SM here."""

    def launch(
        self,
        launch: PlannedLaunch,
        arguments: Sequence[bytes],
        names: Mapping[str, str],
        on_print: Print,
        deadline_seconds: float,
        sole: bool,
    ) -> LaunchReport:
        planned, prepared = self._prepared.get(launch.step, (None, None))
        if prepared is None or planned is not launch or not prepared.fresh:
            prepared = self._prepare(launch)
            self._prepared[launch.step] = launch, prepared
            emulator.check_arguments(prepared.entry, arguments)
        outcome = prepared.run(arguments, deadline_seconds, on_print)
        if outcome.finished and not outcome.findings:
            return LaunchReport(outcome.seconds, counters=outcome.counters)
        timed_out = outcome.fault is not None and outcome.fault.kind == TIMEOUT
        allocations = {label: replace(item, name=names[item.name]) for label, item in self._buffers.items()}

        def told(fault: emulator.Fault, fatal: bool) -> Found:
            return finding(fault, launch.step, allocations, self._source, fatal)

        found = [told(item, fatal=False) for item in outcome.findings]
        if outcome.fault is not None and not timed_out:
            found.append(told(outcome.fault, fatal=True))
        notes = []
        if timed_out and outcome.fault is not None and outcome.fault.note:
            notes.append(_told_of_waiting(outcome.fault.note, launch.step))
        return LaunchReport(outcome.seconds, tuple(found), dict(outcome.counters), timed_out, diagnostics=tuple(notes))

    def profile(self, launch: PlannedLaunch, arguments: Sequence[bytes], budget_seconds: float) -> Profile:
        """Runs some of the launch's blocks, on the memory as it is, to tell what all of them do. Unestimated."""
        loaded = self._all_loaded()[profile_key(object_key(launch.entry.name, launch.block))]
        return sampled(
            loaded, self._memory, launch.grid, launch.block, arguments, launch.dynamic_shared_bytes, budget_seconds
        )

    def tracer(self, launch: PlannedLaunch, arguments: Sequence[bytes]) -> Tracer:
        """Of a launch that is to be traced, on the memory as it is. LaunchError where its blocks cannot run alone."""
        loaded = self._all_loaded()[trace_key(object_key(launch.entry.name, launch.block))]
        return Tracer(loaded, self._memory, launch.grid, arguments, launch.dynamic_shared_bytes)

    def place(self, address: int) -> tuple[str, int]:
        """The buffer that an address of the arena lies in, by the name that it was allocated under, and its start."""
        for buffer in self._memory.buffers:
            if buffer.address <= address < buffer.address + max(1, buffer.nbytes) and buffer.name in self._buffers:
                return self._buffers[buffer.name].name, buffer.address
        return "", 0

    def _all_loaded(self) -> dict[str, Loaded]:
        """All at once: while better code of one is made, LLVM can link no other."""
        if not self._loaded:
            self._loaded = {name: Loaded(code) for name, code in self._code.items()}
        return self._loaded

    def _prepare(self, launch: PlannedLaunch) -> Prepared:
        resident = resident_blocks(
            self._architecture, launch.entry.resources, launch.grid, launch.block, launch.dynamic_shared_bytes
        )
        return emulator.prepare(
            self._all_loaded()[object_key(launch.entry.name, launch.block)],
            self._memory,
            launch.grid,
            self._team,
            launch.dynamic_shared_bytes,
            self._threads,
            launch.cooperative,
            launch.cluster,
            max(1, resident),
        )

    def close(self) -> None:
        """The arena ends with the process: views of it may still be in use."""
        self._team.close()


def _in(own: str, problem: emulator.Problem) -> emulator.Problem:
    """A problem of PTX that is the user's own source stands at its line of that."""
    return replace(problem, source=emulator.SourceLocation(own, max(problem.ptx_line, 1)))


def _told_of_waiting(note: str, step: str) -> Diagnostic:
    return Diagnostic(
        severity="warning", message=note, origin="emulator", code="resident-blocks", field=f"{step}.config.grid"
    )


def _shown(refused: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Each refusal once, at most _MOST_REFUSALS, and how many are left out."""
    once = list(dict.fromkeys(refused))
    if len(once) <= _MOST_REFUSALS:
        return once
    message = f"{len(once) - _MOST_REFUSALS:,} more instructions that the emulator cannot run are left out"
    return [*once[:_MOST_REFUSALS], Diagnostic(severity="note", message=message, origin="emulator", code="left-out")]


def available_threads() -> int:
    """Threads to run blocks on: the processors of this process, at most MAX_THREADS."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, MAX_THREADS)
