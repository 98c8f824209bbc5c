"""Which elements of a matrix each lane of a warp holds.

The layouts of `mma.sync` are the manual's. Those of `wmma` are the implementation's to choose: here a wmma fragment
is a row of mma tiles. With g = lane / 4 and t = lane % 4, e elements in a register, and h = M / 8 (1 or 2):

    A (M × K)  register h·(k / 4e) + (row / 8)    lane 4·(row % 8) + k % 4e / e   part k % e
    B (K × 8)  register k / 4e                    lane 4·column + k % 4e / e      part k % e
    C (M × 8)  value 2·(row / 8) + column % 2     lane 4·(row % 8) + column / 2

The float16 form of m8n8k4 is four products by groups of eight lanes (4q to 4q + 3 and 16 more): its matrices stand
below each other here, product q in rows 8q to 8q + 7 of A and C and in columns 8q to 8q + 7 of B.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

LANES = 32
Role = Literal["a", "b", "c"]

# Elements in a register; a register of single bits is one element: the unit that bits are counted in.
PARTS = {
    "f16": 2, "bf16": 2, "tf32": 1, "e4m3": 4, "e5m2": 4, "s8": 4, "u8": 4, "s4": 8, "u4": 8, "b1": 1, "f64": 1,
    "f32": 1, "s32": 1,
}  # fmt: skip
BIT_WORD = 32


@dataclass(frozen=True, slots=True)
class Element:
    """One element that each lane holds: its register, its part of the register, and its place by lane."""

    register: int
    part: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def _element(index: int, parts: int, row: Callable[[int], int], column: Callable[[int], int]) -> Element:
    lanes = range(LANES)
    return Element(index // parts, index % parts, tuple(map(row, lanes)), tuple(map(column, lanes)))


def _group(start: int, scale: int = 1) -> Callable[[int], int]:
    """start + scale·g."""
    return lambda lane: start + scale * (lane // 4)


def _in_group(start: int, scale: int) -> Callable[[int], int]:
    """start + scale·t."""
    return lambda lane: start + scale * (lane % 4)


def depth(k: int, kind: str) -> int:
    """K in elements: bits are counted by words."""
    return k // BIT_WORD if kind == "b1" else k


@cache
def tile(role: Role, m: int, k: int, kind: str) -> tuple[Element, ...]:
    """The fragment of one operand of D = A·B + C, M × 8 × K with M = 8 or 16."""
    parts, halves = PARTS[kind], m // 8
    found = []
    if role == "c":
        for value in range(2 * halves):
            found.append(_element(value, parts, _group(8 * (value // 2)), _in_group(value % 2, 2)))
        return tuple(found)
    steps = halves if role == "a" else 1
    for index in range(depth(k, kind) * steps // 4):
        register, part = divmod(index, parts)
        across = _group(8 * (register % steps))
        along = _in_group(4 * parts * (register // steps) + part, parts)
        found.append(_element(index, parts, across, along) if role == "a" else _element(index, parts, along, across))
    return tuple(found)


@cache
def quad_pairs(role: Role, layout: str, kind: str) -> tuple[Element, ...]:
    """The fragments of the float16 form of m8n8k4; `layout` ('row' or 'col') is that of A or B."""

    def first(lane: int) -> int:
        """The first row or column of the lane's product, in its upper or lower half."""
        return 8 * (lane % 16 // 4) + 4 * (lane // 16)

    def by_lane(lane: int) -> int:
        return first(lane) + lane % 4

    def by_index(i: int) -> Callable[[int], int]:
        return lambda lane: first(lane) + i

    def wide_row(i: int) -> Callable[[int], int]:
        return lambda lane: first(lane) + (lane & 1) + (i & 2)

    def wide_column(i: int) -> Callable[[int], int]:
        return lambda lane: (i & 4) + (lane & 2) + (i & 1)

    if role == "c":
        if kind == "f16":
            return tuple(_element(i, 2, by_lane, _in_group(i, 0)) for i in range(8))
        return tuple(_element(i, 1, wide_row(i), wide_column(i)) for i in range(8))
    found = []
    for i in range(4):
        across, along = (
            (by_lane, _in_group(i, 0)) if (layout == "row") == (role == "a") else (by_index(i), _in_group(0, 1))
        )
        found.append(_element(i, 2, across, along) if role == "a" else _element(i, 2, along, across))
    return tuple(found)


def _moved(tile: Sequence[Element], registers: int, rows: int, columns: int) -> list[Element]:
    return [
        Element(e.register + registers, e.part, tuple(r + rows for r in e.rows), tuple(c + columns for c in e.columns))
        for e in tile
    ]


def register_count(elements: Sequence[Element]) -> int:
    return max(e.register for e in elements) + 1


@dataclass(frozen=True, slots=True)
class Shape:
    """A wmma shape as mma tiles of `m` rows. `swapped`: computed as Dᵀ = Bᵀ·Aᵀ, so that columns become rows."""

    k: int
    a_tiles: int
    b_tiles: int
    m: int = 16
    swapped: bool = False


SHAPES = {
    "m16n16k16": Shape(16, 1, 2),
    "m32n8k16": Shape(16, 2, 1),
    "m8n32k16": Shape(16, 2, 1, swapped=True),
    "m16n16k8": Shape(8, 1, 2),
    "m8n8k4": Shape(4, 1, 1, m=8),
    "m8n8k32": Shape(32, 1, 1, m=8),
    "m8n8k128": Shape(128, 1, 1, m=8),
}


@cache
def fragment(role: Role, shape: str, kind: str) -> tuple[Element, ...]:
    """The elements of a wmma fragment; a float16 operand fragment fills its eight registers by repetition."""
    tiles = SHAPES[shape]
    found: list[Element] = []
    if role == "c":
        one = tile("c", tiles.m, tiles.k, kind)
        for index in range(tiles.a_tiles * tiles.b_tiles):
            down, right = (16 * index, 0) if tiles.a_tiles > 1 else (0, 8 * index)
            found += _moved(one, register_count(one) * index, down, right)
    else:
        as_a = (role == "a") != tiles.swapped
        one = tile("a" if as_a else "b", tiles.m, tiles.k, kind)
        for index in range(tiles.a_tiles if as_a else tiles.b_tiles):
            found += _moved(one, register_count(one) * index, 16 * index * as_a, 8 * index * (not as_a))
    if tiles.swapped:
        found = [Element(e.register, e.part, e.columns, e.rows) for e in found]
    if kind == "f16" and role != "c":
        found = [e for start in range(0, 8, register_count(found)) for e in _moved(found, start, 0, 0)]
    return tuple(found)


def registers_of(role: Role, shape: str, kind: str) -> int:
    """The number of registers of a wmma fragment."""
    return register_count(fragment(role, shape, kind))
