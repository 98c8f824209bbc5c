"""Which code of a kernel is in loops, and where paths that part come together."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.analysis.cfg import Graph


@dataclass(frozen=True, slots=True)
class Loop:
    """Blocks of the graph's order from `first` to `last`, both positions in it; `first` is its header."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Flow:
    """`joins[b]` is the first block that every path from b reaches, None where there is none."""

    loops: tuple[Loop, ...]
    joins: dict[int, int | None]

    def always(self, start: int, block: int) -> bool:
        """Whether every path from a block comes to another."""
        step: int | None = start
        while step is not None and step != block:
            step = self.joins[step]
        return step == block


def flow_of(graph: Graph) -> Flow:
    return Flow(_loops(graph), _joins(graph))


def _loops(graph: Graph) -> tuple[Loop, ...]:
    ends: dict[int, int] = {}
    for number in graph.order:
        here = graph.position[number]
        for other in graph.blocks[number].successors:
            target = graph.position[other]
            if target <= here:
                ends[target] = max(ends.get(target, here), here)
    return tuple(Loop(first, last) for first, last in sorted(ends.items()))


def _joins(graph: Graph) -> dict[int, int | None]:
    """Immediate post-dominators, from sets of blocks as the bits of an int."""
    everything = (1 << len(graph.blocks)) - 1
    after = dict.fromkeys(graph.order, everything)
    changed = True
    while changed:
        changed = False
        for number in reversed(graph.order):
            common = everything if graph.blocks[number].successors else 0
            for other in graph.blocks[number].successors:
                common &= after[other]
            found = common | 1 << number
            if found != after[number]:
                after[number], changed = found, True
    joins: dict[int, int | None] = {}
    for number in graph.order:
        rest = after[number] & ~(1 << number)
        candidates = [other for other in graph.order if rest >> other & 1]
        joins[number] = max(candidates, key=lambda other: after[other].bit_count(), default=None)
    return joins
