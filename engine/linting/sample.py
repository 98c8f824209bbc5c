"""The threads that a walk speaks of: all of the blocks at the corners of the grid."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Extents = tuple[int, int, int]
_AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Sample:
    """Vectors over the threads: block by block, x fastest in each.

    Behind the `real` blocks come some that the grid does not have: one after its last along each axis. They tell what
    a larger grid would do.
    """

    grid: Extents
    block: Extents
    blocks: tuple[Extents, ...]
    real: int
    thread: tuple[npt.NDArray[np.int64], ...]
    place: tuple[npt.NDArray[np.int64], ...]
    """Of the thread's block in the grid."""

    @property
    def size(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def threads(self) -> int:
        return len(self.blocks) * self.size

    def special(self, name: str) -> int | npt.NDArray[np.int64] | None:
        """A special register such as %tid.x."""
        root, _, axis = name.partition(".")
        index = _AXES.find(axis) if axis else -1
        if index >= 0:
            match root:
                case "%tid":
                    return self.thread[index] if self.block[index] > 1 else 0
                case "%ctaid":
                    return self.place[index]
                case "%ntid":
                    return self.block[index]
                case "%nctaid":
                    return self.grid[index]
        if name == "%laneid":
            return np.arange(self.threads, dtype=np.int64) % self.size % 32
        return None

    def threads_of(self, block: int) -> slice:
        """Where the threads of a block are, by its place among the blocks."""
        return slice(block * self.size, (block + 1) * self.size)

    @property
    def actual(self) -> npt.NDArray[np.bool_]:
        """The threads that the launch has."""
        return np.arange(self.threads) < self.real * self.size

    def beyond(self, axis: int) -> int:
        """The block after the last one along an axis."""
        return self.real + axis

    def at_end(self, axis: int) -> int:
        """The last block along an axis, the first one along the others."""
        wanted = tuple(self.grid[axis] - 1 if other == axis else 0 for other in range(3))
        return self.blocks.index(wanted)

    def differs(self, values: npt.NDArray[np.int64], among: npt.NDArray[np.bool_]) -> bool:
        """Whether threads of one block, of those asked about, have different values."""
        for number in range(self.real):
            here = self.threads_of(number)
            own = values[here][among[here]]
            if own.size and own.min() != own.max():
                return True
        return False

    def name(self, thread: int) -> str:
        """As a person would say where a thread is."""
        place = self.blocks[thread // self.size]
        inside = tuple(int(axis[thread]) for axis in self.thread)
        if max(self.grid[1:]) == 1 and max(self.block[1:]) == 1:
            return f"thread {inside[0]:,} of block {place[0]:,}"
        return f"thread {inside} of block {place}".replace("'", "")


def corners(grid: Extents, block: Extents) -> Sample:
    """The first and the last block along each axis, with all their threads."""
    ends = [sorted({0, extent - 1}) for extent in grid]
    blocks = tuple((x, y, z) for z, y, x in itertools.product(*reversed(ends)))
    real = len(blocks)
    blocks += ((grid[0], 0, 0), (0, grid[1], 0), (0, 0, grid[2]))
    size = block[0] * block[1] * block[2]
    order = np.arange(size, dtype=np.int64)
    inside = (order % block[0], order // block[0] % block[1], order // (block[0] * block[1]))
    thread = tuple(np.tile(axis, len(blocks)) for axis in inside)
    place = tuple(np.repeat(np.array([item[axis] for item in blocks], np.int64), size) for axis in range(3))
    return Sample(grid, block, blocks, real, thread, place)
