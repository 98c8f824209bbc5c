"""Runs blocks of a launch one by one, and tells where the lanes of a warp went and how many blocks kept busy."""

from __future__ import annotations

import ctypes
import mmap
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from emulator.instruments.tracing import Tracing
from emulator.lowering import abi
from emulator.lowering.sites import Site
from emulator.runtime.arena import Memory
from emulator.runtime.launch import check_arguments, prepare
from emulator.runtime.team import Team
from emulator.runtime.tiers import LaunchError, Loaded

Dim3 = tuple[int, int, int]
_RECORD = struct.Struct("<QII32Q")


@dataclass(frozen=True, slots=True)
class TracedAccess:
    """One instruction of the warp: the first of its `times` executions. Bit l of `mask`: lane l is active."""

    site: Site
    times: int
    mask: int
    size: int
    """Bytes a lane."""
    addresses: tuple[int, ...]
    """Of all 32 lanes; those of idle ones mean nothing."""


class Tracer:
    """A launch whose blocks run one by one, each on the memory as the one before has left it."""

    def __init__(
        self, loaded: Loaded, memory: Memory, grid: Dim3, arguments: Sequence[bytes], dynamic_shared_bytes: int = 0
    ) -> None:
        """LaunchError where blocks cannot run alone, or the code was made without the instrument."""
        entry = loaded.entry
        if entry.instruments != (Tracing.name,):
            raise LaunchError(f"the code of '{entry.name}' does not trace")
        if entry.waits_for_blocks or entry.cluster is not None:
            raise LaunchError(f"blocks of '{entry.name}' wait for each other, so that none can run alone")
        check_arguments(entry, arguments)
        self._arguments = arguments
        self._sites = entry.sites
        self._team = Team()
        self._prepared = prepare(loaded, memory, grid, self._team, dynamic_shared_bytes, threads=1)
        self._table = mmap.mmap(-1, max(1, len(entry.sites)) * abi.TRACE_BYTES)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._table))
        self._prepared.workspace.context.put(abi.CONTEXT_TRACE, "<Q", address)
        self._before: Mapping[str, int] = {}

    def warp(self, block: int, warp: int, deadline_seconds: float) -> list[TracedAccess] | None:
        """Runs a block, by its linear index (x fastest). None where it ended with a fault or took too long.

        Accesses are in the order of the code.
        """
        self._table[:] = bytes(len(self._table))
        if self._run(block, warp, deadline_seconds) is None:
            return None
        found = []
        for index, site in enumerate(self._sites):
            times, mask, size, *addresses = _RECORD.unpack_from(self._table, index * abi.TRACE_BYTES)
            if times:
                found.append(TracedAccess(site, times, mask, size, tuple(addresses)))
        return found

    def lanes(self, blocks: Iterable[int], budget_seconds: float) -> dict[int, tuple[int, int]]:
        """Warp instructions of each block, and the lanes that were active in them together; until the time is up."""
        begin, found = time.perf_counter(), {}
        for block in blocks:
            left = budget_seconds - (time.perf_counter() - begin)
            counted = self._run(block, -1, left) if left > 0 else None
            if counted is None:
                break
            found[block] = counted["instructions"], counted["thread_instructions"]
        return found

    def _run(self, block: int, warp: int, deadline_seconds: float) -> dict[str, int] | None:
        """What the block counted; None where it did not come to its end."""
        self._prepared.workspace.context.put(abi.CONTEXT_TRACED_WARP, "<i", warp)
        outcome = self._prepared.run(self._arguments, deadline_seconds, only=range(block, block + 1))
        before, self._before = self._before, dict(outcome.counters)
        if not outcome.finished:
            return None
        return {name: value - before.get(name, 0) for name, value in outcome.counters.items()}

    def close(self) -> None:
        """Ends the threads."""
        self._team.close()
