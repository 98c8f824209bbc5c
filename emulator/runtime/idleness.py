"""The part of the support library that proves a deadlock of threads which spin instead of waiting at a barrier.

Gangs whose lanes spin, at an mbarrier or on a flag in shared memory, run in every round. Compiled code notes in the
worker's `activity` whatever may change more than the gang's own frame, or depends on more than shared memory. Where
nothing of the kind happened in a round, the frames alone are the state of the block; a state that comes back without
that comes back for ever. Only clocks could still let the threads out: they stand still in an idle block and are set
forward, in growing leaps, before the verdict. So a wait with a time limit ends at once where nobody else can end it.
"""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.scheduler import field

_FIRST_LEAP = 1_000_000  # nanoseconds
_LAST_LEAP = 1 << 55  # more than a year


def _clock(name: str, real: str, frozen: int) -> str:
    """A clock of the device: ahead of the host's by what idle blocks waited in no time."""
    return f"""
define i64 @{name}(ptr %tls) {{
entry:
  %activity = getelementptr i8, ptr %tls, i64 {abi.WORKER_ACTIVITY}
  %before = load i32, ptr %activity
  %after = or i32 %before, {abi.READ_CLOCK}
  store i32 %after, ptr %activity
{field("skew", "%tls", abi.WORKER_SKEW, "i64")}
{field("frozen", "%tls", frozen, "i64")}
  %runs = icmp eq i64 %frozen, 0
  br i1 %runs, label %look, label %told
look:
  %real = call i64 @{real}()
  br label %told
told:
  %now = phi i64 [ %frozen, %entry ], [ %real, %look ]
  %total = add i64 %now, %skew
  ret i64 %total
}}
"""


IDLENESS = f"""
define internal i64 @digest(ptr %start, i64 %bytes) noinline {{
entry:
  br label %word
word:
  %at = phi i64 [ 0, %entry ], [ %at.next, %word ]
  %hash = phi i64 [ -3750763034362895579, %entry ], [ %hash.next, %word ]
  %place = getelementptr i8, ptr %start, i64 %at
  %value = load i64, ptr %place
  %mixed = xor i64 %hash, %value
  %product = mul i64 %mixed, -7046029254386353131
  %high = lshr i64 %product, 29
  %hash.next = xor i64 %product, %high
  %at.next = add i64 %at, 8
  %more = icmp ult i64 %at.next, %bytes
  br i1 %more, label %word, label %out
out:
  ret i64 %hash.next
}}

; At the end of a round of a block: whether its threads can never go on. `released`: a barrier opened.
define internal i1 @is_deadlocked(ptr %ctx, ptr %tls, i32 %released) noinline {{
entry:
{field("activity", "%tls", abi.WORKER_ACTIVITY, "i32")}
  %clock = and i32 %activity, {abi.READ_CLOCK}
  store i32 %clock, ptr %activity.p
  %changed = and i32 %activity, {abi.CHANGED}
  %reason = or i32 %changed, %released
  %busy = icmp ne i32 %reason, 0
{field("idle", "%tls", abi.WORKER_IDLE_ROUNDS, "i32")}
{field("reference", "%tls", abi.WORKER_REFERENCE, "i64")}
{field("leap", "%tls", abi.WORKER_LEAP, "i64")}
  br i1 %busy, label %works, label %rests
works:
  store i32 0, ptr %idle.p
  store i32 0, ptr %activity.p
  store i64 0, ptr %leap.p
  %thaw = getelementptr i8, ptr %tls, i64 {abi.WORKER_FROZEN_TIME}
  store <2 x i64> zeroinitializer, ptr %thaw, align 8
  ret i1 false
rests:
{field("frames", "%tls", abi.WORKER_FRAMES, "ptr")}
{field("gangs", "%ctx", abi.CONTEXT_GANGS, "i64")}
{field("frame.bytes", "%ctx", abi.CONTEXT_FRAME_BYTES, "i64")}
  %bytes = mul i64 %gangs, %frame.bytes
  %now = call i64 @digest(ptr %frames, i64 %bytes)
  %rounds = add i32 %idle, 1
  store i32 %rounds, ptr %idle.p
  ; The state of every round with a power of two is kept, so that cycles of any length are found.
  %same = icmp eq i64 %now, %reference
  %known = icmp ne i32 %idle, 0
  %cycle = and i1 %same, %known
  br i1 %cycle, label %cycles, label %keep
keep:
  %fresh = icmp eq i32 %rounds, 1
  br i1 %fresh, label %freeze, label %frozen
freeze:
  %time.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_FROZEN_TIME}
  %cycles.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_FROZEN_CYCLES}
  %time = call i64 @real_time()
  %cycle.now = call i64 @real_cycles()
  store i64 %time, ptr %time.p
  store i64 %cycle.now, ptr %cycles.p
  br label %frozen
frozen:
  %power = call i32 @llvm.ctpop.i32(i32 %rounds)
  %marks = icmp eq i32 %power, 1
  br i1 %marks, label %mark, label %on
mark:
  store i64 %now, ptr %reference.p
  br label %on
on:
  ret i1 false
cycles:
  %timed = icmp ne i32 %clock, 0
  br i1 %timed, label %leaps, label %stuck
leaps:
  %double = shl i64 %leap, 1
  %next.leap = call i64 @llvm.umax.i64(i64 %double, i64 {_FIRST_LEAP})
  %far = icmp ugt i64 %next.leap, {_LAST_LEAP}
  br i1 %far, label %stuck, label %forward
forward:
{field("skew", "%tls", abi.WORKER_SKEW, "i64")}
  %ahead = add i64 %skew, %next.leap
  store i64 %ahead, ptr %skew.p
  store i64 %next.leap, ptr %leap.p
  store i32 0, ptr %idle.p
  ret i1 false
stuck:
  ret i1 true
}}

; Reports a deadlock at the last failed wait, if there was one.
define internal void @report_deadlock(ptr %ctx, ptr %tls) noinline cold {{
{field("site", "%tls", abi.WORKER_WAIT_SITE, "i32")}
{field("gang", "%tls", abi.WORKER_WAIT_GANG, "i32")}
{field("lane", "%tls", abi.WORKER_WAIT_LANE, "i32")}
{field("address", "%tls", abi.WORKER_WAIT_ADDRESS, "i64")}
  %running.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_GANG}
  %waited = icmp ne i32 %site, 0
  br i1 %waited, label %known, label %record
known:
  store i32 %gang, ptr %running.p
  br label %record
record:
  %number = sub i32 %site, 1
  call void @record(ptr %ctx, ptr %tls, i32 {abi.DEADLOCK}, i32 %number, i32 2, i32 0, i32 0, i64 %address, i32 %lane)
  ret void
}}

; Nanoseconds and cycles of the host.
define internal i64 @real_time() {{
  %now = alloca {{ i64, i64 }}
  %failed = call i32 @clock_gettime(i32 1, ptr %now)
  %seconds = load i64, ptr %now
  %rest.p = getelementptr i8, ptr %now, i64 8
  %rest = load i64, ptr %rest.p
  %whole = mul i64 %seconds, 1000000000
  %time = add i64 %whole, %rest
  ret i64 %time
}}

define internal i64 @real_cycles() {{
  %now = call i64 @llvm.readcyclecounter()
  ret i64 %now
}}

{_clock("global_time", "real_time", abi.WORKER_FROZEN_TIME)}
{_clock("cycle_count", "real_cycles", abi.WORKER_FROZEN_CYCLES)}
declare i64 @llvm.readcyclecounter()
declare i32 @clock_gettime(i32, ptr)
"""
