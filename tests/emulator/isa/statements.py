"""Instructions as text for rows without vectors: memory, atomics, barriers, fences, hints, products of matrices."""

from __future__ import annotations

import re

from emulator.isa import LLVM_TYPES, Form, Row
from emulator.isa.notation import types_of
from emulator.isa.table import find
from emulator.lowering.matrix import fragment_registers
from emulator.lowering.validate import pattern_of
from emulator.syntax.nodes import Instruction

from .plan import covering, shapes

# What the statements name: addresses in global and shared memory, and registers of every type.
FRAME = (
    ".shared .align 16 .b8 memory[1024]; .reg .b64 %at, %policy, %w<9>; .reg .b32 %x<9>; .reg .b16 %h<9>;"
    " .reg .f32 %f<9>; .reg .f64 %g<9>; .reg .pred %p<9>;"
    " ld.param.u64 %at, [out]; cvta.to.global.u64 %at, %at;"
)
_REGISTER = {"b128": "%q", "f32": "%f", "f64": "%g", "pred": "%p"}
_CONTROL = ("bra", "brx", "call", "ret", "exit", "trap", "brkpt")


def statement(row: Row, modifiers: tuple[str, ...]) -> str | None:
    """The instruction of a spelling, or None where it cannot stand alone (branches, calls)."""
    opcode = row.notation.opcode
    if opcode in _CONTROL or row.notation.positions is not None:
        return None
    instruction = Instruction(opcode, modifiers, (), line=0)
    pattern = pattern_of(instruction)
    if pattern is None:
        return None
    types = types_of(modifiers)
    is_matrix = opcode in ("wmma", "ldmatrix", "stmatrix")
    count = next((int(part[1:]) for part in modifiers if part in ("v2", "v4", "v8")), 1)
    if is_matrix:
        count = fragment_registers(instruction)
    addresses = iter(_addresses(instruction))
    used = iter(range(9))

    def registers(prefix: str, many: int) -> str:
        names = [f"{prefix}{next(used) if many == 1 else index}" for index in range(many)]
        return "{" + ", ".join(names) + "}" if many > 1 or is_matrix else names[0]

    def prefix() -> str:
        kind = types[-1] if types else "b32"
        if is_matrix:
            return _REGISTER.get(kind, "%x")
        size = kind.removesuffix("x2").lstrip("bufs")
        wide = {"64": "%w", "16": "%h", "8": "%h"}.get(size, "%x")
        return _REGISTER.get(kind, "%x" if kind.endswith("x2") else wide)

    operands: list[str] = []
    for kind in re.sub(r".\?", "", pattern):
        if kind == "A":
            operands.append(next(addresses))
        elif kind == "C":
            operands.append("%policy")
        elif kind == "M":
            operands.append("_" if "shared::cluster" in modifiers else "%w8")
        elif kind in "DV":
            operands.append("%x8" if "pending_count" in modifiers else registers(prefix(), count))
        elif kind == "P":
            operands.append("%p8")
        elif kind == "Q":
            in_predicate = "pred" in types or opcode in ("isspacep", "mbarrier")
            operands.append(registers("%p" if in_predicate else "%x", 1))
        elif opcode in ("atom", "cvta", "stackrestore"):
            operands.append(registers(prefix(), 1))
        else:
            operands.append(_amount(instruction, operands))
    text = ".".join((opcode, *modifiers)) + (" " + ", ".join(operands) if operands else "") + ";"
    return ".reg .b128 %q<9>; " + text if "%q" in text else text


def _addresses(instruction: Instruction) -> list[str]:
    """The address operands of an instruction, in their order."""
    spaces = [part.split("::")[0] for part in instruction.modifiers if part.split("::")[0] in ("global", "shared")]
    if instruction.opcode in ("mbarrier", "ldmatrix", "stmatrix"):
        spaces = ["shared"]
    elif instruction.opcode == "cp" and "bulk" not in instruction.modifiers:
        spaces = ["shared", "global"]
    elif instruction.opcode == "st" and {"async", "bulk"} & set(instruction.modifiers):
        spaces = ["shared"]
    elif not spaces:
        spaces = ["global"]
    # Behind the places of a copy stands its mbarrier.
    return [{"global": "[%at]", "shared": "[memory]"}[space] for space in (*spaces, "shared")]


def _amount(instruction: Instruction, before: list[str]) -> str:
    """A constant, or a register where only registers may stand."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in ("bar", "barrier"):
        return "64" if "1" in before or "warp" in modifiers else "1"
    if opcode == "mbarrier":
        of_state = {"pending_count", "test_wait", "try_wait"} & set(modifiers) and "parity" not in modifiers
        return "%w7" if of_state else "1"
    if opcode == "st":
        return "0" if "%w7" in before else "%w7"
    if "cp_mask" in modifiers and len(before) > 2:
        return "%h7"
    return {"discard": "128", "applypriority": "128", "cp": "16", "pmevent": "3"}.get(opcode, "32")


def statements(row: Row) -> list[tuple[tuple[str, ...], str]]:
    """Covering spellings of a row with their text."""
    found = ((spelling, statement(row, spelling)) for spelling in covering(row.notation))
    return [(spelling, text) for spelling, text in found if text is not None]


def product(row: Row, modifiers: tuple[str, ...]) -> str | None:
    """An instruction of the warp with operands of its row, each a register of its own."""
    positions = row.notation.positions or ()
    form = find(row.notation.opcode, modifiers, shapes(row)[0])
    if not isinstance(form, Form):
        return None
    kinds = {True: iter(form.destinations), False: iter(form.sources)}
    declared, operands = [], []
    for number, position in enumerate(positions):
        names = []
        for part in range(len(position.elements)):
            low = LLVM_TYPES[next(kinds[position.destination])]
            names.append(f"%v{number}_{part}")
            declared.append(f".reg .{_WIDTHS[low]} {names[-1]};")
        text = "{" + ", ".join(names) + "}" if position.vector else names[0]
        if position.paired:
            operands[-1] += "|" + text
        else:
            operands.append(text)
    if "sp" in modifiers or "sp::ordered_metadata" in modifiers:
        operands[-1] = "0"
    return " ".join(declared) + " " + ".".join((row.notation.opcode, *modifiers)) + " " + ", ".join(operands) + ";"


_WIDTHS = {"i1": "pred", "i16": "b16", "i32": "b32", "i64": "b64", "float": "f32", "double": "f64"}


def products(row: Row) -> list[str]:
    found = (product(row, spelling) for spelling in covering(row.notation))
    return [text for text in found if text is not None]
