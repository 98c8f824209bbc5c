"""Counts what an estimate of a GPU's time needs: issue slots, cycles of pipes, chains of waits, lines and sectors."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.instruments.counting import NAMES, SUPPORT, Counting
from emulator.instruments.instrument import AccessKind, Probe
from emulator.instruments.machine import PIPES, summary
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.access import Access
from emulator.syntax.nodes import Instruction

READ, WRITTEN, ATOMIC = 1, 2, 4
"""Bits of a sector that a launch has touched."""
_BITS = {"read": READ, "write": WRITTEN, "atomic": ATOMIC}
_OWN = (
    "slots", *(f"{pipe}_cycles" for pipe in PIPES), "matrix_operations", "chain_cycles", "memory_waits",
    "global_read_lines", "global_write_lines", "global_atomic_lines", "atomic_lanes", "local_lines",
)  # fmt: skip

# All take the addresses of all lanes and the mask of active ones. Lines are of 128 bytes: the L1 cache looks up one a
# cycle. Sectors that lie in the run's memory are marked as touched. Returns sectors, and lines from bit 32 on.
_TOUCH = f"""
define i64 @touch_sectors(ptr %ctx, ptr %addresses, i32 %mask, i8 %kind) noinline {{
entry:
  %map.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_TOUCHED}
  %map = load ptr, ptr %map.p
  %from.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_TOUCHED_FROM}
  %from = load i64, ptr %from.p
  %count.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_TOUCHED_SECTORS}
  %count = load i64, ptr %count.p
  %first = lshr i64 %from, 5
  %all = load <32 x i64>, ptr %addresses, align 64
  %sectors = lshr <32 x i64> %all, splat (i64 5)
  %lines = call i64 @count_distinct(ptr %addresses, i32 %mask, i64 7)
  %high = shl i64 %lines, 32
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %next ]
  %n = phi i64 [ 0, %entry ], [ %n.next, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %one = extractelement <32 x i64> %sectors, i32 %lane
  %one0 = insertelement <32 x i64> poison, i64 %one, i64 0
  %ones = shufflevector <32 x i64> %one0, <32 x i64> poison, <32 x i32> zeroinitializer
  %other = icmp ne <32 x i64> %sectors, %ones
  %others = bitcast <32 x i1> %other to i32
  %rest = and i32 %left, %others
  %n.next = add i64 %n, 1
  %at = sub i64 %one, %first
  %inside = icmp ult i64 %at, %count
  br i1 %inside, label %mark, label %next
mark:
  %place = getelementptr i8, ptr %map, i64 %at
  %old = load i8, ptr %place
  %new = or i8 %old, %kind
  store i8 %new, ptr %place
  br label %next
next:
  %done = icmp eq i32 %rest, 0
  br i1 %done, label %out, label %loop
out:
  %total = phi i64 [ 0, %entry ], [ %n.next, %next ]
  %result = or i64 %total, %high
  ret i64 %result
}}
"""


class Profiling(Counting):
    """Counts also all that Counting does. A launch has to give it the map of touched sectors, see `runtime.sample`."""

    name = "profile"
    counters = (*NAMES, *_OWN)
    symbols = {
        **Counting.symbols,
        "touch_sectors": "declare i64 @touch_sectors(ptr, ptr, i32, i8)",
        "count_distinct": "declare i64 @count_distinct(ptr, i32, i64)",
    }
    support = SUPPORT + _TOUCH

    def on_block(self, probe: Probe, instructions: Sequence[Instruction]) -> None:
        super().on_block(probe, instructions)
        found = summary(instructions)
        amounts = {
            "slots": found.slots,
            "chain_cycles": found.chain,
            "memory_waits": found.waits,
            "matrix_operations": found.matrix_operations,
            **{f"{pipe}_cycles": cycles for pipe, cycles in found.pipes.items()},
        }
        for name, amount in amounts.items():
            if amount:
                self._add(probe, name, str(amount))

    def on_access(
        self, probe: Probe, kind: AccessKind, access: Access, addresses: Value, values: Sequence[Value], site: int
    ) -> None:
        super().on_access(probe, kind, access, addresses, values, site)
        if access.space == "local":
            # Local memory is interleaved by words, so that lanes at one offset share a line.
            words = max(1, access.size // 4)
            rows = f"call i64 @count_distinct(ptr {probe.spilled(addresses)}, i32 {probe.mask.word}, i64 2)"
            self._add(probe, "local_lines", probe.emitter.put(f"mul i64 {probe.emitter.put(rows)}, {words}"))

    def _served(self, probe: Probe, space: str, kind: AccessKind, access: Access, place: str, mask: str) -> None:
        if space != "global":
            super()._served(probe, space, kind, access, place, mask)
            return
        kind = "write" if kind == "copy" else kind
        emitter = probe.emitter
        both = emitter.put(f"call i64 @touch_sectors(ptr %ctx, ptr {place}, i32 {mask}, i8 {_BITS[kind]})")
        self._add(probe, f"global_{kind}_sectors", emitter.put(f"and i64 {both}, {0xFFFFFFFF}"))
        self._add(probe, f"global_{kind}_lines", emitter.put(f"lshr i64 {both}, 32"))
        if kind == "atomic":
            self._add(probe, "atomic_lanes", probe.active_lanes(mask))
