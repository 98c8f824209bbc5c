"""What one warp's access costs: sectors of global memory that it touches, and banks of shared memory that it queues at."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from engine.linting.context import Launched, finding
from engine.linting.walk import Access
from protocol.diagnostics import Diagnostic, Fix, Span

SECTOR = 32
WARP = 32
BANK = 4
_LEAST_SECTORS = 8
_WORSE = 4
"""Times as many sectors, or turns at a bank, as the same bytes in a row would take."""


def strides(launch: Launched) -> Iterator[Diagnostic]:
    """Accesses to global memory whose lanes lie far apart, one finding a line."""
    if not _busy(launch):
        return
    for access in launch.walk.accesses:
        if access.space == "shared" or access.atomic:
            continue
        lanes = _a_warp(launch, access)
        if lanes is None:
            continue
        distinct = np.unique(lanes)
        touched = np.unique(np.concatenate([distinct // SECTOR, (distinct + access.bytes - 1) // SECTOR])).size
        needed = -(-distinct.size * access.bytes // SECTOR)
        if touched < _LEAST_SECTORS or touched < _WORSE * needed:
            continue
        place = launch.buffer_at(int(lanes[0]))
        name = launch.match_of(place[0]).parameter.name if place else "memory"
        steps = np.unique(np.diff(lanes))
        apart = f", {abs(int(steps[0])):,} bytes apart" if steps.size == 1 else ""
        span = launch.span(access.instruction)
        yield finding(
            "warning",
            "uncoalesced",
            f"the {lanes.size} lanes of a warp touch {touched} sectors of {name}{apart}; {needed} would hold their "
            f"{distinct.size * access.bytes:,} bytes",
            span=span,
            field=None if span else f"{launch.path}.config.block",
            help="Let neighbouring threadIdx.x use neighbouring elements: x belongs to the last axis of an array.",
            fix=_turned(launch, access),
        )


def _busy(launch: Launched) -> bool:
    """Fewer than two warps' worth of threads have no bandwidth to waste."""
    grid = launch.planned.grid
    return grid[0] * grid[1] * grid[2] * launch.sample.size >= 2 * WARP


def _a_warp(launch: Launched, access: Access) -> npt.NDArray[np.int64] | None:
    """Addresses of the active lanes of the first warp that has all 32, in the order of lanes."""
    if access.address is None:
        return None
    possible = access.possible & launch.sample.actual
    addresses = np.broadcast_to(np.asarray(access.address, np.int64), possible.shape)
    size = launch.sample.size
    for start in range(0, size - WARP + 1, WARP):
        if possible[start : start + WARP].all():
            return addresses[start : start + WARP]
    return None


def _turned(launch: Launched, access: Access) -> Fix | None:
    """A block whose x is long enough, where x runs along the array and is only too short."""
    x, y, z = launch.planned.block
    if x >= WARP or z > 1 or (x * y) % WARP or launch.config.cluster is not None:
        return None
    addresses = np.broadcast_to(np.asarray(access.address, np.int64), access.reached.shape)
    if x > 1 and int(addresses[1] - addresses[0]) != access.bytes:
        return None
    wide = [WARP, x * y // WARP]
    grid = launch.planned.grid
    config = launch.config.model_dump(mode="json")
    if launch.config.grid == launch.step.config.grid and isinstance(config["grid"], list):
        config["grid"] = [-(-grid[0] * x // wide[0]), -(-grid[1] * y // wide[1])]
    config["block"] = wide
    return Fix(title=f"Use a block of {wide[0]} × {wide[1]}", field=f"{launch.path}.config", value=config)


def banks(launch: Launched) -> Iterator[Diagnostic]:
    """Accesses to shared memory for which lanes queue at a bank, one finding a line."""
    for access in launch.walk.accesses:
        if access.space != "shared" or access.atomic or access.bytes > 4:
            continue
        lanes = _a_warp(launch, access)
        if lanes is None:
            continue
        _, counts = np.unique(np.unique(lanes // BANK) % WARP, return_counts=True)
        turns = int(counts.max())
        if turns < _WORSE:
            continue
        steps = np.unique(np.diff(lanes))
        apart = f", {abs(int(steps[0])):,} bytes apart," if steps.size == 1 else ""
        span = launch.span(access.instruction)
        yield finding(
            "warning",
            "bank-conflict",
            f"the lanes of a warp{apart} meet at the same bank of shared memory: the access takes {turns} turns",
            span=span,
            field=None if span else f"{launch.path}.config.block",
            help="A row that is one element longer, as in tile[32][33], puts a column into 32 banks.",
            fix=_padded(launch, span),
        )


_TILE = re.compile(r"__shared__\s+[\w\s]*?\b(\w+)\s*((?:\[[^\]]+\])+)\s*;")


def _padded(launch: Launched, span: Span | None) -> Fix | None:
    """One element more in the last axis of the two-dimensional array that the line uses."""
    line = launch.line(span)
    for number, text in enumerate(launch.source.lines, 1):
        found = _TILE.search(text)
        if found is None or found[2].count("[") != 2 or not re.search(rf"\b{found[1]}\s*\[", line):
            continue
        last = found[2].rindex("[") + 1
        inside = found[2][last:-1].strip()
        if not re.fullmatch(r"\w+", inside):
            return None
        start = found.start(2) + last + 1
        where = Span(line=number, column=start, end_line=number, end_column=found.end(2))
        return Fix(title=f"Make its rows {inside} + 1 long", span=where, text=f"{inside} + 1")
    return None
