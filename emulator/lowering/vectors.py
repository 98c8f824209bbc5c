"""Between the layout of memory, lane after lane, and vectors with one element of every lane."""

from __future__ import annotations

from emulator.isa.lanes import Lanes, Value
from emulator.lowering.access import Access, Window
from emulator.lowering.emitter import Emitter


def deinterleave(emitter: Emitter, access: Access, memory: str) -> list[Value]:
    """The elements of every lane from a buffer with one access a lane."""
    width = emitter.width
    total = width * access.count
    type = access.llvm_type
    whole = emitter.value(f"load <{total} x {type}>, ptr {memory}, align 64", type, total)
    if access.count == 1:
        return [whole]
    picks = [[lane * access.count + part for lane in range(width)] for part in range(access.count)]
    return [emitter.lanes.shuffle(whole, pick) for pick in picks]


def interleave(lanes: Lanes, vectors: list[Value]) -> Value:
    """One vector with the elements of lane 0, then of lane 1, and so on."""
    joined = vectors
    while len(joined) > 1:
        n = joined[0].lanes
        joined = [lanes.shuffle(joined[i], list(range(2 * n)), joined[i + 1]) for i in range(0, len(joined), 2)]
    count = len(vectors)
    if count == 1:
        return joined[0]
    order = [part * lanes.width + lane for lane in range(lanes.width) for part in range(count)]
    return lanes.shuffle(joined[0], order)


def pick(lanes: Lanes, whole: Value, window: Window, part: int, count: int) -> Value:
    """Element `part` of each lane's access from the vector of a window."""
    indices = [index * count + part if index >= 0 else 0 for index in window.index]
    if indices == list(range(whole.lanes)):
        return whole
    return lanes.shuffle(whole, indices)


def runs_of(windows: list[Window]) -> list[tuple[int, int]] | None:
    """For each window the run of lanes (first, count) that it holds in order, or None where one is no run."""
    runs: list[tuple[int, int]] = []
    for window in windows:
        members = [lane for lane, index in enumerate(window.index) if index >= 0]
        first = members[0]
        if members != list(range(first, first + len(members))) or window.length != len(members):
            return None
        if [window.index[lane] for lane in members] != list(range(len(members))):
            return None
        runs.append((first, len(members)))
    return runs


def positions_of(windows: list[Window]) -> tuple[list[int], list[int]]:
    """Where each window starts in a buffer of all windows, and where in it each lane's element lies, in accesses."""
    starts: list[int] = []
    positions = [0] * len(windows[0].index)
    total = 0
    for window in windows:
        starts.append(total)
        for lane, index in enumerate(window.index):
            if index >= 0:
                positions[lane] = total + index
        total += window.length
    return starts, positions
