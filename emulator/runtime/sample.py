"""Profiles single blocks of a launch, so that what a whole grid would do can be told from a few of them."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from emulator.instruments.profiling import ATOMIC, READ, WRITTEN, Profiling
from emulator.lowering import abi
from emulator.runtime.arena import Memory
from emulator.runtime.launch import check_arguments, prepare
from emulator.runtime.team import Team
from emulator.runtime.tiers import LaunchError, Loaded

Dim3 = tuple[int, int, int]
SECTOR = 32
"""Bytes of global memory that one transaction moves."""
Sectors = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BlockProfile:
    """What one block did. Sectors are numbers of those it touched in the run's memory, ascending, each once."""

    index: int
    counters: Mapping[str, int]
    read: Sectors
    written: Sectors
    atomic: Sectors


class Sampler:
    """A launch whose blocks run one by one, in any order, each on the memory as the one before has left it."""

    def __init__(
        self, loaded: Loaded, memory: Memory, grid: Dim3, arguments: Sequence[bytes], dynamic_shared_bytes: int = 0
    ) -> None:
        """LaunchError where blocks cannot run alone, or the code was made without the instrument."""
        entry = loaded.entry
        if entry.instruments != (Profiling.name,):
            raise LaunchError(f"the code of '{entry.name}' does not profile")
        if entry.waits_for_blocks or entry.cluster is not None:
            raise LaunchError(f"blocks of '{entry.name}' wait for each other, so that none can run alone")
        check_arguments(entry, arguments)
        self._arguments = arguments
        self._team = Team()
        self._memory = memory
        self._prepared = prepare(loaded, memory, grid, self._team, dynamic_shared_bytes, threads=1)
        self._blocks = grid[0] * grid[1] * grid[2]
        first = memory.base // SECTOR
        count = -(-(memory.base + len(memory.mapping)) // SECTOR) - first
        self._map = mmap.mmap(-1, -(-count // 8) * 8)
        self._words = np.frombuffer(self._map, np.uint64)
        self._kinds = np.frombuffer(self._map, np.uint8)
        context = self._prepared.workspace.context
        context.put(abi.CONTEXT_TOUCHED, "<Q", ctypes.addressof(ctypes.c_char.from_buffer(self._map)))
        context.put(abi.CONTEXT_TOUCHED_FROM, "<Q", first * SECTOR)
        context.put(abi.CONTEXT_TOUCHED_SECTORS, "<Q", count)
        self._before: dict[str, int] = {}

    def block(self, index: int, deadline_seconds: float) -> BlockProfile | None:
        """Runs one block, by its linear index (x fastest). None where it ended with a fault or took too long."""
        if not 0 <= index < self._blocks:
            raise LaunchError(f"there is no block {index} among {self._blocks}")
        outcome = self._prepared.run(self._arguments, deadline_seconds, only=range(index, index + 1))
        if not outcome.finished:
            return None
        before, self._before = self._before, dict(outcome.counters)
        read, written, atomic = self._touched()
        counters = {name: value - before.get(name, 0) for name, value in outcome.counters.items()}
        return BlockProfile(index, counters, read, written, atomic)

    def _touched(self) -> tuple[Sectors, Sectors, Sectors]:
        """Sectors by kind of access; the map is empty afterwards."""
        words = np.flatnonzero(self._words)
        places: npt.NDArray[Any] = (words[:, None] * 8 + np.arange(8)).reshape(-1)
        places = places[self._kinds[places] != 0]
        kinds = self._kinds[places]
        self._words[words] = 0
        return places[kinds & READ != 0], places[kinds & WRITTEN != 0], places[kinds & ATOMIC != 0]

    def close(self) -> None:
        """Ends the threads."""
        self._team.close()
