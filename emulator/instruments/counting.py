"""Counts what a profiler counts: instructions, branches, and requests, sectors and wavefronts of memory."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.analysis.flat import LOCAL_TAG, SHARED_TAG
from emulator.instruments.instrument import AccessKind, Instrument, Probe
from emulator.isa.lanes import Value
from emulator.lowering.access import Access
from emulator.syntax.nodes import Instruction

NAMES = (
    "instructions", "thread_instructions", "branches", "divergent_branches", "barriers",
    "global_read_requests", "global_read_sectors", "global_write_requests", "global_write_sectors",
    "global_atomic_requests", "global_atomic_sectors",
    "shared_read_requests", "shared_read_wavefronts", "shared_write_requests", "shared_write_wavefronts",
    "shared_atomic_requests", "shared_atomic_wavefronts",
    "local_read_requests", "local_write_requests",
)  # fmt: skip

# These take the addresses of all lanes and the mask of active ones.
SUPPORT = """
define i64 @count_sectors(ptr %addresses, i32 %mask) noinline {
  %n = call i64 @count_distinct(ptr %addresses, i32 %mask, i64 5)
  ret i64 %n
}

; How many different addresses there are without their lowest bits.
define i64 @count_distinct(ptr %addresses, i32 %mask, i64 %bits) noinline {
entry:
  %all = load <32 x i64>, ptr %addresses, align 64
  %bits0 = insertelement <32 x i64> poison, i64 %bits, i64 0
  %shift = shufflevector <32 x i64> %bits0, <32 x i64> poison, <32 x i32> zeroinitializer
  %places = lshr <32 x i64> %all, %shift
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %loop ]
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %one = extractelement <32 x i64> %places, i32 %lane
  %one0 = insertelement <32 x i64> poison, i64 %one, i64 0
  %ones = shufflevector <32 x i64> %one0, <32 x i64> poison, <32 x i32> zeroinitializer
  %other = icmp ne <32 x i64> %places, %ones
  %others = bitcast <32 x i1> %other to i32
  %rest = and i32 %left, %others
  %n.next = add i64 %n, 1
  %done = icmp eq i32 %rest, 0
  br i1 %done, label %out, label %loop
out:
  %result = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  ret i64 %result
}

define internal i64 @wavefronts_of(ptr %addresses, i32 %mask, i32 %words) noinline {
entry:
  %banks = alloca [32 x i8], align 32
  store [32 x i8] zeroinitializer, ptr %banks
  %all = load <32 x i64>, ptr %addresses, align 64
  %places = lshr <32 x i64> %all, splat (i64 2)
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %next ]
  %most = phi i8 [ 0, %entry ], [ %most.word, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %one = extractelement <32 x i64> %places, i32 %lane
  %one0 = insertelement <32 x i64> poison, i64 %one, i64 0
  %ones = shufflevector <32 x i64> %one0, <32 x i64> poison, <32 x i32> zeroinitializer
  %other = icmp ne <32 x i64> %places, %ones
  %others = bitcast <32 x i1> %other to i32
  %rest = and i32 %left, %others
  %one32 = trunc i64 %one to i32
  br label %word
word:
  %w = phi i32 [ 0, %loop ], [ %w.next, %word ]
  %most.now = phi i8 [ %most, %loop ], [ %most.word, %word ]
  %at = add i32 %one32, %w
  %bank = and i32 %at, 31
  %bank.p = getelementptr i8, ptr %banks, i32 %bank
  %old = load i8, ptr %bank.p
  %new = add i8 %old, 1
  store i8 %new, ptr %bank.p
  %most.word = call i8 @llvm.umax.i8(i8 %most.now, i8 %new)
  %w.next = add i32 %w, 1
  %more = icmp ult i32 %w.next, %words
  br i1 %more, label %word, label %next
next:
  %done = icmp eq i32 %rest, 0
  br i1 %done, label %out, label %loop
out:
  %result8 = phi i8 [ 0, %entry ], [ %most.word, %next ]
  %result = zext i8 %result8 to i64
  ret i64 %result
}

; Accesses of 8 and 16 bytes are served for half and quarter warps.
define i64 @count_wavefronts(ptr %addresses, i32 %mask, i32 %size) noinline {
entry:
  %wide = lshr i32 %size, 2
  %words = call i32 @llvm.umax.i32(i32 %wide, i32 1)
  %lanes = udiv i32 32, %words
  %lanes64 = zext i32 %lanes to i64
  %bit = shl i64 1, %lanes64
  %ones = sub i64 %bit, 1
  %group = trunc i64 %ones to i32
  br label %loop
loop:
  %first = phi i32 [ 0, %entry ], [ %first.next, %loop ]
  %n = phi i64 [ 0, %entry ], [ %n.next, %loop ]
  %here = shl i32 %group, %first
  %part = and i32 %mask, %here
  %waves = call i64 @wavefronts_of(ptr %addresses, i32 %part, i32 %words)
  %n.next = add i64 %n, %waves
  %first.next = add i32 %first, %lanes
  %more = icmp ult i32 %first.next, 32
  br i1 %more, label %loop, label %out
out:
  ret i64 %n.next
}
declare i32 @llvm.cttz.i32(i32, i1)
declare i8 @llvm.umax.i8(i8, i8)
declare i32 @llvm.umax.i32(i32, i32)
"""


class Counting(Instrument):
    name = "counters"
    counters: tuple[str, ...] = NAMES
    symbols = {
        "count_sectors": "declare i64 @count_sectors(ptr, i32)",
        "count_wavefronts": "declare i64 @count_wavefronts(ptr, i32, i32)",
    }
    support = SUPPORT

    def _add(self, probe: Probe, name: str, amount: str) -> None:
        probe.add(self.first + self.counters.index(name), amount)

    def on_block(self, probe: Probe, instructions: Sequence[Instruction]) -> None:
        count = len(instructions)
        self._add(probe, "instructions", str(count))
        lanes = probe.active_lanes(probe.mask.word)
        self._add(probe, "thread_instructions", probe.emitter.put(f"mul i64 {lanes}, {count}"))

    def on_access(
        self, probe: Probe, kind: AccessKind, access: Access, addresses: Value, values: Sequence[Value], site: int
    ) -> None:
        kind = "write" if kind == "copy" else kind
        if access.space == "generic":
            self._generic(probe, kind, access, addresses)
        elif access.space == "local":
            self._add(probe, f"local_{'read' if kind == 'read' else 'write'}_requests", "1")
        elif access.space in ("global", "shared"):
            self._add(probe, f"{access.space}_{kind}_requests", "1")
            self._served(probe, access.space, kind, access, probe.spilled(addresses), probe.mask.word)

    def _served(self, probe: Probe, space: str, kind: AccessKind, access: Access, place: str, mask: str) -> None:
        """Sectors of global memory, or wavefronts of shared memory."""
        if space == "global":
            call = f"call i64 @count_sectors(ptr {place}, i32 {mask})"
            self._add(probe, f"global_{kind}_sectors", probe.emitter.put(call))
        else:
            call = f"call i64 @count_wavefronts(ptr {place}, i32 {mask}, i32 {access.size})"
            self._add(probe, f"shared_{kind}_wavefronts", probe.emitter.put(call))

    def _generic(self, probe: Probe, kind: AccessKind, access: Access, addresses: Value) -> None:
        """A request of each space that the active lanes' addresses point into."""
        emitter, lanes = probe.emitter, probe.emitter.lanes
        place = probe.spilled(addresses)
        tags = lanes.lshr(addresses, lanes.const("i64", 56))
        for space, tag in (("global", 0), ("shared", SHARED_TAG >> 56), ("local", LOCAL_TAG >> 56)):
            there = lanes.splat(lanes.icmp("eq", tags, lanes.const("i64", tag)))
            bits = emitter.put(f"bitcast {there} to i{emitter.width}")
            mask = emitter.put(f"and i{emitter.width} {bits}, {probe.mask.word}")
            some = emitter.put(f"zext i1 {emitter.put(f'icmp ne i{emitter.width} {mask}, 0')} to i64")
            if space == "local":
                self._add(probe, f"local_{'read' if kind == 'read' else 'write'}_requests", some)
            else:
                self._add(probe, f"{space}_{kind}_requests", some)
                self._served(probe, space, kind, access, place, mask)

    def on_branch(self, probe: Probe, taken: str | None) -> None:
        self._add(probe, "branches", "1")
        if taken is None:
            return
        emitter = probe.emitter
        some = emitter.put(f"icmp ne i{emitter.width} {taken}, 0")
        others = emitter.put(f"icmp ne i{emitter.width} {taken}, {probe.mask.word}")
        both = emitter.put(f"and i1 {some}, {others}")
        self._add(probe, "divergent_branches", emitter.put(f"zext i1 {both} to i64"))

    def on_barrier(self, probe: Probe, instruction: Instruction, others: str | None, site: int) -> None:
        self._add(probe, "barriers", "1")
