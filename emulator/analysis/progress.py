"""Decides whether the lanes of a gang have to progress independently of each other."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.analysis.cfg import Graph, is_block_barrier
from emulator.analysis.classify import Classes
from emulator.analysis.operands import definitions, uses
from emulator.syntax.nodes import Instruction, Label

_STRONG = frozenset({"volatile", "relaxed", "acquire", "mmio"})
_ORDERED = _STRONG | {"release"}


def needs_independent_lanes(graph: Graph, classes: Classes) -> bool:
    """Whether some lanes of a gang may reach a barrier that others bypass, or may spin until others have moved."""
    for block in graph.order:
        last = graph.blocks[block].terminator
        if last is not None and is_block_barrier(last) and (classes.waiting[block] or last.guard is not None):
            return True
    return any(_may_spin(graph, body) for body in _loops(graph))


def orders_memory(body: Iterable[Label | Instruction]) -> bool:
    """Whether a kernel synchronises threads of different blocks through memory: by fences or ordered accesses."""
    return any(isinstance(item, Instruction) and _orders(item) for item in body)


def _orders(item: Instruction) -> bool:
    if item.opcode in ("membar", "fence"):
        return True
    return item.opcode in ("ld", "st") and not _ORDERED.isdisjoint(item.modifiers)


def _loops(graph: Graph) -> list[set[int]]:
    """The bodies of loops, one for each back edge."""
    before: dict[int, list[int]] = {block: [] for block in graph.order}
    for block in graph.order:
        for successor in graph.blocks[block].successors:
            before[successor].append(block)
    found: list[set[int]] = []
    for block in graph.order:
        for header in graph.blocks[block].successors:
            if graph.position[header] > graph.position[block]:
                continue
            body, stack = {header}, [block]
            while stack:
                node = stack.pop()
                if node not in body:
                    body.add(node)
                    stack += before[node]
            found.append(body)
    return found


def _may_spin(graph: Graph, body: set[int]) -> bool:
    """Whether what other threads do to memory may decide how long a loop goes round."""
    instructions = [item for block in body for item in graph.blocks[block].instructions]
    seen: set[str] = set()
    for item in instructions:
        if _watches_memory(item):
            seen.update(definitions(item))
    if not seen:
        return False
    changed = True
    while changed:
        changed = False
        for item in instructions:
            targets = set(definitions(item))
            if not targets <= seen and not seen.isdisjoint(uses(item)):
                seen |= targets
                changed = True
    for block in body:
        last = graph.blocks[block].terminator
        leaves = any(successor not in body for successor in graph.blocks[block].successors)
        if last is not None and leaves and not seen.isdisjoint(uses(last)):
            return True
    return False


def _watches_memory(item: Instruction) -> bool:
    if item.opcode == "atom":
        return True
    return item.opcode == "ld" and not _STRONG.isdisjoint(item.modifiers)
