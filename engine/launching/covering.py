"""Which thread of a launch an element of a buffer falls to, where the grid covers the buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.launching.plan import Extents, Plan, PlannedLaunch
from protocol.arguments import Buffer, BufferArgument
from protocol.launch import Cover, LaunchConfig, Swap, resolve_grid, walk
from protocol.run import RunRequest


@dataclass(frozen=True, slots=True)
class Place:
    """A thread of a launch step."""

    step: str
    block: Extents
    thread: Extents


def covering(run: RunRequest, planned: Plan, buffer: Buffer) -> PlannedLaunch | None:
    """The last launch that may write the buffer and has the grid of a Cover of it; swaps rename what it writes."""
    names = {buffer.name}
    for _, step in [*walk(run.steps)] * 2:
        if isinstance(step, Swap) and names & {step.first, step.second}:
            names |= {step.first, step.second}
    for launch in reversed(tuple(planned.launches.values())):
        written = {
            match.argument.buffer
            for match in launch.matches
            if isinstance(match.argument, BufferArgument) and not match.parameter.const
        }
        config = LaunchConfig(grid=Cover(buffer=buffer.name), block=launch.block)
        if written & names and resolve_grid(config, run.buffers) == launch.grid:
            return launch
    return None


def place_of(launch: PlannedLaunch, index: Sequence[int], shape: Sequence[int]) -> Place:
    """The thread whose x is the last axis's index, y the one's before, z the flat index of those before."""
    x, y, *_ = (*reversed(index), 0, 0)
    z = 0
    for position, extent in zip(index[:-2], shape[:-2], strict=True):
        z = z * extent + position
    element = (x, y, z)
    a, b, c = (divmod(position, size) for position, size in zip(element, launch.block, strict=True))
    return Place(launch.step, (a[0], b[0], c[0]), (a[1], b[1], c[1]))
