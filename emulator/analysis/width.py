"""How many lanes a gang has: one warp, or two in lockstep where that pays and nothing in the kernel is of a warp.

Two warps are twice the independent work behind each instruction, which hides the latency of chains of arithmetic in
loops. Kernels that only move memory have no such chains, and rows of a block that a wide gang spans lie apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.analysis.cfg import BARRIERS, Block, Graph
from emulator.analysis.classify import Classes
from emulator.analysis.flat import FlatKernel
from emulator.syntax.nodes import AddressOperand, Instruction, RegisterOperand

ONE_WARP, TWO_WARPS = 32, 64
# Of a warp, of the run time, or of the order in which lanes come.
_OF_ONE_WARP = frozenset({
    "shfl", "vote", "match", "redux", "activemask", "elect", "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix",
    "atom", "red", "cp", "mbarrier", "call", "trap", "brkpt", "griddepcontrol", "prefetchu",
})  # fmt: skip
_ARITHMETIC = frozenset({"fma", "mad", "add", "sub", "mul", "div", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos"})
_FLOATS = frozenset({"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"})


def may_be_wide(flat: FlatKernel, graph: Graph, threads: int) -> bool:
    """Whether two warps of a block that runs whole may go in lockstep."""
    if threads <= ONE_WARP or flat.local_bytes:
        return False
    items = [item for number in graph.order for item in _items(graph.blocks[number])]
    return not any(item.opcode in _OF_ONE_WARP or _names_warp(item) for item in items)


def pays(graph: Graph) -> bool:
    """Whether a loop computes more than it moves."""
    return any(_computes(loop) for loop in _loops(graph))


def lone_lanes(graph: Graph, classes: Classes) -> int:
    """How many accesses of loops have an address for each lane, because no shape holds them together."""
    lone = 0
    for loop in _loops(graph):
        bases = [operand.base for item in loop for operand in item.operands if isinstance(operand, AddressOperand)]
        shapes = [classes.shapes.get(base) for base in bases if base is not None]
        lone += sum(shape is not None and shape.kind == "varying" for shape in shapes)
    return lone


def _loops(graph: Graph) -> Iterator[list[Instruction]]:
    """The instructions of each loop: the order keeps its blocks together, between its header and its back edge."""
    for number in graph.order:
        end = graph.position[number]
        for target in graph.blocks[number].successors:
            start = graph.position.get(target, end + 1)
            if start <= end:
                yield [item for place in graph.order[start : end + 1] for item in _items(graph.blocks[place])]


def _computes(loop: list[Instruction]) -> bool:
    arithmetic = sum(item.opcode in _ARITHMETIC and not _FLOATS.isdisjoint(item.modifiers) for item in loop)
    moves = sum(item.opcode in ("ld", "st") and "global" in item.modifiers for item in loop)
    return 2 * arithmetic >= max(1, moves)


def _items(block: Block) -> list[Instruction]:
    return [*block.instructions, *([block.terminator] if block.terminator else [])]


def _names_warp(item: Instruction) -> bool:
    if item.opcode in BARRIERS and "warp" in item.modifiers:
        return True
    return any(isinstance(operand, RegisterOperand) and operand.name == "%warpid" for operand in item.operands)
