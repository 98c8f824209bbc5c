"""What a memory instruction accesses, and how the addresses of its lanes lie to each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from emulator.analysis.rules import REGISTER_TYPES
from emulator.analysis.shapes import Scalar, Shape
from emulator.lowering import abi
from emulator.syntax.nodes import TYPE_SIZES, Instruction

_SPACES = ("global", "shared", "local", "const", "param")
_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
# A window wider than this many bytes costs more than gathering the lanes.
_WIDEST_WINDOW = 512
_MOST_GROUPS = 4
# Places farther apart than this many bytes are read apart where there are few of them.
_WIDEST_GAP = 32


@dataclass(frozen=True, slots=True)
class Access:
    """One access of each lane: `count` elements of `type` (a PTX type), `size` bytes, naturally aligned."""

    space: str
    type: str
    count: int
    is_strong: bool

    @property
    def element(self) -> int:
        return TYPE_SIZES[self.type]

    @property
    def size(self) -> int:
        return self.element * self.count

    @property
    def llvm_type(self) -> str:
        return "i8" if self.element == 1 else REGISTER_TYPES[self.type]

    @property
    def signed(self) -> bool:
        return self.type[0] == "s"

    @property
    def shift(self) -> int:
        return self.size.bit_length() - 1

    @property
    def space_code(self) -> int:
        return abi.SPACE_CODES["const" if self.space == "param" else self.space]


def space_of(instruction: Instruction) -> str:
    """The state space that an instruction names, or 'generic'."""
    roots = (modifier.split("::")[0] for modifier in instruction.modifiers)
    return next((root for root in roots if root in _SPACES), "generic")


def access_of(instruction: Instruction) -> Access:
    count = next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)
    strong = not _STRONG.isdisjoint(instruction.modifiers)
    return Access(space_of(instruction), instruction.types[-1], count, strong)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of memory that holds the elements of some lanes: `index[lane]` in accesses from `low` bytes on.

    Lanes that belong to another group have the index −1. `factor` multiplies the step to give the base.
    """

    low: int
    length: int
    index: tuple[int, ...]
    factor: int = 0

    @property
    def is_contiguous(self) -> bool:
        """Whether lane l has element l."""
        return self.index == tuple(range(len(self.index)))


def window_of(offsets: tuple[int | None, ...], size: int, factor: int = 0) -> Window | None:
    """The window over the lanes' byte offsets (None: not of this group), or None where it would be too wide."""
    present = [offset for offset in offsets if offset is not None]
    low = min(present)
    if any((offset - low) % size for offset in present):
        return None
    length = (max(present) - low) // size + 1
    if length > 1 and length * size > _WIDEST_WINDOW:
        return None
    return Window(low, length, tuple(-1 if o is None else (o - low) // size for o in offsets), factor)


@dataclass(frozen=True, slots=True)
class Layout:
    """An address split into a scalar base, byte offsets of the lanes, and a run-time step along an axis."""

    base: Scalar  # 64 bits
    offsets: tuple[int, ...]
    step: Scalar  # 64 bits, in bytes
    axis: tuple[int, ...] | None


def windows_of(layout: Layout, size: int) -> list[Window] | None:
    """Windows that together hold all lanes, or None where lanes must be accessed one by one."""
    if layout.axis is None:
        return _clusters(layout.offsets, size)
    groups = sorted(set(layout.axis))
    if len(groups) > _MOST_GROUPS:
        return None
    windows: list[Window] = []
    for group in groups:
        offsets = tuple(
            offset if value == group else None for offset, value in zip(layout.offsets, layout.axis, strict=True)
        )
        window = window_of(offsets, size, group)
        if window is None:
            return None
        windows.append(window)
    return windows


def _clusters(offsets: tuple[int, ...], size: int) -> list[Window] | None:
    """One window for each cluster of offsets; lanes of few far places get a window each, such as rows of a tile."""
    places = sorted(set(offsets))
    starts = [places[0]] + [b for a, b in pairwise(places) if b - a > _WIDEST_GAP + size]
    if len(starts) > _MOST_GROUPS:
        window = window_of(offsets, size)
        return None if window is None else [window]
    windows: list[Window] = []
    for start, end in zip(starts, [*starts[1:], places[-1] + 1], strict=True):
        window = window_of(tuple(offset if start <= offset < end else None for offset in offsets), size)
        if window is None:
            return None
        windows.append(window)
    return windows


def extremes(shape: Shape) -> tuple[int, int]:
    """The least and greatest of the pattern."""
    return min(shape.pattern), max(shape.pattern)
