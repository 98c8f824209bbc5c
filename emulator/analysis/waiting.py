"""For each block, the blocks in which lanes of the gang may be waiting while it runs.

The lanes of a gang that go to a later block wait there while the others run; the gang always continues with the
earliest block (in the graph's loop-aware order) that has lanes, except that a loop goes round while its exits wait.
So the blocks with waiting lanes are always later than the one that runs.
"""

from __future__ import annotations

from emulator.analysis.cfg import Graph

Waiting = dict[int, set[int]]


def waiting_anywhere(graph: Graph, divergent: set[int]) -> Waiting:
    """The sets of a dispatched kernel: behind any divergence, lanes may wait in every block reached from it."""
    reached: set[int] = set()
    stack = [s for block in graph.order if block in divergent for s in graph.blocks[block].successors]
    while stack:
        block = stack.pop()
        if block not in reached:
            reached.add(block)
            stack += graph.blocks[block].successors
    return {block: reached - {block} if block in reached else set() for block in graph.order}


def analyse_waiting(graph: Graph, divergent: set[int]) -> Waiting:
    """The waiting sets, given the blocks whose branch may send lanes to different successors."""
    position = graph.position
    waiting: Waiting = {block: set() for block in graph.order}
    changed = True

    def include(block: int, others: set[int]) -> None:
        nonlocal changed
        fresh = {other for other in others if position[other] > position[block]} - waiting[block]
        if fresh:
            waiting[block] |= fresh
            changed = True

    def move(source: int, target: int | None, others: set[int]) -> None:
        """Lanes leave `source` for `target` (None: they are done) while others wait."""
        if target is not None and graph.is_exit(target):
            target = None
        if target is None:
            for block in others:
                include(block, others - {block})
            return
        if position[target] > position[source]:
            for block in others:
                if position[block] < position[target]:
                    include(block, (others - {block}) | {target})
        include(target, others - {target})

    while changed:
        changed = False
        for block in graph.order:
            node = graph.blocks[block]
            here = waiting[block]
            targets: list[int | None] = list(node.successors)
            last = node.terminator
            if not targets or (last is not None and last.opcode in ("ret", "exit")):
                targets.append(None)
            for target in targets:
                move(block, target, here)
            if block in divergent and len(targets) > 1:
                real = sorted({t for t in targets if t is not None and not graph.is_exit(t)}, key=position.__getitem__)
                for index, target in enumerate(real):
                    # Every later target may have been given lanes.
                    move(block, target, here | set(real[index + 1 :]))
                move(block, None, here)
    return waiting
