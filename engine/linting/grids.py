"""Grids that leave elements out, and grids with blocks that have nothing to do."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from engine.linting.context import Launched, finding
from engine.linting.walk import Access
from protocol.arguments import Buffer
from protocol.diagnostics import Diagnostic, Fix
from protocol.dtypes import ITEM_BYTES
from protocol.launch import Cover, resolve_grid

_AXES = "xyz"


def coverage(launch: Launched) -> Iterator[Diagnostic]:
    """Asks what one block more along each axis would do: new elements, or even the last one there is does nothing."""
    accesses = [item for item in launch.walk.accesses if item.space != "shared"]
    if not accesses:
        return
    for axis in range(3):
        short = _left_out(launch, accesses, axis)
        if short is not None:
            yield short
            return
    for axis in range(3):
        idle = _idle(launch, axis)
        if idle is not None:
            yield idle
            return


def _left_out(launch: Launched, accesses: list[Access], axis: int) -> Diagnostic | None:
    stores = [item for item in accesses if item.writes]
    if not stores or any(item.address is None or item.looped for item in stores):
        return None
    sample = launch.sample
    numbers = [_buffer_number(item, sample.threads) for item in stores]
    there, last = sample.threads_of(sample.beyond(axis)), sample.threads_of(sample.at_end(axis))
    for store in stores:
        addresses = np.broadcast_to(np.asarray(store.address, np.int64), (sample.threads,))
        new = addresses[there][store.reached[there]]
        place = launch.buffer_at(int(new[0])) if new.size else None
        if place is None or place[0].role == "in":
            continue
        buffer, offset = place
        start = int(new[0]) - offset
        own = [item for item, number in zip(stores, numbers, strict=True) if number == int(new[0]) >> 40]
        before = np.concatenate(
            [np.broadcast_to(np.asarray(item.address), (sample.threads,))[item.reached & sample.actual] for item in own]
        )
        inside = new[(new >= start) & (new + store.bytes <= start + buffer.bytes)]
        fresh = inside[~np.isin(inside, before)]
        if not fresh.size or not before.size:
            continue
        threads = math.prod(launch.planned.grid) * sample.size
        written = sum(item.bytes for item in own)
        beyond_all = int(fresh.max()) > int(before.max())
        cut = np.count_nonzero(store.reached[there]) < np.count_nonzero(store.reached[last])
        if beyond_all or cut or threads * written < buffer.bytes:
            return _short(launch, buffer, axis, written // ITEM_BYTES[buffer.dtype])
    return None


def _buffer_number(item: Access, threads: int) -> int | None:
    """What all threads' addresses have in common, where they lie in one buffer."""
    numbers = np.broadcast_to(np.asarray(item.address, np.int64), (threads,)) >> 40
    return int(numbers[0]) if bool(np.all(numbers == numbers[0])) else None


def _short(launch: Launched, buffer: Buffer, axis: int, each: int) -> Diagnostic:
    grid, block = launch.planned.grid, launch.planned.block
    fix = covering_fix(launch, buffer, max(each, 1))
    flat = max(block[1:]) == 1 and max(grid[1:]) == 1
    shape = (*reversed(buffer.shape), 1, 1)
    extent = -(-buffer.elements // max(each, 1)) if flat else shape[axis]
    covered = grid[axis] * block[axis]
    left, floor = extent - covered, extent // block[axis] == grid[axis] and extent % block[axis]
    along = "" if flat else f" along {_AXES[axis]}"
    have = f"{grid[axis]:,} block{'s' if grid[axis] != 1 else ''} of {block[axis]:,}{along} make {covered:,} threads"
    if floor:
        message = (
            f"the grid is {extent:,} / {block[axis]:,} rounded down{along}: {have}, and the last {left:,} elements of "
            f"{buffer.name} are left out"
        )
    else:
        many = f"{left:,} of {extent:,}" if left > 0 else "some"
        message = f"{have}: {many} elements of {buffer.name}{along} are left out"
    return finding(
        "warning",
        "grid-floor" if floor else "grid-too-small",
        message,
        field=f"{launch.path}.config.grid",
        help=f"Round up: (n + {block[axis] - 1}) / {block[axis]} blocks.",
        fix=fix,
    )


def covering_fix(launch: Launched, buffer: Buffer, each: int = 1) -> Fix | None:
    """A grid for all elements of a buffer, where it is another grid; `each`: elements that a thread writes."""
    grid, block = launch.planned.grid, launch.planned.block
    if max(block[1:]) == 1 and max(grid[1:]) == 1 and (len(buffer.shape) > 1 or each > 1):
        blocks = -(-buffer.elements // (each * block[0]))
        if blocks == grid[0]:
            return None
        return Fix(title=f"Use {blocks:,} blocks", field=f"{launch.path}.config.grid", value=[blocks])
    cover = Cover(buffer=buffer.name)
    if resolve_grid(launch.config.model_copy(update={"grid": cover}), launch.run.buffers) == grid:
        return None
    value = cover.model_dump(mode="json")
    return Fix(title=f"Size the grid to cover {buffer.name}", field=f"{launch.path}.config.grid", value=value)


def _idle(launch: Launched, axis: int) -> Diagnostic | None:
    sample, grid = launch.sample, launch.planned.grid
    if grid[axis] < 2:
        return None
    last, first = sample.threads_of(sample.at_end(axis)), sample.threads_of(0)
    work = launch.walk.accesses
    if any(item.possible[last].any() for item in work) or not any(item.reached[first].any() for item in work):
        return None
    written = [launch.buffer_at(_some(item)) for item in work if item.writes and item.address is not None]
    target = next((item[0] for item in written if item is not None), None)
    fix = covering_fix(launch, target) if target else None
    message = f"the last block along {_AXES[axis]}, number {grid[axis] - 1:,}, has no thread with anything to do"
    return finding(
        "note",
        "grid-too-large",
        message,
        field=f"{launch.path}.config.grid",
        help="Nothing is wrong with the result; blocks that only test their guard cost time.",
        fix=fix,
    )


def _some(item: Access) -> int:
    reached = np.broadcast_to(np.asarray(item.address, np.int64), item.reached.shape)
    return int(reached[int(np.argmax(item.reached))])
