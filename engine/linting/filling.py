"""Occupancy that is low, and whether that matters for this launch."""

from __future__ import annotations

import math
from collections.abc import Iterator

from engine.devices.occupancy import occupancy
from engine.linting.configurations import with_block
from engine.linting.context import Launched, finding
from protocol.diagnostics import Diagnostic, Fix
from protocol.kernel import Occupancy

LOW = 0.5
_TRIED = (64, 128, 192, 256, 384, 512)
_WORDS = {
    "warps": "the number of warps",
    "blocks": "the number of blocks an SM holds",
    "registers": "registers",
    "shared": "shared memory",
    "barriers": "named barriers",
}


def filling(launch: Launched) -> Iterator[Diagnostic]:
    """Low occupancy: a warning where warps wait for memory that others could hide, else a note that says why not."""
    planned = launch.planned
    resources, shared = planned.entry.resources, planned.dynamic_shared_bytes
    found = occupancy(launch.architecture, resources, planned.grid, planned.block, shared)
    share = found.warps_per_sm / found.max_warps_per_sm
    small = "blocks" in found.limiters and math.prod(planned.block) <= 32
    if share > LOW or (share == LOW and not small) or not found.blocks_per_sm:
        return
    blocks = math.prod(planned.grid)
    if blocks <= found.sm_count:
        # Each block has an SM to itself, whatever would fit beside it.
        return
    limiter = " and ".join(_WORDS[name] for name in found.limiters)
    said = f"occupancy is {100 * share:.0f} % ({found.warps_per_sm} of {found.max_warps_per_sm} warps an SM)"
    reads = any(item.space != "shared" and not item.writes for item in launch.walk.accesses)
    if found.waves < 1:
        message = f"{said}, but this grid of {blocks:,} blocks does not even fill that: more would change nothing"
    elif not reads:
        message = f"{said}, limited by {limiter}; the kernel does not read global memory, so it hardly matters"
    else:
        message = f"{said}, limited by {limiter}: too few warps to hide the time that memory takes"
    matters = found.waves >= 1 and reads
    yield finding(
        "warning" if matters else "note",
        "low-occupancy",
        message,
        field=f"{launch.path}.config.{'dynamic_shared_bytes' if found.limiters == ('shared',) else 'block'}",
        help="It matters while warps wait for memory; a kernel that is busy computing can be fast at 25 %.",
        fix=_better(launch, found) if matters else None,
    )


def _better(launch: Launched, now: Occupancy) -> Fix | None:
    """The smallest block along x that holds at least half as many warps again."""
    planned = launch.planned
    if max(planned.block[1:]) > 1 or planned.cluster is not None:
        return None
    for threads in _TRIED:
        if threads > planned.entry.resources.max_threads_per_block or threads <= planned.block[0]:
            continue
        block, grid = (threads, 1, 1), (1, 1, 1)
        other = occupancy(launch.architecture, planned.entry.resources, grid, block, planned.dynamic_shared_bytes)
        if 2 * other.warps_per_sm >= 3 * now.warps_per_sm:
            return with_block(launch.path, launch.config, planned.grid, planned.block, block)
    return None
