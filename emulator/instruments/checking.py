"""Checks what a sanitizer checks: races, reads of what nobody wrote, and threads missing at barriers and shuffles.

Every byte of shared memory has a cell with its last write and its last reads. Time of a block is its epoch, which a
barrier advances, and time of a gang its gang epoch, which `bar.warp.sync` advances. Two accesses of one byte by
different threads, one of them a write, race where they fall into one epoch and, inside one gang, into one gang
epoch. A write of the value that is there already races with nothing. Volatile and ordered accesses are taken as
synchronisation and race with nothing. Bytes of buffers are checked likewise, as long as the buffers are small and
the kernel orders nothing through memory itself; lanes of one gang are taken as ordered there. What cp.async writes
may be used once its thread has waited for the copy's group; an mbarrier that tracks the copies counts as a wait.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.instruments.instrument import AccessKind, Instrument, Probe
from emulator.instruments.shadow import SUPPORT
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.access import Access
from emulator.lowering.vectors import interleave
from emulator.syntax.nodes import ImmediateOperand, Instruction

# Instructions that all lanes of a warp have to execute together.
WHOLE_WARP = frozenset({"mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"})
_KINDS = {"read": 0, "write": 1, "atomic": 2, "copy": 9}
_STRONG = 4  # added to the kind of volatile and ordered accesses
_CLOSE, _WAIT, _FINISH = range(3)  # what happens to a thread's groups of copies


class Checking(Instrument):
    name = "checks"
    symbols = {
        "check_shared": "declare void @check_shared(ptr, ptr, i32, ptr, i32, i32, i32, ptr)",
        "check_generic": "declare void @check_generic(ptr, ptr, i32, ptr, i32, i32, i32, ptr)",
        "check_global": "declare void @check_global(ptr, ptr, i32, ptr, i32, i32, i32, ptr)",
        "check_copies": "declare void @check_copies(ptr, ptr, i32, i32, i32)",
        "check_stretches": "declare void @check_stretches(ptr, ptr, i32, ptr, i32, ptr, i32, i1)",
    }
    support = SUPPORT

    def on_access(
        self, probe: Probe, kind: AccessKind, access: Access, addresses: Value, values: Sequence[Value], site: int
    ) -> None:
        if access.space == "local":
            return
        emitter = probe.emitter
        place = probe.spilled(addresses)
        data = "null"
        if kind in ("write", "copy"):
            vectors = [emitter.lanes.splat(value) for value in values]
            data = probe.spilled(interleave(emitter.lanes, vectors), tag=9)
        code = _KINDS[kind] + (_STRONG if access.is_strong else 0)
        function = {"shared": "check_shared", "generic": "check_generic"}.get(access.space, "check_global")
        emitter.emit(
            f"call void @{function}(ptr %ctx, ptr %tls, i32 {site}, ptr {place}, i32 {probe.mask.word}, "
            f"i32 {access.size}, i32 {code}, ptr {data})"
        )

    def on_stretch(self, probe: Probe, kind: AccessKind, space: str, addresses: Value, sizes: Value, site: int) -> None:
        """Bulk copies are ordered by what waits for them, so they are taken as synchronisation."""
        code = _KINDS[kind] + (0 if kind == "copy" else _STRONG)
        place, bytes_of_lanes = probe.spilled(addresses), probe.spilled(sizes, tag=9)
        probe.emitter.emit(
            f"call void @check_stretches(ptr %ctx, ptr %tls, i32 {site}, ptr {place}, i32 {probe.mask.word}, "
            f"ptr {bytes_of_lanes}, i32 {code}, i1 {str(space == 'shared').lower()})"
        )

    def on_copies(self, probe: Probe, instruction: Instruction) -> None:
        emitter, parts = probe.emitter, instruction.modifiers
        operation = _CLOSE if "commit_group" in parts else _WAIT if "wait_group" in parts else _FINISH
        open_groups = 0
        if operation == _WAIT and isinstance(instruction.operands[0], ImmediateOperand):
            open_groups = instruction.operands[0].value
        given = f"i32 {probe.mask.word}, i32 {operation}, i32 {open_groups}"
        emitter.emit(f"call void @check_copies(ptr %ctx, ptr %tls, {given})")

    def on_barrier(self, probe: Probe, instruction: Instruction, others: str | None, site: int) -> None:
        """An aligned barrier has to be reached by all lanes of a warp together."""
        emitter = probe.emitter
        aligned = instruction.opcode == "bar" or "aligned" in instruction.modifiers
        here = probe.mask.word
        if others is not None:
            if aligned:
                self._find_if(probe, others, abi.DIVERGENT_BARRIER, site)
            here = emitter.put(f"or i32 {here}, {others}")
        if "cluster" in instruction.modifiers:
            return  # threads that have ended count as arrived
        first = emitter.put("call i32 @initial_lanes(ptr %ctx, ptr %tls)")
        emitter.declare("declare i32 @initial_lanes(ptr, ptr)")
        missing = emitter.put(f"xor i32 {first}, {here}")
        gone = emitter.put(f"and i32 {missing}, {first}")
        self._find_if(probe, gone, abi.BARRIER_AFTER_EXIT, site)

    def on_warp(
        self, probe: Probe, instruction: Instruction, members: Value | None, others: str | None, site: int
    ) -> None:
        emitter = probe.emitter
        if instruction.opcode in ("bar", "barrier"):
            emitter.emit("call void @pass_gang_epoch(ptr %tls)")
            emitter.declare("declare void @pass_gang_epoch(ptr)")
        if instruction.opcode in WHOLE_WARP:
            absent = emitter.put(f"xor i32 {probe.mask.word}, -1")
            self._find_if(probe, absent, abi.ABSENT_LANES, site)
            return
        if members is None or others is None:
            return
        # The members as the first active lane names them.
        lane = emitter.put(f"call i32 @llvm.cttz.i32(i32 {probe.mask.word}, i1 true)")
        emitter.declare("declare i32 @llvm.cttz.i32(i32, i1)")
        named = emitter.lanes.extract(members, Value(lane, "i32", 0)).text
        self._find_if(probe, emitter.put(f"and i32 {named}, {others}"), abi.ABSENT_LANES, site)

    def _find_if(self, probe: Probe, lanes: str, kind: int, site: int) -> None:
        """A finding where the mask has lanes."""
        emitter = probe.emitter
        found, after = emitter.new_label("finding"), emitter.new_label("checked")
        emitter.branch_if(emitter.put(f"icmp ne i32 {lanes}, 0"), found, after, "!prof !1")
        emitter.place(found)
        emitter.emit(f"call void @finding(ptr %ctx, ptr %tls, i32 {kind}, i32 {site}, i32 {probe.mask.word}, i64 0)")
        emitter.declare("declare void @finding(ptr, ptr, i32, i32, i32, i64)")
        emitter.branch(after)
        emitter.place(after)
