"""Decides whether the lanes of a gang have to progress independently of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from emulator.analysis.cfg import Graph, is_block_barrier, is_mbarrier_wait, is_warp_barrier
from emulator.analysis.classify import Classes
from emulator.analysis.operands import definitions, uses
from emulator.syntax.nodes import Instruction, Label

_STRONG = frozenset({"volatile", "relaxed", "acquire", "mmio"})
_ORDERED = _STRONG | {"release"}
_EFFECTS = frozenset({"st", "red", "atom", "call", "cp", "copy"})
_FENCES = frozenset({"membar", "fence"})
# Spaces that no other block sees.
_CONSTANT = frozenset({"nc", "local", "const", "param", "param::entry", "param::func"})
_PRIVATE = frozenset({"shared", "shared::cta"}) | _CONSTANT
_LONGEST_SPIN = 24  # instructions
_QUIET_SPACES = frozenset({"shared", "local", "const", "param"})
_CHANGING = frozenset({"st", "atom", "red", "cp", "call", "bar", "barrier", "wmma", "stmatrix", "trap"})


def needs_independent_lanes(graph: Graph, classes: Classes) -> bool:
    """Whether some lanes of a gang may reach a barrier that others bypass, or may spin until others have moved."""
    for block in graph.order:
        last = graph.blocks[block].terminator
        if last is not None and is_block_barrier(last) and (classes.waiting[block] or last.guard is not None):
            return True
    return _meet_apart(graph, classes) or any(
        (_may_spin(graph, body, _watches_memory) and not _waits_together(graph, classes, body))
        or (not _meets(graph, body) and _may_spin(graph, body, _rereads(graph, body, _CONSTANT)))
        for body in _loops(graph)
    )


def _waits_together(graph: Graph, classes: Classes, body: set[int]) -> bool:
    """Whether a loop waits at mbarriers alone, and all lanes of the gang as one: then the gang can give way as one."""
    if _may_spin(graph, body, _watches_flags) or any(classes.waiting[block] for block in body):
        return False
    waits = [item for block in body for item in _items(graph, block) if is_mbarrier_wait(item)]
    return all(
        item.guard is None and all(classes.shapes[name].kind == "uniform" for name in definitions(item))
        for item in waits
    )


def _meet_apart(graph: Graph, classes: Classes) -> bool:
    """Whether lanes may wait at one barrier of their warp for lanes at another.

    Those that wait elsewhere while a block runs may come to such a barrier on ways that no barrier of the block cuts.
    """
    meeting = {block for block in graph.order if any(is_warp_barrier(item) for item in _items(graph, block))}
    for block in meeting:
        seen: set[int] = set()
        stack = list(classes.waiting[block])
        while stack:
            other = stack.pop()
            if other in seen:
                continue
            if other in meeting:
                return True
            seen.add(other)
            last = graph.blocks[other].terminator
            if last is None or not is_block_barrier(last):
                stack += graph.blocks[other].successors
    return False


def waits_for_blocks(graph: Graph) -> bool:
    """Whether blocks may wait until others have moved: at a cluster's barrier, or by watching memory they share.

    A loop that has a barrier and looks at such memory counts whatever it does with it: what one thread has seen may
    reach the others through shared memory.
    """
    if any(is_cluster_barrier(item) or item.opcode == "mapa" for b in graph.order for item in _items(graph, b)):
        return True
    for body in _loops(graph):
        rereads = _rereads(graph, body, _PRIVATE)
        watched = [
            item
            for block in body
            for item in _items(graph, block)
            if rereads(item) or (_watches_memory(item) and _PRIVATE.isdisjoint(item.modifiers))
        ]
        if watched and (_meets(graph, body) or _may_spin(graph, body, watched.__contains__)):
            return True
    return False


def is_cluster_barrier(item: Instruction) -> bool:
    return item.opcode == "barrier" and "cluster" in item.modifiers


def spinning_blocks(graph: Graph) -> set[int]:
    """Blocks in loops that do nothing but look at memory until it changes."""
    found: set[int] = set()
    for body in _loops(graph):
        items = [item for block in body for item in _items(graph, block)]
        idle = not _meets(graph, body) and not _has(graph, body, _EFFECTS)
        if idle and len(items) <= _LONGEST_SPIN and _may_spin(graph, body, _watches_memory):
            found |= body
    return found


def orders_memory(body: Iterable[Label | Instruction]) -> bool:
    """Whether a kernel synchronises threads of different blocks through memory: by fences or ordered accesses."""
    return any(isinstance(item, Instruction) and _orders(item) for item in body)


def is_active(item: Instruction) -> bool:
    """Whether an instruction may change more than the gang's registers, or depends on more than shared memory.

    Without such instructions the frames of a block's gangs are its state, see `runtime.idleness`.
    """
    if item.opcode in ("atom", "red"):
        # Those of shared memory tell by themselves; red.async changes an mbarrier, too.
        return "async" in item.modifiers or "shared" not in {part.split("::")[0] for part in item.modifiers}
    if item.opcode in ("ld", "ldu"):
        return _QUIET_SPACES.isdisjoint(part.split("::")[0] for part in item.modifiers)
    if item.opcode == "mbarrier":
        return not is_mbarrier_wait(item)
    if item.opcode in ("bar", "barrier"):
        return "arrive" in item.modifiers
    return item.opcode in _CHANGING


def orders_cluster(body: Iterable[Label | Instruction]) -> bool:
    """Whether it may order accesses of blocks of a cluster, beside the cluster's barrier: also by mbarriers."""
    items = list(body)
    return orders_memory(items) or any(isinstance(item, Instruction) and item.opcode == "mbarrier" for item in items)


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


def _items(graph: Graph, block: int) -> list[Instruction]:
    node = graph.blocks[block]
    return [*node.instructions, *([node.terminator] if node.terminator else [])]


def _has(graph: Graph, body: set[int], opcodes: frozenset[str]) -> bool:
    return any(item.opcode in opcodes for block in body for item in _items(graph, block))


def _meets(graph: Graph, body: set[int]) -> bool:
    """Whether a loop has a barrier of the block."""
    return any(is_block_barrier(item) for block in body for item in _items(graph, block))


def _rereads(graph: Graph, body: set[int], outside: frozenset[str]) -> Callable[[Instruction], bool]:
    """Tells the plain loads of a loop that read one and the same place every time round, outside some spaces.

    Only where a fence stands in the loop: without one the hardware may answer from a cache for ever, and kernels hang.
    """
    items = [item for block in body for item in _items(graph, block)]
    fenced = any(item.opcode in _FENCES for item in items)
    changing = {name for item in items for name in definitions(item)}

    def test(item: Instruction) -> bool:
        return fenced and item.opcode == "ld" and outside.isdisjoint(item.modifiers) and changing.isdisjoint(uses(item))

    return test


def _may_spin(graph: Graph, body: set[int], watches: Callable[[Instruction], bool]) -> bool:
    """Whether what other threads do to memory may decide how long a loop goes round."""
    instructions = [item for block in body for item in graph.blocks[block].instructions]
    seen: set[str] = set()
    for item in instructions:
        if watches(item):
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
    return is_mbarrier_wait(item) or _watches_flags(item)


def _watches_flags(item: Instruction) -> bool:
    if item.opcode == "atom":
        return True
    return item.opcode == "ld" and not _STRONG.isdisjoint(item.modifiers)
