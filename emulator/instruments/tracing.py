"""Notes where the lanes of one warp go: of each instruction the first access, and how often it was executed."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.instruments.counting import SUPPORT, Counting
from emulator.instruments.instrument import AccessKind, Probe
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.access import Access

# A record a site, see `runtime.trace`: times, mask, bytes an element, and the address of every lane at the first time.
_TRACE = f"""
define void @trace_access(ptr %ctx, i32 %site, ptr %addresses, i32 %mask, i32 %gang, i32 %size) noinline {{
entry:
  %wanted.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_TRACED_WARP}
  %wanted = load i32, ptr %wanted.p
  %other = icmp ne i32 %gang, %wanted
  %none = icmp eq i32 %mask, 0
  %skip = or i1 %other, %none
  br i1 %skip, label %out, label %note
note:
  %table.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_TRACE}
  %table = load ptr, ptr %table.p
  %site64 = zext i32 %site to i64
  %at = mul i64 %site64, {abi.TRACE_BYTES}
  %record = getelementptr i8, ptr %table, i64 %at
  %times = load i64, ptr %record
  %times.next = add i64 %times, 1
  store i64 %times.next, ptr %record
  %again = icmp ne i64 %times, 0
  br i1 %again, label %out, label %first
first:
  %mask.p = getelementptr i8, ptr %record, i64 8
  store i32 %mask, ptr %mask.p
  %size.p = getelementptr i8, ptr %record, i64 12
  store i32 %size, ptr %size.p
  %lanes.p = getelementptr i8, ptr %record, i64 16
  %all = load <32 x i64>, ptr %addresses, align 64
  store <32 x i64> %all, ptr %lanes.p, align 8
  br label %out
out:
  ret void
}}
"""


class Tracing(Counting):
    """Counts what Counting does. A launch has to give it the table of records, see `runtime.trace`."""

    name = "trace"
    symbols = {**Counting.symbols, "trace_access": "declare void @trace_access(ptr, i32, ptr, i32, i32, i32)"}
    support = SUPPORT + _TRACE

    def on_access(
        self, probe: Probe, kind: AccessKind, access: Access, addresses: Value, values: Sequence[Value], site: int
    ) -> None:
        super().on_access(probe, kind, access, addresses, values, site)
        place = probe.spilled(addresses)
        probe.emitter.emit(
            f"call void @trace_access(ptr %ctx, i32 {site}, ptr {place}, i32 {probe.mask.word}, i32 %w, "
            f"i32 {access.size})"
        )
