"""Checks every step of a run against the compiled kernel, before anything runs, and keeps what launches need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.launching.arguments import Match, match_arguments
from engine.launching.cooperation import check_cooperation, cluster_of
from engine.launching.entries import find_entry
from engine.launching.limits import check_limits
from protocol.arguments import BufferArgument
from protocol.diagnostics import Diagnostic
from protocol.dtypes import read_number
from protocol.kernel import CompiledKernel, Entry
from protocol.launch import Fill, Launch, Swap, dim3, resolve_grid, walk
from protocol.run import Instrument, RunRequest
from protocol.specialise import SPECIALISING, specialisation

Extents = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """One launch step that may run: extents in blocks and threads, and an argument for every parameter."""

    step: str
    entry: Entry
    grid: Extents
    block: Extents
    dynamic_shared_bytes: int
    matches: tuple[Match, ...]
    cooperative: bool = False
    cluster: Extents | None = None
    """Blocks of a cluster, whether the kernel fixes them or the launch."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Launches by the path of their step, and what was found; nothing may run where one of it is an error."""

    launches: Mapping[str, PlannedLaunch]
    diagnostics: tuple[Diagnostic, ...]
    instruments: tuple[Instrument, ...] = ()
    estimated: bool = False
    """Whether the launches' time on a GPU is to be estimated as well."""
    traced: str = ""
    """The step of the launch that a warp is traced of."""
    hasty: bool = False
    """It is one of many, so that its code is made quickly rather than well."""

    @property
    def refused(self) -> bool:
        return any(item.severity == "error" for item in self.diagnostics)


def plan(run: RunRequest, kernel: CompiledKernel) -> Plan:
    """Every launch of the run with its entry, its extents and its arguments."""
    buffers = {buffer.name: buffer for buffer in run.buffers}
    launches: dict[str, PlannedLaunch] = {}
    found: list[Diagnostic] = []
    for path, step in walk(run.steps):
        if isinstance(step, Fill):
            try:
                read_number(step.value, buffers[step.buffer].dtype)
            except ValueError as error:
                message = f"{step.buffer}: {error}"
                found.append(
                    Diagnostic(severity="error", message=message, origin="launch", code="fill", field=f"{path}.value")
                )
        if not isinstance(step, Launch):
            continue
        types = specialisation(step, buffers).arguments if kernel.language in SPECIALISING else None
        entry = find_entry(kernel, step.entry, path, types)
        if isinstance(entry, Diagnostic):
            found.append(entry)
            continue
        grid, block = resolve_grid(step.config, run.buffers), dim3(step.config.block)
        config, shared = step.config, step.config.dynamic_shared_bytes
        limits = check_limits(entry, kernel.architecture, grid, block, shared, path)
        if not any(item.severity == "error" for item in limits):
            limits += check_cooperation(entry, kernel.architecture, grid, block, config, path)
        found += limits
        matches, problems = match_arguments(entry, step.arguments, buffers, path)
        found += problems
        launches[path] = PlannedLaunch(
            path, entry, grid, block, shared, matches, config.cooperative, cluster_of(entry, config)
        )
    if not any(item.severity == "error" for item in found):
        found += _never_written(run, launches)
    return Plan(launches, tuple(found), tuple(sorted(set(run.instruments))), run.estimate is not None, _traced(run))


def _traced(run: RunRequest) -> str:
    if run.trace is None:
        return ""
    return run.trace.step or next(path for path, step in walk(run.steps) if isinstance(step, Launch))


def _never_written(run: RunRequest, launches: Mapping[str, PlannedLaunch]) -> Iterator[Diagnostic]:
    """A note for each buffer that is read back although no step can change it."""
    changed: set[str] = set()
    for path, step in walk(run.steps):
        if isinstance(step, Swap):
            changed |= {step.first, step.second}
        elif isinstance(step, Fill):
            changed.add(step.buffer)
        elif isinstance(step, Launch):
            for match in launches[path].matches:
                if isinstance(match.argument, BufferArgument) and not match.parameter.const:
                    changed.add(match.argument.buffer)
    for index, buffer in enumerate(run.buffers):
        if buffer.role != "in" and buffer.name not in changed:
            message = f"{buffer.name} has role {buffer.role}, but no kernel gets it as something to write"
            help_text = (
                "Kernels take it as a pointer to const, or not at all. Give it the role in, or check the arguments."
            )
            yield Diagnostic(
                severity="note",
                message=message,
                origin="launch",
                code="buffer-role",
                field=f"buffers.{index}.role",
                help=help_text,
            )
