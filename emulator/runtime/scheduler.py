"""The part of the support library that runs a block: its gangs between barriers. See `run_to_end` and `residency`."""

from __future__ import annotations

from emulator.lowering import abi

_WIDTH = 32


def field(name: str, base: str, offset: int, type: str) -> str:
    """IR that loads a field of a structure into %name."""
    return f"  %{name}.p = getelementptr i8, ptr {base}, i64 {offset}\n  %{name} = load {type}, ptr %{name}.p"


# Read before each call: `runtime.tiers` puts better code there while a launch runs.
KERNEL = f"""  %kernel.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_KERNEL}
  %kernel = load atomic ptr, ptr %kernel.p monotonic, align 8"""
CALL_GANG = (
    "call i32 %kernel(ptr %ctx, ptr %tls, ptr %shared, ptr %frame, ptr %local, i32 %w, i32 %bx, i32 %by, i32 %bz)"
)

# Clears the frames and barriers of a block that begins.
_BEGIN = f"""
define internal void @begin_block(ptr %ctx, ptr %tls) noinline {{
entry:
{field("gangs", "%ctx", abi.CONTEXT_GANGS, "i64")}
{field("frame.bytes", "%ctx", abi.CONTEXT_FRAME_BYTES, "i64")}
{field("threads", "%ctx", abi.CONTEXT_THREADS, "i64")}
{field("frames", "%tls", abi.WORKER_FRAMES, "ptr")}
  call void @pass_epoch(ptr %tls)
{field("epoch", "%tls", abi.WORKER_EPOCH, "i32")}
  %start.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_FIRST_EPOCH}
  store i32 %epoch, ptr %start.p
  %cluster.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_CLUSTER_EPOCH}
  store i32 %epoch, ptr %cluster.p
  %suspends = icmp ne i64 %frame.bytes, 0
  br i1 %suspends, label %frames.clear, label %out
frames.clear:
  %used.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_BARRIERS}
  call void @llvm.memset.p0.i64(ptr %used.p, i8 0, i64 {abi.WORKER_SHADOW - abi.WORKER_BARRIERS}, i1 false)
  %activity.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_ACTIVITY}
  call void @llvm.memset.p0.i64(ptr %activity.p, i8 0, i64 {abi.WORKER_SKEW - abi.WORKER_ACTIVITY}, i1 false)
  %leap.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_LEAP}
  call void @llvm.memset.p0.i64(ptr %leap.p, i8 0, i64 {abi.WORKER_CLOCK - abi.WORKER_LEAP}, i1 false)
  br label %clear
clear:
  %c = phi i64 [ 0, %frames.clear ], [ %c.next, %clear ]
  %c.offset = mul i64 %c, %frame.bytes
  %c.frame = getelementptr i8, ptr %frames, i64 %c.offset
  call void @llvm.memset.p0.i64(ptr %c.frame, i8 0, i64 {abi.FRAME_REGISTERS}, i1 false)
  %c.alive = getelementptr i8, ptr %c.frame, i64 {abi.FRAME_ALIVE}
  %c.first = mul i64 %c, {_WIDTH}
  %c.left = sub i64 %threads, %c.first
  %c.some = call i64 @llvm.umin.i64(i64 %c.left, i64 {_WIDTH})
  %c.bit = shl i64 1, %c.some
  %c.ones = sub i64 %c.bit, 1
  %c.mask = trunc i64 %c.ones to i32
  store i32 %c.mask, ptr %c.alive
  %c.next = add i64 %c, 1
  %c.more = icmp ult i64 %c.next, %gangs
  br i1 %c.more, label %clear, label %out
out:
  ret void
}}
"""

# Runs the gangs of one block. A round lets every gang run that is not blocked; then each barrier whose threads have
# all arrived is released. With `most` = 0 it goes on until all gangs are done, and a round in which nothing moved is a
# deadlock. Else it gives way after so many rounds, or after one in which gangs only went round loops.
_ROUNDS = f"""
define internal i32 @rounds(ptr %ctx, ptr %tls, i32 %most, i32 %bx, i32 %by, i32 %bz) noinline {{
entry:
{field("gangs", "%ctx", abi.CONTEXT_GANGS, "i64")}
{field("frame.bytes", "%ctx", abi.CONTEXT_FRAME_BYTES, "i64")}
{field("local.bytes", "%ctx", abi.CONTEXT_LOCAL_BYTES, "i64")}
{field("shared", "%tls", abi.WORKER_SHARED, "ptr")}
{field("frames", "%tls", abi.WORKER_FRAMES, "ptr")}
{field("locals", "%tls", abi.WORKER_LOCAL, "ptr")}
  %gang.local = mul i64 %local.bytes, {_WIDTH}
  %gang.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_GANG}
  %used.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_BARRIERS}
  %arrivals = getelementptr i8, ptr %tls, i64 {abi.WORKER_ARRIVALS}
  %alone = icmp eq i32 %most, 0
  br label %round
round:
  %turn = phi i32 [ 1, %entry ], [ %turn.next, %check.stop ]
  br label %gang
gang:
  %g = phi i64 [ 0, %round ], [ %g.next, %gang.next ]
  %moved = phi i32 [ 0, %round ], [ %moved.next, %gang.next ]
  %came = phi i32 [ 0, %round ], [ %came.next, %gang.next ]
  %alive = phi i32 [ 0, %round ], [ %alive.next, %gang.next ]
  %f.offset = mul i64 %g, %frame.bytes
  %frame = getelementptr i8, ptr %frames, i64 %f.offset
  %state = load i32, ptr %frame
  %is.done = icmp eq i32 %state, -1
  br i1 %is.done, label %skip, label %look
look:
  %f.alive.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_ALIVE}
  %f.alive = load i32, ptr %f.alive.p
  %f.waiting.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_WAITING}
  %f.waiting = load <16 x i32>, ptr %f.waiting.p, align 4
  %f.here = call i32 @llvm.vector.reduce.or.v16i32(<16 x i32> %f.waiting)
  %f.cluster.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_CLUSTER_WAITING}
  %f.cluster = load i32, ptr %f.cluster.p
  %f.apart.p = getelementptr i8, ptr %frame, i64 {abi.FRAME_WARP_WAITING}
  %f.apart = load i32, ptr %f.apart.p
  %f.wide = or i32 %f.here, %f.cluster
  %f.any = or i32 %f.wide, %f.apart
  %f.not = xor i32 %f.any, -1
  %f.can = and i32 %f.alive, %f.not
  %blocked = icmp eq i32 %f.can, 0
  br i1 %blocked, label %wait, label %go
go:
  %w = trunc i64 %g to i32
  store i32 %w, ptr %gang.p
  %local.offset = mul i64 %g, %gang.local
  %local = getelementptr i8, ptr %locals, i64 %local.offset
{KERNEL}
  %rc = {CALL_GANG}
  %bad = icmp ugt i32 %rc, {abi.SUSPENDED}
  br i1 %bad, label %broken, label %ran
ran:
  %ended = icmp eq i32 %rc, {abi.DONE}
  br i1 %ended, label %mark, label %paused
paused:
  br i1 %alone, label %gang.next, label %judge.gang
judge.gang:
  %j.alive = load i32, ptr %f.alive.p
  %j.waiting = load <16 x i32>, ptr %f.waiting.p, align 4
  %j.here = call i32 @llvm.vector.reduce.or.v16i32(<16 x i32> %j.waiting)
  %j.cluster = load i32, ptr %f.cluster.p
  %j.apart = load i32, ptr %f.apart.p
  %j.wide = or i32 %j.here, %j.cluster
  %j.any = or i32 %j.wide, %j.apart
  %j.not = xor i32 %j.any, -1
  %j.can = and i32 %j.alive, %j.not
  %j.blocked = icmp eq i32 %j.can, 0
  %j.came = zext i1 %j.blocked to i32
  br label %gang.next
mark:
  store i32 -1, ptr %frame
  %m.alive = getelementptr i8, ptr %frame, i64 {abi.FRAME_ALIVE}
  store i32 0, ptr %m.alive
  br label %gang.next
skip:
  br label %gang.next
wait:
  br label %gang.next
gang.next:
  %comes = phi i32 [ %j.came, %judge.gang ], [ 1, %paused ], [ 1, %mark ], [ 0, %skip ], [ 0, %wait ]
  %did = phi i32 [ 1, %judge.gang ], [ 1, %paused ], [ 1, %mark ], [ 0, %skip ], [ 0, %wait ]
  %lives = phi i32 [ 1, %judge.gang ], [ 1, %paused ], [ 0, %mark ], [ 0, %skip ], [ 1, %wait ]
  %moved.next = or i32 %moved, %did
  %came.next = or i32 %came, %comes
  %alive.next = or i32 %alive, %lives
  %g.next = add i64 %g, 1
  %g.more = icmp ult i64 %g.next, %gangs
  br i1 %g.more, label %gang, label %round.end
round.end:
  %finished = icmp eq i32 %alive.next, 0
  br i1 %finished, label %good, label %barriers
barriers:
  %used = load i32, ptr %used.p
  br label %barrier
barrier:
  %left = phi i32 [ %used, %barriers ], [ %left.next, %barrier.next ]
  %released = phi i32 [ 0, %barriers ], [ %released.next, %barrier.next ]
  %none.left = icmp eq i32 %left, 0
  br i1 %none.left, label %verdict, label %count
count:
  %id = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %id64 = zext i32 %id to i64
  %id.offset = shl i64 %id64, 2
  %less = sub i32 %left, 1
  %left.next = and i32 %left, %less
  %early.p = getelementptr i8, ptr %arrivals, i64 %id.offset
  %early = load i32, ptr %early.p
  br label %sum
sum:
  %s = phi i64 [ 0, %count ], [ %s.next, %sum ]
  %here = phi i32 [ 0, %count ], [ %here.next, %sum ]
  %all = phi i32 [ 0, %count ], [ %all.next, %sum ]
  %need = phi i32 [ 0, %count ], [ %need.next, %sum ]
  %s.offset = mul i64 %s, %frame.bytes
  %s.frame = getelementptr i8, ptr %frames, i64 %s.offset
  %s.alive.p = getelementptr i8, ptr %s.frame, i64 {abi.FRAME_ALIVE}
  %s.alive = load i32, ptr %s.alive.p
  %s.waits = getelementptr i8, ptr %s.frame, i64 {abi.FRAME_WAITING}
  %s.wait.p = getelementptr i8, ptr %s.waits, i64 %id.offset
  %s.wait = load i32, ptr %s.wait.p
  %s.needs = getelementptr i8, ptr %s.frame, i64 {abi.FRAME_NEEDED}
  %s.need.p = getelementptr i8, ptr %s.needs, i64 %id.offset
  %s.need = load i32, ptr %s.need.p
  %s.alive.n = call i32 @llvm.ctpop.i32(i32 %s.alive)
  %s.wait.n = call i32 @llvm.ctpop.i32(i32 %s.wait)
  %here.next = add i32 %here, %s.wait.n
  %all.next = add i32 %all, %s.alive.n
  %need.next = call i32 @llvm.umax.i32(i32 %need, i32 %s.need)
  %s.next = add i64 %s, 1
  %s.more = icmp ult i64 %s.next, %gangs
  br i1 %s.more, label %sum, label %judge
judge:
  %arrived = add i32 %here.next, %early
  %counted = icmp ne i32 %need.next, 0
  %wanted = select i1 %counted, i32 %need.next, i32 %all.next
  %enough = icmp uge i32 %arrived, %wanted
  %somebody = icmp ne i32 %arrived, 0
  %open = and i1 %enough, %somebody
  br i1 %open, label %release, label %barrier.next
release:
  call void @pass_epoch(ptr %tls)
  store i32 0, ptr %early.p
  %votes.p0 = getelementptr i8, ptr %tls, i64 {abi.WORKER_VOTES}
  %votes.p = getelementptr i8, ptr %votes.p0, i64 %id.offset
  %votes = load i32, ptr %votes.p
  store i32 0, ptr %votes.p
  %results.p0 = getelementptr i8, ptr %tls, i64 {abi.WORKER_RESULTS}
  %results.p = getelementptr i8, ptr %results.p0, i64 %id.offset
  store i32 %votes, ptr %results.p
  %totals.p0 = getelementptr i8, ptr %tls, i64 {abi.WORKER_TOTALS}
  %totals.p = getelementptr i8, ptr %totals.p0, i64 %id.offset
  store i32 %arrived, ptr %totals.p
  br label %free
free:
  %r = phi i64 [ 0, %release ], [ %r.next, %free ]
  %r.offset = mul i64 %r, %frame.bytes
  %r.frame = getelementptr i8, ptr %frames, i64 %r.offset
  %r.waits = getelementptr i8, ptr %r.frame, i64 {abi.FRAME_WAITING}
  %r.wait.p = getelementptr i8, ptr %r.waits, i64 %id.offset
  store i32 0, ptr %r.wait.p
  %r.needs = getelementptr i8, ptr %r.frame, i64 {abi.FRAME_NEEDED}
  %r.need.p = getelementptr i8, ptr %r.needs, i64 %id.offset
  store i32 0, ptr %r.need.p
  %r.next = add i64 %r, 1
  %r.more = icmp ult i64 %r.next, %gangs
  br i1 %r.more, label %free, label %freed
freed:
  br label %barrier.next
barrier.next:
  %opened = phi i32 [ 0, %judge ], [ 1, %freed ]
  %released.next = or i32 %released, %opened
  br label %barrier
verdict:
  %happened = or i32 %moved.next, %released
  %stuck = icmp eq i32 %happened, 0
  br i1 %stuck, label %nothing, label %something
something:
  br i1 %alone, label %spinning, label %check.stop
nothing:
  br i1 %alone, label %part, label %await
part:
  %parted = call i1 @part_lanes(ptr %ctx, ptr %tls)
  br i1 %parted, label %check.stop, label %deadlock
await:
  ret i32 {abi.STUCK}
spinning:
  %hopeless = call i1 @is_deadlocked(ptr %ctx, ptr %tls, i32 %released)
  br i1 %hopeless, label %spin.deadlock, label %check.stop
spin.deadlock:
  call void @report_deadlock(ptr %ctx, ptr %tls)
  ret i32 {abi.FAULTED}
check.stop:
  %turn.next = add i32 %turn, 1
  %flag = load volatile i32, ptr %ctx
  %quiet = icmp eq i32 %flag, 0
  %fruit = or i32 %came.next, %released
  %fruitless = icmp eq i32 %fruit, 0
  %late = icmp uge i32 %turn, %most
  %enough.now = or i1 %fruitless, %late
  %company = xor i1 %alone, true
  %gives = and i1 %enough.now, %company
  %leaves = select i1 %quiet, i1 %gives, i1 true
  br i1 %leaves, label %leave, label %round
leave:
  %busy = select i1 %fruitless, i32 {abi.IDLE}, i32 {abi.SUSPENDED}
  %why = select i1 %quiet, i32 %busy, i32 {abi.STOPPED}
  ret i32 %why
deadlock:
  call void @fault(ptr %ctx, ptr %tls, i32 {abi.ILLEGAL_BARRIER}, i32 -1, i32 1)
  ret i32 {abi.FAULTED}
broken:
  ret i32 %rc
good:
  ret i32 0
}}
"""

_EPOCHS = f"""
define internal void @pass_epoch(ptr %tls) {{
{field("clock", "%tls", abi.WORKER_CLOCK, "ptr")}
  %before = load i32, ptr %clock
  %now = add i32 %before, 1
  store i32 %now, ptr %clock
  %epoch = getelementptr i8, ptr %tls, i64 {abi.WORKER_EPOCH}
  store i32 %now, ptr %epoch
  ret void
}}

define void @pass_gang_epoch(ptr %tls) {{
{field("gang", "%tls", abi.WORKER_GANG, "i32")}
  %all = getelementptr i8, ptr %tls, i64 {abi.WORKER_GANG_EPOCHS}
  %one = getelementptr i32, ptr %all, i32 %gang
  %epoch = load i32, ptr %one
  %next = add i32 %epoch, 1
  store i32 %next, ptr %one
  ret void
}}

; The lanes with which the running gang began.
define i32 @initial_lanes(ptr %ctx, ptr %tls) {{
{field("gang", "%tls", abi.WORKER_GANG, "i32")}
{field("threads", "%ctx", abi.CONTEXT_THREADS, "i64")}
  %gang64 = zext i32 %gang to i64
  %first = mul i64 %gang64, {_WIDTH}
  %left = sub i64 %threads, %first
  %some = call i64 @llvm.umin.i64(i64 %left, i64 {_WIDTH})
  %bit = shl i64 1, %some
  %ones = sub i64 %bit, 1
  %mask = trunc i64 %ones to i32
  ret i32 %mask
}}
"""

SCHEDULER = _EPOCHS + _BEGIN + _ROUNDS
