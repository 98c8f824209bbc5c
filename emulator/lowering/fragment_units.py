"""A wmma fragment as it lies in memory: units of at most a register, on lines that are a stride apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from emulator.isa.fragments import BIT_WORD, PARTS, Element, Role, fragment

# Bits of an element in memory.
ELEMENT_BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unit:
    """One access of each lane: `bits` of a register from bit `shift` on, at place (in units) of line, by lane."""

    register: int
    shift: int
    bits: int
    lines: tuple[int, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a fragment, all of one size, and the extents of its matrix in memory."""

    units: tuple[Unit, ...]
    element_bits: int

    @property
    def bits(self) -> int:
        return self.units[0].bits

    @property
    def lines(self) -> int:
        return 1 + max(max(unit.lines) for unit in self.units)

    @property
    def length(self) -> int:
        """Units in a line."""
        return 1 + max(max(unit.places) for unit in self.units)

    @property
    def stride(self) -> int:
        """Elements from line to line where the instruction names none."""
        return self.length * self.bits // self.element_bits


@cache
def units_of(role: Role, shape: str, kind: str, by_row: bool) -> Units:
    """`by_row`: whether the lines in memory are rows."""
    registers: dict[int, list[Element]] = {}
    for element in fragment(role, shape, kind):
        registers.setdefault(element.register, []).append(element)
    parts, bits = PARTS[kind], ELEMENT_BITS[kind]
    size = BIT_WORD if kind == "b1" else bits
    found: list[Unit] = []
    for register, elements in registers.items():
        spots = [(e.rows, e.columns) if by_row else (e.columns, e.rows) for e in elements]
        if parts > 1 and _are_neighbours(spots):
            lines, places = spots[0]
            found.append(Unit(register, 0, size * parts, lines, tuple(place // parts for place in places)))
        else:
            found += [Unit(register, size * e.part, size, *spot) for e, spot in zip(elements, spots, strict=True)]
    return Units(tuple(found), bits)


def _are_neighbours(spots: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> bool:
    """Whether a register's parts stand in one line, one behind the other."""
    (lines, places), *others = spots
    return all(
        other == lines and spot == tuple(place + index for place in places)
        for index, (other, spot) in enumerate(others, 1)
    )


@dataclass(frozen=True, slots=True)
class Block:
    """A rectangle of a fragment in memory that holds all lanes of a unit: `count` units from `first` on its lines."""

    lines: tuple[int, ...]
    first: int
    count: int

    def index(self, unit: Unit) -> list[int]:
        """For each lane the position in the lines laid one behind the other."""
        start = {line: n * self.count for n, line in enumerate(self.lines)}
        return [start[line] + place - self.first for line, place in zip(unit.lines, unit.places, strict=True)]


def blocks_of(units: Sequence[Unit]) -> list[Block]:
    """A block for each unit; units whose places alternate on the same lines share one."""
    found: list[Block] = []
    for unit in units:
        lines = tuple(sorted(set(unit.lines)))
        first, last = min(unit.places), max(unit.places)
        for other in units:
            low, high = min(other.places), max(other.places)
            if tuple(sorted(set(other.lines))) == lines and low <= last and first <= high:
                first, last = min(first, low), max(last, high)
        found.append(Block(lines, first, last - first + 1))
    return found


def runs_of_line(units: Sequence[Unit], line: int, length: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """How a line is made from units: runs of at most eight places (first place, (unit, lane) of each)."""
    holder = {
        place: (index, lane)
        for index, unit in enumerate(units)
        for lane, (own, place) in enumerate(zip(unit.lines, unit.places, strict=True))
        if own == line
    }
    return [(first, [holder[place] for place in range(first, min(first + 8, length))]) for first in range(0, length, 8)]
