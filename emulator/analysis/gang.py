"""How the threads of a block lie in the lanes of its gangs, for one block shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from emulator.analysis.shapes import trailing_zeros

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class AxisLayout:
    """One coordinate of threadIdx over all gangs: base[gang] + pattern[lane], or None where no pattern holds."""

    bases: tuple[int, ...]
    pattern: tuple[int, ...] | None

    @property
    def align(self) -> int:
        return min(trailing_zeros(base) for base in self.bases)


@dataclass(frozen=True, slots=True)
class Gang:
    """A block of `block` threads cut into gangs of `width` consecutive threads (x fastest).

    `by_rows`: no gang holds threads of two rows, so the last gang of a row may be short.
    """

    block: Dim3
    width: int = 32
    by_rows: bool = False

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def count(self) -> int:
        return len(self.starts)

    @property
    def starts(self) -> tuple[int, ...]:
        """The first thread of each gang."""
        row = self.block[0] if self.by_rows else self.threads
        return tuple(first for start in range(0, self.threads, row) for first in range(start, start + row, self.width))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many threads each gang has."""
        row = self.block[0] if self.by_rows else self.threads
        return tuple(min(self.width, row - first % row) for first in self.starts)

    def coordinate(self, axis: int, thread: int) -> int:
        stride = 1
        for lower in range(axis):
            stride *= self.block[lower]
        return thread // stride % self.block[axis]

    def layout(self, axis: int) -> AxisLayout:
        """How a coordinate lies."""
        return _layout(self, axis)

    def _layout_of(self, axis: int) -> AxisLayout:
        """Lanes behind the last thread continue the pattern: they are never active."""
        bases: list[int] = []
        pattern: tuple[int, ...] | None = None
        holds = True
        for first, size in zip(self.starts, self.sizes, strict=True):
            base = self.coordinate(axis, first)
            bases.append(base)
            here = tuple(self.coordinate(axis, first + lane) - base for lane in range(size))
            if pattern is None:
                pattern = here
            elif pattern[: len(here)] != here:
                holds = False
        assert pattern is not None
        if len(pattern) < self.width:
            # One short gang: extend the last step.
            delta = pattern[-1] - pattern[-2] if len(pattern) > 1 else 0
            extra = [pattern[-1] + delta * (index + 1) for index in range(self.width - len(pattern))]
            pattern += tuple(extra)
        return AxisLayout(tuple(bases), pattern if holds else None)


@lru_cache(maxsize=64)
def _layout(gang: Gang, axis: int) -> AxisLayout:
    return gang._layout_of(axis)
