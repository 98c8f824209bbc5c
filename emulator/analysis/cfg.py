"""Cuts a flat body into blocks and puts them into an order in which loop bodies are contiguous."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from emulator.analysis.flat import FlatKernel
from emulator.syntax.nodes import BranchTable, ImmediateOperand, Instruction, Label, Problem, SymbolOperand

BARRIERS = frozenset({"bar", "barrier"})
# The modifier of a barrier of the warp that stands for no instruction of the program.
MEETING = "meeting"
_WITH_MEMBERS = frozenset({"shfl", "vote", "match", "redux", "elect"})
_OF_WHOLE_WARPS = frozenset({"mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"})


@dataclass(slots=True)
class Block:
    """Straight-line code. `successors` are block ids; of a guarded branch (taken, not taken).

    `terminator` is the branch, exit or barrier that ends the block; None falls through to the one successor.
    """

    id: int
    instructions: list[Instruction] = field(default_factory=list)
    terminator: Instruction | None = None
    successors: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Graph:
    """The blocks of a kernel. `order` lists the reachable ones: every edge that is not a loop's goes forward.

    `position` is the inverse of `order`. `irreducible` says that some loop has two entries.
    """

    blocks: list[Block]
    order: list[int]
    position: dict[int, int]
    irreducible: bool

    def instructions(self) -> Iterator[Instruction]:
        """All of them, in order."""
        for number in self.order:
            block = self.blocks[number]
            yield from block.instructions
            if block.terminator is not None:
                yield block.terminator

    def is_exit(self, block: int) -> bool:
        """Whether a block does nothing but end the thread."""
        candidate = self.blocks[block]
        return (
            not candidate.instructions
            and candidate.terminator is not None
            and candidate.terminator.opcode in ("ret", "exit")
            and candidate.terminator.guard is None
        )


def is_block_barrier(instruction: Instruction) -> bool:
    """Whether threads of the whole block, or of its cluster, may wait at it (bar.warp.sync is of the warp alone)."""
    return instruction.opcode in BARRIERS and not {"warp", "arrive"} & set(instruction.modifiers)


def is_warp_barrier(instruction: Instruction) -> bool:
    return instruction.opcode in BARRIERS and "warp" in instruction.modifiers


def is_mbarrier_wait(instruction: Instruction) -> bool:
    return instruction.opcode == "mbarrier" and not {"test_wait", "try_wait"}.isdisjoint(instruction.modifiers)


def meeting_of(item: Instruction) -> Instruction | None:
    """The barrier of the warp that an instruction implies: its members come together before it.

    Instructions of the warp imply one, and so do aligned barriers of the block.
    """
    modifiers = item.modifiers
    whole = (ImmediateOperand(0xFFFFFFFF),)
    if is_block_barrier(item) and (item.opcode == "bar" or "aligned" in modifiers):
        return replace(item, opcode="bar", modifiers=("warp", "sync", MEETING), operands=whole)
    if item.opcode in _WITH_MEMBERS and "sync" in modifiers:
        return replace(item, opcode="bar", modifiers=("warp", "sync", MEETING), operands=item.operands[-1:])
    if item.opcode in _OF_WHOLE_WARPS and "sync" in modifiers:
        return replace(item, opcode="bar", modifiers=("warp", "sync", MEETING), operands=whole)
    return None


def _ends_block(item: Instruction) -> bool:
    if item.opcode in ("bra", "brx", "ret", "exit") or is_block_barrier(item):
        return True
    return item.opcode == "trap" and item.guard is None


def build_graph(flat: FlatKernel, meet: bool = False, wait: bool = False) -> tuple[Graph, list[Problem]]:
    """The blocks of a flat body.

    `meet`: what the lanes of a warp do together begins a block, behind a barrier. `wait`: a wait at an mbarrier ends a
    block.
    """
    problems: list[Problem] = []
    blocks: list[Block] = [Block(0)]
    labels: dict[str, int] = {}
    for item in flat.body:
        current = blocks[-1]
        if isinstance(item, Label):
            if current.instructions or current.terminator is not None:
                current = Block(len(blocks))
                blocks.append(current)
            labels[item.name] = current.id
            continue
        meeting = meeting_of(item) if meet else None
        for step in (meeting, item) if meeting is not None else (item,):
            if current.terminator is not None:
                current = Block(len(blocks))
                blocks.append(current)
            waits = wait and is_mbarrier_wait(step) and step.guard is None
            if _ends_block(step) or (meet and is_warp_barrier(step)) or waits:
                current.terminator = step
            else:
                current.instructions.append(step)
    # A body that runs off its end returns.
    end = Block(len(blocks), terminator=Instruction("ret", (), (), flat.body[-1].line if flat.body else 1))
    blocks.append(end)
    for block in blocks:
        _link(block, labels, flat.tables, problems)
    successors = [block.successors for block in blocks]
    order, irreducible = loop_aware_order(successors, 0)
    return Graph(blocks, order, {block: index for index, block in enumerate(order)}, irreducible), problems


def _link(block: Block, labels: dict[str, int], tables: dict[str, BranchTable], problems: list[Problem]) -> None:
    last = block.terminator
    following = block.id + 1
    if last is None or is_block_barrier(last) or is_warp_barrier(last) or is_mbarrier_wait(last):
        block.successors = [following]
    elif last.opcode == "bra":
        target = last.operands[0] if last.operands else None
        if not isinstance(target, SymbolOperand) or target.name not in labels:
            name = target.name if isinstance(target, SymbolOperand) else "?"
            problems.append(Problem(f"the label '{name}' is not defined", last.line, last.location, last.form))
            block.successors = [following]
            return
        taken = labels[target.name]
        block.successors = [taken] if last.guard is None else [taken, following]
        if block.successors == [taken, taken]:
            block.successors = [taken]
    elif last.opcode == "brx":
        table_operand = last.operands[1] if len(last.operands) > 1 else None
        table = tables.get(table_operand.name) if isinstance(table_operand, SymbolOperand) else None
        if table is None or any(target not in labels for target in table.targets):
            problems.append(Problem("brx.idx needs a list of branch targets", last.line, last.location, last.form))
            block.successors = [following]
            return
        block.successors = [labels[target] for target in table.targets]
    elif last.guard is not None:
        block.successors = [following]


def loop_aware_order(successors: list[list[int]], entry: int) -> tuple[list[int], bool]:
    """A topological order once loops' back edges are cut, each loop contiguous; and whether a loop has two entries.

    A region is a set of nodes with its start; the body of a loop whose header is h has the start −1−h, which
    stands for the successors of h.
    """
    order: list[int] = []
    irreducible = False
    reachable = _reachable(successors, entry)
    work: list[tuple[set[int], int] | int] = [(reachable, entry)]
    while work:
        task = work.pop()
        if isinstance(task, int):
            order.append(task)
            continue
        nodes, start = task
        placed: list[tuple[set[int], int] | int] = []
        components = _components(successors, nodes, start)
        outside = {start} if start >= 0 else set(successors[-1 - start])
        for component in components:
            if len(component) == 1 and component[0] not in successors[component[0]]:
                placed.append(component[0])
                outside.update(successors[component[0]])
                continue
            members = set(component)
            entries = [node for node in component if node in outside]
            if start in members:
                entries = [start, *(node for node in entries if node != start)]
            irreducible |= len(entries) > 1
            header = entries[0]
            placed.append(header)
            if len(members) > 1:
                placed.append((members - {header}, -1 - header))
            for node in component:
                outside.update(successors[node])
        work.extend(reversed(placed))
    return order, irreducible


def _reachable(successors: list[list[int]], entry: int) -> set[int]:
    seen = {entry}
    stack = [entry]
    while stack:
        for node in successors[stack.pop()]:
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen


def _components(successors: list[list[int]], nodes: set[int], start: int) -> list[list[int]]:
    """Strongly connected components of the subgraph in topological order (Tarjan, without recursion).

    A negative start −1−h stands for the successors of h.
    """
    roots = [start] if start >= 0 else [node for node in reversed(successors[-1 - start]) if node in nodes]
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[list[int]] = []
    for root in [*roots, *sorted(nodes)]:
        if root in index:
            continue
        calls: list[tuple[int, int]] = [(root, 0)]
        while calls:
            node, position = calls.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            edges = successors[node]
            descended = False
            while position < len(edges):
                target = edges[position]
                position += 1
                if target not in nodes:
                    continue
                if target not in index:
                    calls.append((node, position))
                    calls.append((target, 0))
                    descended = True
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            if descended:
                continue
            if low[node] == index[node]:
                component: list[int] = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.append(member)
                    if member == node:
                        break
                found.append(component[::-1])
            if calls:
                parent = calls[-1][0]
                low[parent] = min(low[parent], low[node])
    return found[::-1]
