"""Reads a row's form, written as the PTX manual writes it, and matches instructions against it.

    add{.(rn|rz|rm|rp)}{.ftz}{.sat}.f32   d, a, b
    cvt.rn.(f32|f64).(s32|u32)            d, a
    mov.b32                               d, {a:b16, b:b16}

`.x` is required, `.(x|y)` one of several, `{.x}` and `{.(x|y)}` optional. An operand has the instruction's type
(a destination the first type, a source the last) unless `name:type` says otherwise; `:D` is the first type and
`:2T` the type of twice the width. `{a, b}` is a vector operand, `d|p` a destination with a second one, and `name?`
may be absent.
Destinations are those operands whose names begin with d, p or q, before the first other one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

TYPES = frozenset(
    [
        "pred",
        "b8",
        "b16",
        "b32",
        "b64",
        "b128",
        "u8",
        "u16",
        "u32",
        "u64",
        "s8",
        "s16",
        "s32",
        "s64",
        "f16",
        "f16x2",
        "bf16",
        "bf16x2",
        "tf32",
        "f32",
        "f64",
        "f32x2",
        "u16x2",
        "s16x2",
        "e4m3x2",
        "e5m2x2",
        "e2m1x2",
        "e2m3x2",
        "e3m2x2",
        "ue8m0x2",
        "e4m3",
        "e5m2",
        "s4",
        "u4",
        "b1",
    ]
)
# What must stand in the order of the form.
_ORDERED = TYPES | {"row", "col"}
_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
_PART = re.compile(r"\{\.(?:\(([^)]+)\)|([\w:]+))\}|\.(?:\(([^)]+)\)|([\w:]+))")


@dataclass(frozen=True, slots=True)
class Slot:
    """One dot-separated part of a form: what may stand there, and whether it must."""

    choices: tuple[str, ...]
    optional: bool


@dataclass(frozen=True, slots=True)
class Position:
    """One operand: the types of its elements (one unless it is a vector), and whether it may be absent."""

    elements: tuple[str, ...]
    destination: bool
    vector: bool = False
    optional: bool = False
    paired: bool = False  # the second of `d|p`


@dataclass(frozen=True, slots=True)
class Notation:
    """A parsed form."""

    text: str
    opcode: str
    slots: tuple[Slot, ...]
    positions: tuple[Position, ...] | None  # None: operands are checked by whoever lowers the instruction

    def match(self, modifiers: tuple[str, ...]) -> bool:
        """Whether the modifiers, in any order save that of types and layouts, fill the slots."""
        filled = [False] * len(self.slots)
        last_type = -1
        for modifier in modifiers:
            start = last_type + 1 if modifier in _ORDERED else 0
            for index in range(start, len(self.slots)):
                if not filled[index] and modifier in self.slots[index].choices:
                    filled[index] = True
                    last_type = index if modifier in _ORDERED else last_type
                    break
            else:
                return False
        return all(slot.optional or full for slot, full in zip(self.slots, filled, strict=True))

    def common(self, modifiers: tuple[str, ...]) -> int:
        """How much of the modifiers stands in this form too; types and shapes, all with numbers, count twice."""
        free = list(self.slots)
        found = 0
        for modifier in modifiers:
            slot = next((slot for slot in free if modifier in slot.choices), None)
            if slot is not None:
                free.remove(slot)
                found += 2 if any(character.isdigit() for character in modifier) else 1
        return found

    def spellings(self) -> list[tuple[str, ...]]:
        """Every modifier list of this form."""
        options = [((None,) if slot.optional else ()) + slot.choices for slot in self.slots]
        return [tuple(part for part in chosen if part is not None) for chosen in product(*options)]


def types_of(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for part in modifiers if part in TYPES)


def element_type(annotation: str, modifiers: tuple[str, ...], destination: bool) -> str:
    """The PTX type of an operand annotated with a type, 'T' (the instruction's), 'D' (its first) or '2T'."""
    if annotation not in ("T", "2T", "D"):
        return annotation
    types = types_of(modifiers)
    if not types:
        raise ValueError(f"a form without a type has an operand of the instruction's type: {modifiers}")
    base = types[0] if destination or annotation == "D" else types[-1]
    return _WIDE[base] if annotation == "2T" else base


def parse_notation(text: str) -> Notation:
    head, _, operands = text.partition(" ")
    opcode = head.split(".")[0].split("{")[0]
    slots = []
    end = len(opcode)
    for part in _PART.finditer(head):
        if part.start() != end:
            raise ValueError(f"cannot read the form '{text}'")
        end = part.end()
        optional_many, optional_one, many, one = part.groups()
        choices = tuple((optional_many or many or optional_one or one).split("|"))
        slots.append(Slot(choices, bool(optional_many or optional_one)))
    if end != len(head):
        raise ValueError(f"cannot read the form '{text}'")
    operands = operands.strip()
    positions = None if operands == "…" else _parse_operands(operands)
    return Notation(f"{head} {operands}".rstrip(), opcode, tuple(slots), positions)


def _parse_operands(text: str) -> tuple[Position, ...]:
    positions: list[Position] = []
    destination = True
    for part in re.findall(r"\{[^}]*\}\??|[^,{}]+", text):
        word = part.strip()
        if not word:
            continue
        optional = word.endswith("?")
        word = word.removesuffix("?")
        vector = word.startswith("{")
        names = [name.strip() for name in word.strip("{}").split(",")] if vector else [word]
        destination = destination and names[0][0] in "dpq"
        if "|" in word:
            first, second = word.split("|")
            positions.append(Position((_annotation(first),), True))
            positions.append(Position((_annotation(second),), True, optional=optional, paired=True))
            continue
        positions.append(Position(tuple(_annotation(n) for n in names), destination, vector, optional))
    return tuple(positions)


def _annotation(name: str) -> str:
    return name.partition(":")[2] or "T"
