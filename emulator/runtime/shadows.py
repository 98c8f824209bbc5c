"""The memory of the checks of one launch: cells that shadow memory, and what has been found."""

from __future__ import annotations

import struct

from emulator.analysis.flat import SHARED_TAG
from emulator.instruments.checking import WHOLE_WARP
from emulator.lowering import abi
from emulator.lowering.sites import Site
from emulator.runtime.arena import Memory
from emulator.runtime.compiled import CompiledEntry
from emulator.runtime.faults import BufferRelation, Dim3, Fault, coordinates, relate, shared_place
from emulator.runtime.workspace import Region, Workspace

SHARED_CELL = 32
"""Bytes of the cell of one byte of shared memory."""
COPY_COUNTERS = 8 * 1024
"""Bytes, behind the cells, of the counts of each thread's groups of copies: closed and finished ones."""
_BUFFER_CELL, _ENTRY = 16, 32
# Races on buffers are looked for where all of them together have at most so many bytes.
_MOST_CHECKED = 4 << 20
_MESSAGES = {
    "race": "two threads use this place without a barrier between them, and one of them writes",
    "copy-in-flight": "this place is used before the asynchronous copy to it has been waited for",
    "uninitialised": "this place is read before anything was written there",
    "divergent-barrier": "only some of the warp's threads reach this barrier while others run elsewhere",
    "barrier-after-exit": "some of the warp's threads had ended before this barrier",
    "absent-lanes": "the mask names threads that do not take part",
}


class Shadows:
    def __init__(self, workspace: Workspace, memory: Memory, entry: CompiledEntry) -> None:
        context = workspace.context
        self.list = Region(16 + abi.MOST_FINDINGS * abi.FINDING_BYTES)
        self._found = Region(abi.MOST_KINDS * max(1, len(entry.sites)))
        self._kept: list[Region] = []
        context.put(abi.CONTEXT_ORDERED, "<i", int(entry.orders_cluster))
        context.put(abi.CONTEXT_FINDINGS, "<Q", self.list.address)
        context.put(abi.CONTEXT_FOUND, "<Q", self._found.address)
        raced = not entry.orders_memory and sum(b.nbytes for b in memory.buffers) <= _MOST_CHECKED
        buffers = [b for b in memory.buffers if b.nbytes and (raced or not b.initialised)]
        table = Region(max(1, len(buffers)) * _ENTRY)
        for index, buffer in enumerate(buffers):
            known = memory.known.get(buffer.address)
            cells = 0
            if raced:
                self._kept.append(Region(buffer.nbytes * _BUFFER_CELL))
                cells = self._kept[-1].address
            known_address = 0 if known is None else known.ctypes.data
            table.put(index * _ENTRY, "<QQQQ", buffer.address, buffer.nbytes, known_address, cells)
        self._kept.append(table)
        context.put(abi.CONTEXT_SHADOWS, "<Q", table.address)
        context.put(abi.CONTEXT_SHADOW_COUNT, "<Q", len(buffers))

    def findings(self, sites: tuple[Site, ...], memory: Memory, grid: Dim3, block: Dim3) -> tuple[Fault, ...]:
        """What was found: the first finding of each kind at each site, in order of time."""
        (count,) = self.list.get(0, "<i")
        found: list[Fault] = []
        for index in range(min(count, abi.MOST_FINDINGS)):
            data = self.list.read(16 + index * abi.FINDING_BYTES, abi.FINDING_BYTES)
            kind_code, number, _, _, _, address, lane, gang, linear = struct.unpack("<iiiiqQiiq", data)
            site, kind = sites[number], abi.FAULT_KINDS[kind_code]
            relation: BufferRelation | None = None
            if kind in ("race", "uninitialised", "copy-in-flight"):
                if address & SHARED_TAG:
                    name, offset = shared_place(address ^ SHARED_TAG)
                    relation = BufferRelation(name, offset, 0, "inside")
                else:
                    relation = relate(memory, address, 1, None)
            place = (coordinates(linear, grid), coordinates(gang * 32 + lane, block), gang, lane)
            origin = (site.source, site.ptx_line, site.form)
            message = _MESSAGES[kind]
            if kind == "absent-lanes" and site.form.partition(".")[0] in WHOLE_WARP:
                message = "all 32 threads of the warp have to take part, and some do not"
            found.append(Fault(kind, message, site.space, site.access, 0, address, relation, *place, *origin))
        return tuple(found)
