"""Finds where NaNs must be made canonical: once, where their bits are looked at, instead of after every operation.

The hardware returns one NaN from single-precision arithmetic, the host passes payloads on. A register is *raw* where
its NaNs are the host's and nobody else's, see `raw_registers`. Arithmetic and comparisons take raw registers as they
are, moves pass them on; every other use (a store, a shuffle, a look at the bits) makes them canonical first.
"""

from __future__ import annotations

from collections.abc import Iterable

from emulator.analysis.operands import definitions, registers_of
from emulator.isa.form import Form
from emulator.isa.table import lookup
from emulator.syntax.nodes import TYPE_SIZES, ImmediateOperand, Instruction, Operand, RegisterOperand

_PASSING = frozenset({"mov", "selp", "copy"})
_COMPARING = frozenset({"setp", "testp"})


def is_lazy(form: Form) -> bool:
    """Whether an arithmetic form of single precision may leave its NaNs raw."""
    return form.canonical_nan and form.destinations == ("f32",) and set(form.sources) == {"f32"}


def passes(instruction: Instruction) -> bool:
    """Whether an instruction hands 32 bits on without looking at them."""
    return (
        instruction.opcode in _PASSING
        and instruction.types[-1:] != ()
        and TYPE_SIZES[instruction.types[-1]] == 4
        and all(len(registers_of(operand)) <= 1 for operand in instruction.operands)
    )


def tolerates(instruction: Instruction, form: Form, raw: set[str]) -> bool:
    """Whether it makes no difference to an instruction which NaN its sources hold."""
    types = instruction.types
    if is_lazy(form) or (instruction.opcode in _COMPARING and types[-1:] == ("f32",)):
        return True
    if passes(instruction):
        return raw.issuperset(definitions(instruction))
    return instruction.opcode == "cvt" and types[1:] == ("f32",) and types[0][0] in "us"


def raw_registers(instructions: Iterable[Instruction]) -> set[str]:
    """The registers all of whose NaNs are the host's to choose.

    Every value that such a register gets is the result of arithmetic, or was handed on from such a register; where
    another one may be in it too (loaded, or made of bits), its NaNs are values of their own. A register that only
    ever gets constants has no NaNs, and is none of them.
    """
    raw: set[str] = set()
    made: set[str] = set()  # registers that arithmetic writes, directly or by way of copies
    kept: set[str] = set()  # registers with values of other origin
    copies: list[Instruction] = []
    for instruction in instructions:
        targets = definitions(instruction)
        if passes(instruction):
            copies.append(instruction)
            raw.update(targets)
            continue
        form = None if instruction.opcode in ("copy", "call", "trap") else lookup(instruction)
        lazy = isinstance(form, Form) and is_lazy(form)
        (made if lazy else kept).update(targets)
    raw |= made
    raw -= kept
    changed = True
    while changed:
        changed = False
        for instruction in copies:
            copied = raw.intersection(definitions(instruction))
            sources = instruction.operands[1:3] if instruction.opcode == "selp" else instruction.operands[1:]
            if copied and not all(_is_raw(operand, raw) for operand in sources):
                raw -= copied
                changed = True
    while True:
        reached = {
            name
            for instruction in copies
            if any(made.intersection(registers_of(operand)) for operand in instruction.operands[1:3])
            for name in definitions(instruction)
        }
        if reached <= made:
            return raw & made
        made |= reached


def _is_raw(operand: Operand, raw: set[str]) -> bool:
    """Whether an operand of a copy is a raw register or a constant that is no NaN."""
    if isinstance(operand, ImmediateOperand):
        return operand.value & 0x7FFFFFFF <= 0x7F800000
    return isinstance(operand, RegisterOperand) and operand.name in raw
