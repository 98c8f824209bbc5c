"""What a GPU makes of PTX instructions: issue slots, cycles of each pipe, and how long a warp waits for results.

PTX is no machine code. ptxas drops what is free (moves, conversions of addresses, loads of parameters), fuses address
arithmetic, and expands what no unit computes at once (divisions, square roots). `EXPANDED` and `cost` say into what,
as NVIDIA's assembler does from Volta on; instructions per kernel agree with what an H200 counted to within the figures
that tests/emulator/test_profiling.py holds. Latencies are what microbenchmarks of Volta to Hopper found (Jia et al.,
arXiv:1804.06826; Luo et al., arXiv:2402.13499), in cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from emulator.analysis.operands import definitions, uses
from emulator.lowering.access import space_of
from emulator.syntax.nodes import TYPE_SIZES, ImmediateOperand, Instruction, RegisterOperand

PIPES = ("alu", "fma", "imad", "fp64", "xu")
"""Integers and logic; single and half precision; integer products; double precision; transcendentals, conversions."""

ALU, PRODUCT, SPECIAL, DOUBLE, CONVERSION = 5, 5, 20, 10, 14
SHARED, SHUFFLE, BARRIER, REGISTER_READ, CONSTANT = 29, 24, 20, 20, 30
NOMINAL_WAIT = 300
"""Cycles that a wait for global or local memory counts for where a block of code has several chains to choose from."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one instruction: slots that it issues in, cycles of pipes in warp instructions, latency in cycles.

    `waits` is 1 where the result comes from global or local memory, whose latency is not known here.
    """

    slots: int
    pipes: tuple[tuple[str, int], ...] = ()
    latency: int = 0
    waits: int = 0


FREE = Cost(0)
_SIMPLE = Cost(1, (("alu", 1),), ALU)
# Opcode with its type: reciprocal first, then Newton's steps and the corrections, as the assembler emits them inline.
EXPANDED = {
    ("div", 4, "i"): Cost(20, (("alu", 9), ("imad", 8), ("xu", 3)), 110),
    ("rem", 4, "i"): Cost(20, (("alu", 9), ("imad", 8), ("xu", 3)), 105),
    ("div", 8, "i"): Cost(85, (("alu", 40), ("imad", 40), ("xu", 4)), 380),
    ("rem", 8, "i"): Cost(85, (("alu", 40), ("imad", 40), ("xu", 4)), 380),
    ("div", 4, "f"): Cost(10, (("alu", 2), ("fma", 6), ("xu", 2)), 65),
    ("rcp", 4, "f"): Cost(8, (("alu", 3), ("fma", 3), ("xu", 1)), 45),
    ("sqrt", 4, "f"): Cost(9, (("alu", 3), ("fma", 5), ("xu", 1)), 55),
    ("div", 8, "f"): Cost(18, (("alu", 6), ("fp64", 9), ("xu", 1)), 130),
    ("rcp", 8, "f"): Cost(14, (("alu", 5), ("fp64", 6), ("xu", 1)), 90),
    ("sqrt", 8, "f"): Cost(20, (("alu", 8), ("fp64", 9), ("xu", 1)), 140),
    ("rsqrt", 8, "f"): Cost(16, (("alu", 6), ("fp64", 7), ("xu", 1)), 110),
}
_APPROXIMATE = Cost(2, (("fma", 1), ("xu", 1)), SPECIAL + ALU)
_LONE_SPECIAL = Cost(1, (("xu", 1),), SPECIAL)
_FREE = frozenset({"cvta", "pragma", "isspacep", "stacksave", "stackrestore"})
_SPECIAL = frozenset(
    {f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"}
    | {"%laneid", "%clock", "%clock64"}
)
_BITS = {"popc": 1, "brev": 1, "bfind": 1, "clz": 2}
_PER_WORD = frozenset({"and", "or", "xor", "not", "lop3", "selp", "shl", "shr", "bfe", "bfi", "neg", "abs"})
PROLOGUE = 4
"""Slots of every warp, for what PTX does not say: the stack pointer, descriptors of memory, the exit."""
_WARP = frozenset({"shfl", "vote", "match", "redux", "activemask", "elect"})
_MEMORY = frozenset({"ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "prefetch"})


def cost(instruction: Instruction) -> Cost:
    """What one instruction costs where nothing around it is known."""
    opcode, types = instruction.opcode, instruction.types
    if opcode in _FREE or (opcode in ("and", "or", "xor", "not") and "pred" in instruction.modifiers):
        # ptxas folds the logic of predicates into the comparisons.
        return FREE
    if opcode in _MEMORY:
        return _memory(instruction)
    if opcode == "mov":
        return _move(instruction)
    if opcode == "cvt":
        return _conversion(instruction)
    if opcode in ("wmma", "mma", "wgmma", "tcgen05"):
        return _matrix(instruction)
    if opcode in _WARP:
        return Cost(1, (("alu", 1),), SHUFFLE)
    if opcode in ("bar", "barrier"):
        return Cost(1, (), BARRIER)
    if opcode in ("bra", "brx", "ret", "exit"):
        return Cost(1, (), ALU)
    if not types:
        return Cost(1, (), ALU)
    return _arithmetic(instruction, types[0], TYPE_SIZES[types[0]])


def _memory(instruction: Instruction) -> Cost:
    opcode, space = instruction.opcode, space_of(instruction)
    if opcode == "ld" and space == "param":
        return Cost(1)  # of the constant bank
    if opcode == "ld" and space == "const":
        return Cost(1, (), CONSTANT)
    if opcode in ("st", "red", "stmatrix", "prefetch", "cp"):
        return Cost(1)
    if space == "shared" or opcode == "ldmatrix":
        return Cost(1, (), SHARED if opcode != "atom" else 2 * SHARED)
    return Cost(1, (), 0, 1)


def _move(instruction: Instruction) -> Cost:
    source = instruction.operands[-1]
    if isinstance(source, RegisterOperand) and source.name in _SPECIAL:
        return Cost(1, (), REGISTER_READ)
    if isinstance(source, ImmediateOperand) and source.float_bits == 64:
        return Cost(2, (("alu", 2),), ALU)  # no instruction has room for 64 bits
    return FREE


def _conversion(instruction: Instruction) -> Cost:
    types = instruction.types
    if len(types) < 2:
        return _SIMPLE
    to, origin = types[0], types[1]
    if to[0] in "usb" and origin[0] in "usb":
        widens = TYPE_SIZES[to] > TYPE_SIZES[origin]
        # Registers hold narrow values in 32 bits already.
        return _SIMPLE if (widens and origin[0] == "s" and TYPE_SIZES[to] == 8) else FREE
    if "f64" in (to, origin):
        return Cost(1, (("xu", 2),), CONVERSION + DOUBLE)
    if {to, origin} <= {"f16", "f32", "bf16", "f16x2", "bf16x2"}:
        return Cost(1, (("fma", 1),), ALU)
    return Cost(1, (("xu", 1),), CONVERSION)


def _matrix(instruction: Instruction) -> Cost:
    if "load" in instruction.modifiers:
        return Cost(4, (), 0, 1) if space_of(instruction) != "shared" else Cost(4, (), SHARED)
    if "store" in instruction.modifiers:
        return Cost(4)
    return Cost(2, (), 33)


def _arithmetic(instruction: Instruction, type: str, size: int) -> Cost:
    opcode, floating = instruction.opcode, type[0] in "fb" and not type.startswith("b")
    floating = floating or type.startswith("bf")
    expanded = EXPANDED.get((opcode, size, "f" if floating else "i"))
    if expanded is not None:
        if isinstance(instruction.operands[-1], ImmediateOperand) and not floating:
            return Cost(5, (("alu", 3), ("imad", 2)), 5 * ALU)  # a product and shifts
        return expanded if not {"approx", "full"} & set(instruction.modifiers) else _APPROXIMATE
    if opcode in ("sin", "cos", "ex2", "lg2", "rsqrt", "rcp", "sqrt", "tanh"):
        return _LONE_SPECIAL if "ftz" in instruction.modifiers else _APPROXIMATE
    if floating:
        return _floating(opcode, size)
    words = max(1, size // 4)
    if opcode in ("add", "sub") and words == 2:
        # Mostly addresses, which go along with a product or a load.
        return Cost(1, (("alu", 1),), ALU)
    if opcode in _BITS:
        return Cost(_BITS[opcode] * words, (("xu", words), ("alu", (_BITS[opcode] - 1) * words)), CONVERSION)
    if opcode in ("mul", "mad", "mul24", "mad24"):
        if "wide" in instruction.modifiers or words == 1:
            return Cost(1, (("imad", 1),), PRODUCT)
        return Cost(4 if "hi" not in instruction.modifiers else 12, (("imad", 4),), 3 * PRODUCT)
    if opcode == "sad":
        return Cost(3, (("alu", 3),), 3 * ALU)
    if opcode in ("min", "max", "add", "sub", "setp", "set", "addc", "subc") or opcode in _PER_WORD:
        return Cost(words, (("alu", words),), ALU)
    return Cost(words, (("alu", words),), ALU)


def _floating(opcode: str, size: int) -> Cost:
    if opcode in ("neg", "abs"):
        return FREE  # a modifier of the operand
    if size == 8:
        return Cost(1, (("fp64", 1),), DOUBLE)
    if opcode in ("min", "max", "setp", "set", "selp", "testp", "copysign"):
        return _SIMPLE
    return Cost(1, (("fma", 1),), ALU)


@dataclass(slots=True)
class Summary:
    """Of a block of code, for one warp: sums of slots and pipes; `chain` cycles and `waits` of its longest chain."""

    slots: int = 0
    pipes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PIPES, 0))
    chain: int = 0
    waits: int = 0
    matrix_operations: int = 0


def summary(instructions: Sequence[Instruction]) -> Summary:
    """What a warp pays for each time it runs these instructions, straight through."""
    found = Summary()
    ready: dict[str, tuple[int, int]] = {}
    products = {name for item in instructions if _is_wide_product(item) for name in definitions(item)}
    for item in instructions:
        price = FREE if _is_fused(item, products) else cost(item)
        found.slots += price.slots
        for pipe, cycles in price.pipes:
            found.pipes[pipe] += cycles
        found.matrix_operations += matrix_operations(item)
        begin = _latest(ready[name] for name in uses(item) if name in ready)
        end = begin[0] + price.waits, begin[1] + price.latency
        for name in definitions(item):
            ready[name] = end
        longest = _latest([(found.waits, found.chain), end])
        found.waits, found.chain = longest
    return found


def _latest(instants: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Of pairs of waits and cycles the one that comes last."""
    return max(instants, key=lambda at: at[0] * NOMINAL_WAIT + at[1], default=(0, 0))


def _is_wide_product(item: Instruction) -> bool:
    return item.opcode == "mul" and "wide" in item.modifiers


def _is_fused(item: Instruction, products: set[str]) -> bool:
    """An address is base + index × size in one instruction."""
    return item.opcode == "add" and item.types[-1:] in (("s64",), ("u64",)) and not products.isdisjoint(uses(item))


def matrix_operations(item: Instruction) -> int:
    """Multiplications and additions of one warp's mma, counted as two operations each; 0 for all else."""
    if item.opcode not in ("mma", "wmma") or {"load", "store"} & set(item.modifiers):
        return 0
    for part in item.modifiers:
        if part[0] == "m" and "n" in part and "k" in part:
            m, rest = part[1:].split("n")
            n, k = rest.split("k")
            if m.isdigit() and n.isdigit() and k.isdigit():
                return 2 * int(m) * int(n) * int(k)
    return 0
