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
_LEAST_SHARE = 0.35
"""Of the lanes of a gang that is a row, how many must have threads: gathering costs about three times as much."""
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


def may_be_rows(graph: Graph) -> bool:
    """Whether a gang that may be wide may as well be a part of a warp: nothing asks which lane it is."""
    items = [item for number in graph.order for item in _items(graph.blocks[number])]
    return not any(_names(item, "%lane") for item in items)


def rows_of(block: tuple[int, int, int]) -> int | None:
    """The width of gangs that are rows of the block, where its rows do not fit warps; None where warps do better."""
    x, y, z = block
    if y * z == 1 or x % ONE_WARP == 0 or ONE_WARP % x == 0:
        return None
    width = TWO_WARPS if ONE_WARP < x <= TWO_WARPS else ONE_WARP
    return width if x / (-(-x // width) * width) > _LEAST_SHARE else None


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
    return (item.opcode in BARRIERS and "warp" in item.modifiers) or _names(item, "%warpid")


def _names(item: Instruction, register: str) -> bool:
    """Whether an instruction reads a special register whose name begins so."""
    operands = item.operands
    return any(isinstance(operand, RegisterOperand) and operand.name.startswith(register) for operand in operands)
