"""The blocks of code that all threads of a gang enter together, so that its mask there is known beforehand.

Threads part at divergent ends of blocks only. Of two threads that part for the last time at D, one ends early and the
other comes to X only where X can be reached from D, and the program's end too without passing X, that is, where X is no
post-dominator of what follows D, without a block in between that is known to be one where all are together. And while
X runs no thread waits elsewhere.
"""

from __future__ import annotations

from emulator.analysis.cfg import Graph
from emulator.analysis.waiting import Waiting


def meeting_blocks(graph: Graph, divergent: set[int], waiting: Waiting) -> frozenset[int]:
    """Of a kernel whose lanes move together."""
    candidates = [block for block in graph.order if not waiting[block]]
    inevitable = _inevitable(graph) if divergent else {}
    found: frozenset[int] = frozenset()
    while True:
        reached = _reached(graph, found) if divergent else {}
        avoidable = 0
        for block in divergent:
            avoidable |= reached[block] & ~inevitable[block]
        more = frozenset(block for block in candidates if not avoidable >> block & 1) | found
        if more == found:
            return found
        found = more


def _reached(graph: Graph, ends: frozenset[int]) -> dict[int, int]:
    """Of each block those that can follow it up to one of `ends`, where threads that parted meet, as bits."""
    found = dict.fromkeys(graph.order, 0)
    changed = True
    while changed:
        changed = False
        for block in reversed(graph.order):
            bits = found[block]
            for target in graph.blocks[block].successors:
                bits |= 1 << target if target in ends else found[target] | 1 << target
            changed |= bits != found[block]
            found[block] = bits
    return found


def _inevitable(graph: Graph) -> dict[int, int]:
    """Of each block those through which every way behind it to the end of the program leads, as bits."""
    everything = 0
    for block in graph.order:
        everything |= 1 << block
    found = dict.fromkeys(graph.order, everything)
    changed = True
    while changed:
        changed = False
        for block in reversed(graph.order):
            node = graph.blocks[block]
            ends = not node.successors or (node.terminator is not None and node.terminator.opcode in ("ret", "exit"))
            bits = 0 if ends else everything
            for target in node.successors:
                bits &= found[target] | 1 << target
            changed |= bits != found[block]
            found[block] = bits
    return found
