"""Which registers an instruction writes and reads."""

from __future__ import annotations

from emulator.syntax.nodes import (
    AddressOperand,
    Instruction,
    Operand,
    PairOperand,
    RegisterOperand,
    SymbolOperand,
    Traffic,
    VectorOperand,
)

# The carry flag of add.cc, addc, … is a register that instructions name implicitly.
CARRY = "%cc"

_NO_DESTINATION = frozenset({
    "st", "red", "bra", "brx", "barrier", "bar", "membar", "fence", "ret", "exit", "trap", "brkpt", "nanosleep", "cp",
    "prefetch", "prefetchu", "stmatrix", "discard", "applypriority", "griddepcontrol", "setmaxnreg", "call", "pmevent",
    "sust", "stackrestore",
})  # fmt: skip
_SINK = "_"


def _count_destinations(instruction: Instruction) -> int:
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in ("bar", "barrier"):
        return int("red" in modifiers)
    if opcode in ("wmma", "mbarrier", "tensormap", "multimem"):
        if "store" in modifiers or "init" in modifiers or "inval" in modifiers or "red" in modifiers:
            return 0
        return int("complete_tx" not in modifiers and "expect_tx" not in modifiers[:1])
    return 0 if opcode in _NO_DESTINATION else min(1, len(instruction.operands))


def registers_of(operand: Operand) -> list[str]:
    """The registers that an operand names, in order; the sink is none."""
    if isinstance(operand, RegisterOperand):
        return [operand.name]
    if isinstance(operand, AddressOperand):
        return [operand.base] if operand.base is not None and operand.base[0] == "%" else []
    if isinstance(operand, VectorOperand):
        return [name for element in operand.elements for name in registers_of(element)]
    if isinstance(operand, PairOperand):
        return registers_of(operand.first) + registers_of(operand.second)
    return []


def _traffic(instruction: Instruction) -> Traffic:
    """How many operands are destinations, the registers written, and those read."""
    count = _count_destinations(instruction)
    definitions = [name for operand in instruction.operands[:count] for name in registers_of(operand)]
    uses = [name for operand in instruction.operands[count:] for name in registers_of(operand)]
    if instruction.call is not None:
        uses += [name for operand in instruction.call.arguments for name in registers_of(operand)]
        if instruction.call.callee[0] == "%":
            uses.append(instruction.call.callee)
        definitions += instruction.call.results
    if "cc" in instruction.modifiers:
        definitions.append(CARRY)
    if instruction.opcode in ("addc", "subc", "madc"):
        uses.append(CARRY)
    if instruction.guard is not None:
        uses.append(instruction.guard.register)
        # Where the guard is false the old value survives.
        uses += definitions
    found = count, tuple(definitions), tuple(uses)
    # Every analysis asks for it many times: the node remembers it, which changes nothing of the node.
    object.__setattr__(instruction, "traffic", found)
    return found


def destination_count(instruction: Instruction) -> int:
    """How many of the leading operands are destinations: 0 or 1 (a pair or vector counts as one)."""
    return (instruction.traffic or _traffic(instruction))[0]


def definitions(instruction: Instruction) -> tuple[str, ...]:
    return (instruction.traffic or _traffic(instruction))[1]


def uses(instruction: Instruction) -> tuple[str, ...]:
    return (instruction.traffic or _traffic(instruction))[2]


def is_sink(operand: Operand) -> bool:
    return isinstance(operand, SymbolOperand) and operand.name == _SINK
