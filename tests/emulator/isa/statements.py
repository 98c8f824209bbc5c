"""Instructions as text for rows without vectors: memory, atomics, barriers, fences, hints, products of matrices."""

from __future__ import annotations

import re

from emulator.isa import LLVM_TYPES, Form, Row
from emulator.isa.notation import types_of
from emulator.isa.table import find
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
    pattern = pattern_of(Instruction(opcode, modifiers, (), line=0))
    if pattern is None:
        return None
    types = types_of(modifiers)
    count = next((int(part[1:]) for part in modifiers if part in ("v2", "v4", "v8")), 1)
    shared = any(part.startswith("shared") for part in modifiers)
    used = iter(range(9))

    def registers(prefix: str, many: int) -> str:
        names = [f"{prefix}{next(used) if many == 1 else index}" for index in range(many)]
        return names[0] if many == 1 else "{" + ", ".join(names) + "}"

    def prefix() -> str:
        kind = types[-1] if types else "b32"
        size = kind.removesuffix("x2").lstrip("bufs")
        wide = {"64": "%w", "16": "%h", "8": "%h"}.get(size, "%x")
        return _REGISTER.get(kind, "%x" if kind.endswith("x2") else wide)

    operands: list[str] = []
    for kind in re.sub(r".\?", "", pattern):
        if kind == "A":
            copied = opcode == "cp" and operands  # the source of a copy to shared memory
            operands.append("[memory]" if shared and not copied else "[%at]")
        elif kind == "C":
            operands.append("%policy")
        elif kind in "DV":
            operands.append(registers(prefix(), count))
        elif kind == "P":
            operands.append("%p8")
        elif kind == "Q":
            operands.append(registers("%p" if "pred" in types or opcode == "isspacep" else "%x", 1))
        elif opcode in ("atom", "cvta"):
            operands.append(registers(prefix(), 1))
        elif opcode in ("bar", "barrier"):
            operands.append("64" if "1" in operands or "warp" in modifiers else "1")
        else:
            operands.append({"discard": "128", "applypriority": "128", "cp": "16", "pmevent": "3"}.get(opcode, "32"))
    text = ".".join((opcode, *modifiers)) + (" " + ", ".join(operands) if operands else "") + ";"
    return ".reg .b128 %q<9>; " + text if "%q" in text else text


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
