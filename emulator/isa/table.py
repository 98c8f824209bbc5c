"""Finds the row of an instruction, or says what of its opcode is supported."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from emulator.isa.atomics import atomic_of
from emulator.isa.form import Form, Row
from emulator.isa.notation import Position, element_type
from emulator.isa.refused import refusal_of
from emulator.isa.rows import ROWS
from emulator.syntax.nodes import Instruction, Operand, PairOperand, Problem, VectorOperand

# The shape of one operand: 0 for a plain one, n for a vector of n, −1 for `p|q`.
Shape = tuple[int, ...]

_MANY = 6  # forms that a refusal lists
_LONG = 120  # characters of a form there

_BY_OPCODE: dict[str, tuple[Row, ...]] = {}
_grouped: dict[str, list[Row]] = defaultdict(list)
for _row in ROWS:
    _grouped[_row.notation.opcode].append(_row)
_BY_OPCODE.update({opcode: tuple(rows) for opcode, rows in _grouped.items()})


def lookup(instruction: Instruction) -> Form | Problem:
    """The form of an instruction, or a problem that names the form and what of its opcode is supported."""
    form = find(instruction.opcode, instruction.modifiers, tuple(_shape(o) for o in instruction.operands))
    if isinstance(form, Form):
        return form
    refusal = refusal_of(instruction.opcode, instruction.modifiers)
    if refusal is not None:
        message, help = f"{instruction.form} is not supported: {refusal.reason}", refusal.instead
    elif form:
        message, help = f"{instruction.form} is not supported", form
    else:
        message, help = f"the instruction '{instruction.opcode}' is not supported", ""
    return Problem(message, instruction.line, instruction.location, instruction.form, help or None)


def supported(opcode: str) -> tuple[str, ...]:
    """The forms of an opcode in the manual's notation."""
    return tuple(row.notation.text for row in _BY_OPCODE.get(opcode, ()))


def rows() -> tuple[Row, ...]:
    """All rows, in the order of the manual."""
    return ROWS


@lru_cache(maxsize=4096)
def find(opcode: str, modifiers: tuple[str, ...], shape: Shape) -> Form | str:
    """The form with these modifiers and operand shape, or a text that says what is supported ('' = nothing)."""
    rows = _BY_OPCODE.get(opcode, ())
    reasons = []
    for row in rows:
        if not row.notation.match(modifiers):
            continue
        name = ".".join((opcode, *modifiers))
        positions = row.notation.positions
        if positions is None:
            return Form(name, row, modifiers, (), (), atomic_of(opcode, modifiers))
        present = fit(positions, shape)
        if present is None:
            reasons.append(row.notation.text)
            continue
        destinations = _types(present, modifiers, True) + (("cc",) if row.carry_out else ())
        sources = _types(present, modifiers, False) + (("cc",) if row.carry_in else ())
        return Form(name, row, modifiers, destinations, sources, atomic_of(opcode, modifiers))
    if reasons:
        return "its operands are: " + " or ".join(reasons)
    return _choice(opcode, rows, modifiers) if rows else ""


def _choice(opcode: str, rows: tuple[Row, ...], modifiers: tuple[str, ...]) -> str:
    """What is supported; of an opcode with many forms those that have most in common with the modifiers."""
    nearest = sorted(rows, key=lambda row: -row.notation.common(modifiers)) if len(rows) > _MANY else rows
    text = "supported: " + "; ".join(_short(row.notation.text) for row in nearest[:_MANY])
    rest = len(rows) - _MANY
    return f"{text}; and {rest} more forms of {opcode}" if rest > 0 else text


def _short(form: str) -> str:
    """The form without its operands where these are many."""
    return form if len(form) <= _LONG else form.partition(" ")[0] + " …"


def _shape(operand: Operand) -> int:
    if isinstance(operand, VectorOperand):
        return len(operand.elements)
    return -1 if isinstance(operand, PairOperand) else 0


def _types(positions: tuple[Position, ...], modifiers: tuple[str, ...], destination: bool) -> tuple[str, ...]:
    return tuple(
        element_type(annotation, modifiers, destination)
        for position in positions
        if position.destination == destination
        for annotation in position.elements
    )


def fit(positions: tuple[Position, ...], shape: Shape) -> tuple[Position, ...] | None:
    """The positions that the operands fill, or None where they do not fit."""
    present: list[Position] = []
    operands = list(shape)
    spare = len(shape) - sum(not (position.optional or position.paired) for position in positions)
    for position in positions:
        if position.paired:
            # The instruction wrote `d|p` or `d` for the operand before.
            if present and operands and operands[0] == -1:
                operands.pop(0)
                present.append(position)
            elif not position.optional:
                return None
            else:
                operands.pop(0)
            continue
        if position.optional:
            if spare <= 0:
                continue
            spare -= 1
        if not operands:
            return None
        present.append(position)
        follower = positions.index(position) + 1
        if follower < len(positions) and positions[follower].paired:
            if operands[0] > 0:
                return None
            continue  # taken off together with its pair
        if operands.pop(0) != (len(position.elements) if position.vector else 0):
            return None
    return tuple(present) if not operands else None
