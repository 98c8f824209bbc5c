"""A warp's accesses and the lanes of blocks, told once a run's results have been."""

from __future__ import annotations

from collections.abc import Mapping

from emulator import LaunchError
from emulator.runtime.trace import TracedAccess, Tracer
from engine.devices.emulated import EmulatedDevice
from engine.devices.findings import source_span
from engine.emission import Emission
from engine.estimating.told import rewrite
from engine.languages.source_text import SourceText
from engine.launching.plan import PlannedLaunch
from engine.steps import StepRunner
from engine.values.dtypes import Array
from protocol import trace
from protocol.trace import BlockLanes, Traced, TraceWish

BLOCK_SECONDS = 2.0
"""For the traced block."""
BUDGET_SECONDS = 0.5
"""For the lanes of other blocks."""
MOST_BLOCKS = 1024
MOST_ACCESSES = 200
_LANES = 32


def tell_trace(
    runner: StepRunner, device: EmulatedDevice, values: Mapping[str, Array | None], wish: TraceWish, emission: Emission
) -> None:
    """The block of a run's only launch sees the values that it began with; of several, what all of them have left."""
    launch = runner.plan.launches[runner.plan.traced]
    if len(runner.plan.launches) == 1:
        rewrite(runner, values)
    told = Traced(step=launch.step, block=wish.block, warp=wish.warp)
    warps = -(-launch.block[0] * launch.block[1] * launch.block[2] // _LANES)
    if any(at >= extent for at, extent in zip(wish.block, launch.grid, strict=True)) or wish.warp >= warps:
        where = f"the grid is {' × '.join(map(str, launch.grid))} blocks of {warps} warps"
        emission.event(told.model_copy(update={"why_not": f"there is no such warp: {where}"}))
        return
    try:
        tracer = device.tracer(launch, runner.arguments_of(launch))
    except LaunchError as error:
        emission.event(told.model_copy(update={"why_not": str(error)}))
        return
    try:
        emission.event(_told(told, tracer, launch, device, runner))
    finally:
        tracer.close()


def _told(told: Traced, tracer: Tracer, launch: PlannedLaunch, device: EmulatedDevice, runner: StepRunner) -> Traced:
    (x, y, z), (width, height, _) = told.block, launch.grid
    index = x + width * (y + height * z)
    accesses = tracer.warp(index, told.warp, BLOCK_SECONDS)
    if accesses is None:
        return told.model_copy(update={"why_not": "the block met a defect, or took too long"})
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    every = max(1, -(-blocks // MOST_BLOCKS))
    others = [index, *(at for at in range(0, blocks, every) if at != index)]
    source = SourceText(runner.run.source.text, runner.run.source.file_name)
    return told.model_copy(
        update={
            "accesses": tuple(_access(item, device, source) for item in accesses[:MOST_ACCESSES]),
            "blocks": tuple(
                BlockLanes(index=at, instructions=count, lanes=lanes)
                for at, (count, lanes) in tracer.lanes(others, BUDGET_SECONDS).items()
            ),
        }
    )


def _access(item: TracedAccess, device: EmulatedDevice, source: SourceText) -> trace.TracedAccess:
    active = [item.addresses[lane] if item.mask >> lane & 1 else None for lane in range(_LANES)]
    lowest = min(address for address in active if address is not None)
    name, start = device.place(lowest) if item.site.space in ("global", "generic") else ("", 0)
    return trace.TracedAccess(
        span=source_span(item.site.source, source),
        ptx_line=item.site.ptx_line,
        form=item.site.form,
        space=item.site.space,
        access=item.site.access,  # type: ignore[arg-type]  # a site's word is one of the three
        times=item.times,
        bytes=item.size,
        buffer=name,
        offsets=tuple(None if address is None else address - start for address in active),
    )
