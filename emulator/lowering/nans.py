"""Finds where NaNs must be made canonical: once, where their bits are looked at, instead of after every operation.

The hardware returns one NaN from single-precision arithmetic, the host passes payloads on. A register is *raw* where
its NaNs may still be the host's. Arithmetic and comparisons take raw registers as they are, moves pass them on; every
other use (a store, a shuffle, a look at the bits) makes them canonical first.
"""

from __future__ import annotations

from collections.abc import Iterable

from emulator.analysis.operands import definitions, registers_of
from emulator.isa.form import Form
from emulator.isa.table import lookup
from emulator.syntax.nodes import TYPE_SIZES, Instruction

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


def tolerates(instruction: Instruction, form: Form) -> bool:
    """Whether it makes no difference to an instruction which NaN its sources hold."""
    if is_lazy(form) or passes(instruction) or instruction.opcode in _COMPARING:
        return True
    types = instruction.types
    return instruction.opcode == "cvt" and types[1:] == ("f32",) and types[0][0] in "us"


def raw_registers(instructions: Iterable[Instruction]) -> set[str]:
    """The registers that may hold raw NaNs."""
    raw: set[str] = set()
    copies: list[Instruction] = []
    for instruction in instructions:
        if passes(instruction):
            copies.append(instruction)
        elif instruction.opcode not in ("copy", "call", "trap"):
            form = lookup(instruction)
            if isinstance(form, Form) and is_lazy(form):
                raw.update(definitions(instruction))
    changed = True
    while changed:
        changed = False
        for instruction in copies:
            target = set(definitions(instruction))
            if not target <= raw and any(name in raw for o in instruction.operands[1:] for name in registers_of(o)):
                raw |= target
                changed = True
    return raw
