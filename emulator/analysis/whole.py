"""Whether one call can run all gangs of a block: each barrier is one at which every living thread of the block meets.

Between two such barriers the gangs run one after another. A gang that returns from one has all its lanes there, and
once each has, all go on; no scheduler has to look who waits where.
"""

from __future__ import annotations

from emulator.analysis.cfg import BARRIERS, Graph, is_mbarrier_wait, is_warp_barrier
from emulator.analysis.gang import Gang
from emulator.syntax.nodes import ImmediateOperand, Instruction


def runs_whole(graph: Graph, gang: Gang) -> bool:
    """Of a kernel whose lanes move together."""
    numbers: set[int] = set()
    for number in graph.order:
        block = graph.blocks[number]
        for item in [*block.instructions, *([block.terminator] if block.terminator else [])]:
            if is_mbarrier_wait(item):
                return False
            if item.opcode in BARRIERS and not is_warp_barrier(item):
                met = _number(item, gang)
                if met is None:
                    return False
                numbers.add(met)
    return len(numbers) <= 1


def _number(barrier: Instruction, gang: Gang) -> int | None:
    """The number of a barrier that is for all threads of the block; None of any other."""
    if {"cluster", "red", "arrive"} & set(barrier.modifiers) or barrier.guard is not None:
        return None
    values = [operand.value if isinstance(operand, ImmediateOperand) else None for operand in barrier.operands]
    if None in values or len(values) > 2 or values[1:] not in ([], [gang.threads]):
        return None
    return int(values[0] or 0) if values else 0
