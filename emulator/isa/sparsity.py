"""Which element of a sparse row each stored element of A is: the metadata of `mma.sp`.

Of every chunk of four elements of a row two are stored (of float words one in two, of half bytes two pairs in four),
and a nibble of the metadata says which: two indices of two bits. A quad of lanes (4g to 4g + 3) holds the nibbles of
rows g and g + 8 in one, two or four of its lanes, of which the selector says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.isa.builder import Value
from emulator.isa.fragments import LANES, PARTS, Element
from emulator.isa.lanes import Lanes

# Nibbles that the manual allows: both indices, the lower first; of one float word in two its halves.
NIBBLES = {"tf32": (0b0100, 0b1110)}
PAIRS = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110)


@dataclass(frozen=True, slots=True)
class Sparsity:
    """The kind and K of a sparse A, and the selector of the lanes that hold its metadata."""

    kind: str
    k: int
    selector: int

    @property
    def stored(self) -> int:
        """Stored elements that one nibble places."""
        return {"tf32": 1, "s4": 4, "u4": 4}.get(self.kind, 2)

    @property
    def selectors(self) -> int:
        """How many selectors there are: the quad's lanes by those that hold the metadata of one row pair."""
        return max(1, 16 // (self.k // (2 * self.stored)))

    def holder(self, half: int, chunk: int) -> tuple[int, int]:
        """(lane of the quad, first bit) of the nibble of a chunk of row g + 8·half."""
        chunks = self.k // (2 * self.stored)
        if PARTS[self.kind] > 2:
            return (2 * (self.selector if chunks <= 8 else chunk // 8) + half, 4 * (chunk % 8))
        return (self.selector if chunks <= 4 else 2 * self.selector + chunk // 4), 16 * half + 4 * (chunk % 4)

    def columns(self, x: Lanes, fragment: Sequence[Element], metadata: Value) -> list[Value]:
        """The column (i32) of each stored element of each lane, in the order of the fragment."""
        found = []
        for element in fragment:
            lanes, shifts, bases = [], [], []
            for lane in range(LANES):
                row, column = element.rows[lane], element.columns[lane]
                chunk, inside = divmod(column, self.stored)
                thread, first = self.holder(row // 8, chunk)
                lanes.append(row % 8 * 4 + thread)
                index, low = (inside // 2, inside % 2) if self.stored == 4 else (inside, 0)
                shifts.append(first + 2 * index)
                bases.append(2 * self.stored * chunk + low)
            nibbles = x.lshr(x.shuffle(x.splat(metadata), lanes), x.lane_constants("i32", shifts))
            place = x.and_(nibbles, x.const("i32", 3))
            if self.stored == 4:
                place = x.shl(place, x.const("i32", 1))
            elif self.stored == 1:
                place = x.lshr(place, x.const("i32", 1))
            found.append(x.add(place, x.lane_constants("i32", bases)))
        return found
