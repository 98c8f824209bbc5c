"""Which elements of a matrix each lane of a warp holds, and where a lane finds the element that it needs.

The layouts of `mma.sync` are the manual's. Those of `wmma` are the implementation's to choose: here a wmma fragment
is a row of mma tiles. With g = lane / 4 and t = lane % 4, and e elements in a 32-bit register:

    A (16 × K)  register 2·(k / 4e) + (row / 8)   lane 4·(row % 8) + k % 4e / e   part k % e
    B (K × 8)   register k / 4e                   lane 4·column + k % 4e / e      part k % e
    C (16 × 8)  value 2·(row / 8) + column % 2    lane 4·(row % 8) + column / 2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LANES = 32
Role = Literal["a", "b", "c"]


@dataclass(frozen=True, slots=True)
class Element:
    """One element that each lane holds: its register, its part of the register, and its place by lane."""

    register: int
    part: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def _a_tile(k: int, parts: int) -> list[Element]:
    found = []
    for register in range(2 * k // (4 * parts)):
        for part in range(parts):
            rows = tuple(lane // 4 + 8 * (register % 2) for lane in range(LANES))
            columns = tuple(lane % 4 * parts + part + 4 * parts * (register // 2) for lane in range(LANES))
            found.append(Element(register, part, rows, columns))
    return found


def _b_tile(k: int, parts: int) -> list[Element]:
    found = []
    for register in range(k // (4 * parts)):
        for part in range(parts):
            rows = tuple(lane % 4 * parts + part + 4 * parts * register for lane in range(LANES))
            found.append(Element(register, part, rows, tuple(lane // 4 for lane in range(LANES))))
    return found


def _c_tile(parts: int) -> list[Element]:
    return [
        Element(
            value // parts,
            value % parts,
            tuple(lane // 4 + 8 * (value // 2) for lane in range(LANES)),
            tuple(lane % 4 * 2 + value % 2 for lane in range(LANES)),
        )
        for value in range(4)
    ]


def _moved(tile: list[Element], registers: int, rows: int, columns: int) -> list[Element]:
    return [
        Element(e.register + registers, e.part, tuple(r + rows for r in e.rows), tuple(c + columns for c in e.columns))
        for e in tile
    ]


def _transposed(tile: list[Element]) -> list[Element]:
    return [Element(e.register, e.part, e.columns, e.rows) for e in tile]


@dataclass(frozen=True, slots=True)
class Shape:
    """A wmma shape as mma tiles. `swapped`: computed as Dᵀ = Bᵀ·Aᵀ, so that 32 columns become the tiles' rows."""

    k: int
    a_tiles: int
    b_tiles: int
    swapped: bool = False


SHAPES = {
    "m16n16k16": Shape(16, 1, 2),
    "m32n8k16": Shape(16, 2, 1),
    "m8n32k16": Shape(16, 2, 1, swapped=True),
    "m16n16k8": Shape(8, 1, 2),
}
PARTS = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}


def fragment(role: Role, shape: str, kind: str) -> tuple[Element, ...]:
    """The elements of a wmma fragment; a float16 operand fragment fills its eight registers by repetition."""
    if shape == "m8n8k4":
        lanes = range(LANES)
        g, t = tuple(lane // 4 for lane in lanes), tuple(lane % 4 for lane in lanes)
        if role == "c":
            return tuple(Element(v, 0, g, tuple(2 * lane_t + v for lane_t in t)) for v in range(2))
        return (Element(0, 0, g, t) if role == "a" else Element(0, 0, t, g),)
    tiles = SHAPES[shape]
    if role == "c":
        parts = 2 if kind == "f16" else 1
        found: list[Element] = []
        for index in range(2):
            down = tiles.a_tiles == 2
            found += _moved(_c_tile(parts), 4 // parts * index, 16 * index * down, 8 * index * (not down))
    elif (role == "a") != tiles.swapped:
        registers = 2 * tiles.k // (4 * PARTS[kind])
        found = [
            e for i in range(tiles.a_tiles) for e in _moved(_a_tile(tiles.k, PARTS[kind]), registers * i, 16 * i, 0)
        ]
    else:
        registers = tiles.k // (4 * PARTS[kind])
        found = [
            e for i in range(tiles.b_tiles) for e in _moved(_b_tile(tiles.k, PARTS[kind]), registers * i, 0, 8 * i)
        ]
    if tiles.swapped:
        found = _transposed(found)
    if kind == "f16" and role != "c":
        used = max(e.register for e in found) + 1
        found = [e for start in range(0, 8, used) for e in _moved(found, start, 0, 0)]
    return tuple(found)


def registers_of(role: Role, shape: str, kind: str) -> int:
    """The number of registers of a wmma fragment."""
    return max(e.register for e in fragment(role, shape, kind)) + 1
