"""A launch with everything that the rules ask about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import emulator
from emulator.analysis.cfg import Graph, build_graph
from emulator.analysis.flat import FlatKernel
from emulator.analysis.inline import FlattenProblem, flatten
from emulator.syntax.nodes import Instruction, Module
from engine.devices.findings import source_span
from engine.languages.source_text import SourceText
from engine.launching.arguments import Match, argument_pieces
from engine.launching.plan import Plan, PlannedLaunch
from engine.linting.flow import Flow, flow_of
from engine.linting.sample import Sample, corners
from engine.linting.walk import Walk, walked
from protocol.arguments import Buffer
from protocol.diagnostics import Diagnostic, Fix, Severity, Span
from protocol.kernel import CompiledKernel
from protocol.launch import Launch, LaunchConfig
from protocol.run import RunRequest

MOST_INSTRUCTIONS = 6_000
"""A longer kernel is not walked: it would take longer than a person types."""
_BUFFER_BITS = 40
_MIDDLE = 1 << (_BUFFER_BITS - 1)


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch step that has an entry and arguments, and what a walk of its code found."""

    path: str
    step: Launch
    planned: PlannedLaunch
    run: RunRequest
    source: SourceText
    architecture: str
    flat: FlatKernel
    graph: Graph
    flow: Flow
    sample: Sample
    walk: Walk

    @property
    def config(self) -> LaunchConfig:
        return self.step.config

    @property
    def kernel(self) -> str:
        return self.planned.entry.display.partition("(")[0]

    def match_of(self, buffer: Buffer) -> Match:
        return next(
            item for item in self.planned.matches if item.buffer is not None and item.buffer.name == buffer.name
        )

    def buffer_at(self, address: int) -> tuple[Buffer, int] | None:
        """The buffer that an address of a walk belongs to, and the offset in it in bytes, which may lie outside."""
        number = (address >> _BUFFER_BITS) - 1
        if not 0 <= number < len(self.run.buffers):
            return None
        return self.run.buffers[number], address - base_of(number)

    def span(self, item: Instruction) -> Span | None:
        return source_span(item.location, self.source)

    def line(self, span: Span | None) -> str:
        return self.source.lines[span.line - 1] if span is not None and span.line <= len(self.source.lines) else ""


def base_of(number: int) -> int:
    """The address that a walk gives the buffer of this place in the request: far from every other."""
    return ((number + 1) << _BUFFER_BITS) + _MIDDLE


def finding(
    severity: Severity,
    code: str,
    message: str,
    *,
    field: str | None = None,
    span: Span | None = None,
    help: str | None = None,
    notes: Sequence[str] = (),
    fix: Fix | None = None,
) -> Diagnostic:
    """One finding of the linter, at a field or a line."""
    return Diagnostic(
        severity=severity,
        message=message,
        code=code,
        origin="lint",
        field=field,
        span=span,
        help=help,
        notes=tuple(notes),
        fix=fix,
    )


def launches(run: RunRequest, kernel: CompiledKernel, planned: Plan, steps: Mapping[str, Launch]) -> list[Launched]:
    """Every launch that can be walked: its arguments fit, and the kernel is not too long."""
    wrong = {(item.field or "") for item in planned.diagnostics if item.severity == "error"}
    possible = {
        path: launch for path, launch in planned.launches.items() if not any(at.startswith(f"{path}.") for at in wrong)
    }
    if not possible:
        return []
    own = run.source.file_name if kernel.language == "ptx" else None
    wanted = None if own else {launch.entry.name for launch in possible.values()}
    module, problems = emulator.parse(kernel.ptx, own, wanted)
    if problems:
        return []
    source = SourceText(run.source.text, run.source.file_name)
    found = []
    for path, launch in possible.items():
        made = _launched(module, run, kernel, launch, steps[path], source)
        if made is not None:
            found.append(made)
    return found


def _launched(
    module: Module, run: RunRequest, kernel: CompiledKernel, launch: PlannedLaunch, step: Launch, source: SourceText
) -> Launched | None:
    try:
        flat = flatten(module, launch.entry.name)
    except FlattenProblem:
        return None
    graph, problems = build_graph(flat)
    if problems or graph.irreducible or len(flat.body) > MOST_INSTRUCTIONS:
        return None
    flow, sample = flow_of(graph), corners(launch.grid, launch.block)
    numbers = {buffer.name: index for index, buffer in enumerate(run.buffers)}
    pieces = [data for match in launch.matches for data in argument_pieces(match, lambda name: base_of(numbers[name]))]
    names = [item.name for item in flat.entry.parameters]
    walk = walked(flat, graph, flow, sample, dict(zip(names, pieces, strict=False)))
    return Launched(launch.step, step, launch, run, source, kernel.architecture, flat, graph, flow, sample, walk)
