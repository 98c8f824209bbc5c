"""Which registers are live into and out of each block."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from emulator.analysis.cfg import Graph
from emulator.analysis.operands import CARRY, definitions, uses


@dataclass(frozen=True, slots=True)
class Liveness:
    live_in: dict[int, set[str]]
    live_out: dict[int, set[str]]
    defined: dict[int, set[str]]


def analyse_liveness(graph: Graph, registers: Collection[str]) -> Liveness:
    """Liveness of the registers given and the carry flag; special registers are always there."""
    used: dict[int, set[str]] = {}
    defined: dict[int, set[str]] = {}
    for block in graph.order:
        reads: set[str] = set()
        writes: set[str] = set()
        node = graph.blocks[block]
        for instruction in (*node.instructions, *((node.terminator,) if node.terminator else ())):
            reads.update(n for n in uses(instruction) if n not in writes and (n in registers or n == CARRY))
            writes.update(definitions(instruction))
        used[block], defined[block] = reads, writes
    live_in = {block: set(used[block]) for block in graph.order}
    live_out: dict[int, set[str]] = {block: set() for block in graph.order}
    changed = True
    while changed:
        changed = False
        for block in reversed(graph.order):
            out: set[str] = set()
            for successor in graph.blocks[block].successors:
                out |= live_in[successor]
            if len(out) != len(live_out[block]):
                live_out[block] = out
                fresh = used[block] | (out - defined[block])
                if len(fresh) != len(live_in[block]):
                    live_in[block] = fresh
                    changed = True
    return Liveness(live_in, live_out, defined)
