"""What one warp's access costs: sectors of global memory, and turns at the banks of shared memory."""

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
_MOST_STEPS = 2
"""Distances between neighbouring lanes: along a row, and from one row of the block to the next."""
_WORSE = 4
"""Times as many sectors, or turns at a bank, as the same bytes in a row would take."""
_FULL = 0.75
"""Share of the bytes of touched sectors from which none is wasted."""


def strides(launch: Launched) -> Iterator[Diagnostic]:
    """Accesses to global memory whose lanes lie far apart: the worst of each buffer.

    Where other accesses of the kernel use the rest of the same sectors, as of an array of structs, it is a note.
    """
    grid = launch.planned.grid
    if grid[0] * grid[1] * grid[2] * launch.sample.size < 2 * WARP:
        return
    found: dict[int, list[tuple[int, int, Access, npt.NDArray[np.int64]]]] = {}
    for access in launch.walk.accesses:
        lanes = None if access.space == "shared" or access.atomic else _a_warp(launch, access)
        if lanes is None:
            continue
        distinct = np.unique(lanes)
        if np.unique(np.diff(lanes)).size > _MOST_STEPS:
            continue  # a hash or a table, not a stride
        touched = np.unique(np.concatenate([distinct // SECTOR, (distinct + access.bytes - 1) // SECTOR])).size
        needed = -(-distinct.size * access.bytes // SECTOR)
        found.setdefault(int(lanes[0]) >> 40, []).append((touched, needed, access, lanes))
    for accesses in found.values():
        touched, needed, access, lanes = max(accesses, key=lambda item: item[0] / item[1])
        if touched >= _LEAST_SECTORS and touched >= _WORSE * needed:
            used = np.unique(
                np.concatenate([(item[3][:, None] + np.arange(item[2].bytes)).ravel() for item in accesses])
            )
            full = used.size >= _FULL * SECTOR * np.unique(used // SECTOR).size
            yield _apart(launch, access, lanes, touched, needed, full)


def _apart(
    launch: Launched, access: Access, lanes: npt.NDArray[np.int64], touched: int, needed: int, full: bool
) -> Diagnostic:
    place = launch.buffer_at(int(lanes[0]))
    name = launch.match_of(place[0]).parameter.name if place else "memory"
    steps = np.unique(np.diff(lanes))
    apart = f", {abs(int(steps[0])):,} bytes apart" if steps.size == 1 else ""
    rest = "; the kernel's other accesses use the rest of them" if full else ""
    span = launch.span(access.instruction)
    return finding(
        "note" if full else "warning",
        "uncoalesced",
        f"the {lanes.size} lanes of a warp touch {touched} sectors of {name}{apart}; {needed} would hold their "
        f"{np.unique(lanes).size * access.bytes:,} bytes{rest}",
        span=span,
        field=None if span else f"{launch.path}.config.block",
        help="Let neighbouring threadIdx.x use neighbouring elements: x belongs to the last axis of an array.",
        fix=_turned(launch, access),
    )


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
            fix=_padded(launch, span, int(steps[0]) if steps.size == 1 else 0, access.bytes),
        )


_TILE = re.compile(r"__shared__\s+[\w\s]*?\b(\w+)\s*((?:\[[^\]]+\])+)\s*;")


def _padded(launch: Launched, span: Span | None, step: int, item: int) -> Fix | None:
    """One element more in the rows of the two-dimensional array that the line walks down."""
    if span is None:
        return None
    lines = launch.source.lines
    for number in range(span.line, 0, -1):
        text = lines[number - 1]
        if text.startswith("}"):
            return None
        found = _TILE.search(text)
        if found is None or found[2].count("[") != 2 or not re.search(rf"\b{found[1]}\s*\[", lines[span.line - 1]):
            continue
        last = found[2].rindex("[") + 1
        inside = found[2][last:-1].strip()
        if abs(step) != item * _number(inside, launch.run.source.text):
            return None
        where = Span(line=number, column=found.start(2) + last + 1, end_line=number, end_column=found.end(2))
        return Fix(title=f"Make its rows {inside} + 1 long", span=where, text=f"{inside} + 1")
    return None


def _number(name: str, text: str) -> int:
    """A number, or a macro or constant that is defined as one; 0 for anything else."""
    if name.isdigit():
        return int(name)
    found = re.search(rf"\b{re.escape(name)}\s*=?\s*(\d+)\s*(?:;|$|//)", text, re.MULTILINE)
    return int(found[1]) if found else 0
