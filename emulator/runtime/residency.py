"""The part of the support library that runs grids whose blocks wait for each other: many blocks are resident at once.

Each OS thread has seats, one worker state a block, and lets the blocks in them run by turns. It starts with one
cluster (one block where there are no clusters). Whenever no cluster has ended in two passes over those that run, as
many again sit down, until all seats are taken: so kernels whose blocks end soon keep few in memory. The blocks of a
cluster always sit together, on one thread, and come and go together. That every block which has begun goes on, and
that no other does before a seat is free, is what the hardware guarantees of resident blocks.
"""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.scheduler import field

ROUNDS = 32
"""Rounds of a block's gangs at one turn, at most."""
_PATIENCE = 2  # passes in which no cluster ended, before more begin
_RUNNING = 1


def _put(base: str, name: str, offset: int, type: str, value: str) -> str:
    return f"  %put.{name} = getelementptr i8, ptr {base}, i64 {offset}\n  store {type} {value}, ptr %put.{name}"


def _moved(name: str, offset: int) -> str:
    """A pointer of the thread's first seat, for another seat."""
    return (
        f"{field(f'first.{name}', '%worker', offset, 'ptr')}\n"
        f"  %own.{name} = getelementptr i8, ptr %first.{name}, i64 %distance\n"
        f"{_put('%tls', name, offset, 'ptr', f'%own.{name}')}"
    )


def _shared_pointer(name: str, offset: int) -> str:
    return f"{field(f'first.{name}', '%worker', offset, 'ptr')}\n{_put('%tls', name, offset, 'ptr', f'%first.{name}')}"


def _axis(axis: str, index: int) -> str:
    """The block's index along an axis: the cluster's times its extent, plus the rank's."""
    return f"""
  %base.{axis} = mul i32 %cluster.{axis}, %extent.{axis}
  %index.{axis} = add i32 %base.{axis}, %inner.{axis}
{_put("%tls", f"index.{axis}", abi.WORKER_BLOCK_INDEX + 4 * index, "i32", f"%index.{axis}")}"""


# Seats the blocks of the next cluster; false where there is none left.
_TAKE = f"""
define internal i1 @take(ptr %ctx, ptr %worker, ptr %first) noinline {{
entry:
{field("blocks", "%ctx", abi.CONTEXT_BLOCKS, "i64")}
{field("size", "%ctx", abi.CONTEXT_CLUSTER_BLOCKS, "i64")}
{field("stride", "%ctx", abi.CONTEXT_SEAT_BYTES, "i64")}
{field("extent.x", "%ctx", abi.CONTEXT_CLUSTER, "i32")}
{field("extent.y", "%ctx", abi.CONTEXT_CLUSTER + 4, "i32")}
{field("extent.z", "%ctx", abi.CONTEXT_CLUSTER + 8, "i32")}
{field("gx", "%ctx", abi.CONTEXT_GRID, "i32")}
{field("gy", "%ctx", abi.CONTEXT_GRID + 4, "i32")}
  %next.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_NEXT_BLOCK}
  %number = atomicrmw add ptr %next.p, i64 %size monotonic
  %over = icmp uge i64 %number, %blocks
  %taken = select i1 %over, i32 0, i32 1
{_put("%first", "taken", abi.WORKER_TAKEN, "i32", "%taken")}
  br i1 %over, label %none, label %some
some:
  %cluster64 = udiv i64 %number, %size
  %cluster = trunc i64 %cluster64 to i32
  %clusters.x = udiv i32 %gx, %extent.x
  %clusters.y = udiv i32 %gy, %extent.y
  %cluster.x = urem i32 %cluster, %clusters.x
  %cluster.row = udiv i32 %cluster, %clusters.x
  %cluster.y = urem i32 %cluster.row, %clusters.y
  %cluster.z = udiv i32 %cluster.row, %clusters.y
  br label %seat
seat:
  %rank = phi i64 [ 0, %some ], [ %rank.next, %seat ]
  %offset = mul i64 %rank, %stride
  %tls = getelementptr i8, ptr %first, i64 %offset
  %there = ptrtoint ptr %tls to i64
  %origin = ptrtoint ptr %worker to i64
  %distance = sub i64 %there, %origin
{_shared_pointer("sites", abi.WORKER_SITES)}
{_shared_pointer("counters", abi.WORKER_COUNTERS)}
{_shared_pointer("clock", abi.WORKER_CLOCK)}
{_moved("shared", abi.WORKER_SHARED)}
{_moved("frames", abi.WORKER_FRAMES)}
{_moved("local", abi.WORKER_LOCAL)}
{_moved("shadow", abi.WORKER_SHADOW)}
  %rank32 = trunc i64 %rank to i32
  %inner.x = urem i32 %rank32, %extent.x
  %inner.row = udiv i32 %rank32, %extent.x
  %inner.y = urem i32 %inner.row, %extent.y
  %inner.z = udiv i32 %inner.row, %extent.y
{_axis("x", 0)}
{_axis("y", 1)}
{_axis("z", 2)}
  %plane = mul i32 %gy, %index.z
  %row = add i32 %plane, %index.y
  %row64 = zext i32 %row to i64
  %gx64 = zext i32 %gx to i64
  %row.first = mul i64 %row64, %gx64
  %x64 = zext i32 %index.x to i64
  %linear = add i64 %row.first, %x64
{_put("%tls", "block", abi.WORKER_BLOCK, "i64", "%linear")}
{_put("%tls", "cluster", abi.WORKER_CLUSTER, "ptr", "%first")}
{_put("%tls", "rank", abi.WORKER_RANK, "i32", "%rank32")}
{_put("%tls", "state", abi.WORKER_STATE, "i32", str(_RUNNING))}
  call void @begin_block(ptr %ctx, ptr %tls)
{field("begun", "%first", abi.WORKER_FIRST_EPOCH, "i32")}
{_put("%tls", "met", abi.WORKER_CLUSTER_EPOCH, "i32", "%begun")}
{_put("%tls", "start", abi.WORKER_FIRST_EPOCH, "i32", "%begun")}
  %rank.next = add i64 %rank, 1
  %more = icmp ult i64 %rank.next, %size
  br i1 %more, label %seat, label %all
all:
  ret i1 true
none:
  ret i1 false
}}
"""

# Lets each block of a cluster run for its turn. Where some still live SUSPENDED, or IDLE if all only go round loops.
_TURN = f"""
define internal i32 @turn(ptr %ctx, ptr %first) noinline {{
entry:
{field("size", "%ctx", abi.CONTEXT_CLUSTER_BLOCKS, "i64")}
{field("stride", "%ctx", abi.CONTEXT_SEAT_BYTES, "i64")}
  br label %seat
seat:
  %rank = phi i64 [ 0, %entry ], [ %rank.next, %next ]
  %living = phi ptr [ null, %entry ], [ %living.next, %next ]
  %moved = phi i1 [ false, %entry ], [ %moved.next, %next ]
  %busy = phi i1 [ false, %entry ], [ %busy.next, %next ]
  %offset = mul i64 %rank, %stride
  %tls = getelementptr i8, ptr %first, i64 %offset
{field("state", "%tls", abi.WORKER_STATE, "i32")}
  %runs = icmp eq i32 %state, {_RUNNING}
  br i1 %runs, label %go, label %next
go:
{field("bx", "%tls", abi.WORKER_BLOCK_INDEX, "i32")}
{field("by", "%tls", abi.WORKER_BLOCK_INDEX + 4, "i32")}
{field("bz", "%tls", abi.WORKER_BLOCK_INDEX + 8, "i32")}
  %rc = call i32 @rounds(ptr %ctx, ptr %tls, i32 {ROUNDS}, i32 %bx, i32 %by, i32 %bz)
  switch i32 %rc, label %leave [ i32 {abi.DONE}, label %ended i32 {abi.SUSPENDED}, label %next
                                 i32 {abi.STUCK}, label %next i32 {abi.IDLE}, label %next ]
ended:
  store i32 0, ptr %state.p
  br label %next
leave:
  ret i32 %rc
next:
  %code = phi i32 [ {abi.STUCK}, %seat ], [ {abi.DONE}, %ended ], [ %rc, %go ], [ %rc, %go ], [ %rc, %go ]
  %lives = phi i1 [ false, %seat ], [ false, %ended ], [ true, %go ], [ true, %go ], [ true, %go ]
  %living.next = select i1 %lives, ptr %tls, ptr %living
  %did = icmp ne i32 %code, {abi.STUCK}
  %moved.next = or i1 %moved, %did
  %loops = icmp eq i32 %code, {abi.IDLE}
  %other = xor i1 %loops, true
  %came = and i1 %did, %other
  %busy.next = or i1 %busy, %came
  %rank.next = add i64 %rank, 1
  %more = icmp ult i64 %rank.next, %size
  br i1 %more, label %seat, label %end
end:
  %gone = icmp eq ptr %living.next, null
  br i1 %gone, label %done, label %meet
meet:
  %opened = call i1 @open_cluster_barrier(ptr %ctx, ptr %first)
  %happened = or i1 %opened, %moved.next
  br i1 %happened, label %alive, label %deadlock
alive:
  %worked = or i1 %opened, %busy.next
  %why = select i1 %worked, i32 {abi.SUSPENDED}, i32 {abi.IDLE}
  ret i32 %why
deadlock:
  call void @fault(ptr %ctx, ptr %living.next, i32 {abi.ILLEGAL_BARRIER}, i32 -1, i32 1)
  ret i32 {abi.FAULTED}
done:
  ret i32 {abi.DONE}
}}
"""

# The barrier opens once every living thread of the cluster has arrived.
_BARRIER = f"""
define internal i1 @open_cluster_barrier(ptr %ctx, ptr %first) noinline {{
entry:
{field("clustered", "%ctx", abi.CONTEXT_CLUSTERED, "i32")}
{field("size", "%ctx", abi.CONTEXT_CLUSTER_BLOCKS, "i64")}
{field("stride", "%ctx", abi.CONTEXT_SEAT_BYTES, "i64")}
{field("gangs", "%ctx", abi.CONTEXT_GANGS, "i64")}
{field("frame.bytes", "%ctx", abi.CONTEXT_FRAME_BYTES, "i64")}
  %concerned = icmp ne i32 %clustered, 0
  br i1 %concerned, label %seat, label %closed
seat:
  %rank = phi i64 [ 0, %entry ], [ %rank.next, %seat.next ]
  %absent = phi i32 [ 0, %entry ], [ %absent.next, %seat.next ]
  %present = phi i32 [ 0, %entry ], [ %present.next, %seat.next ]
  %offset = mul i64 %rank, %stride
  %tls = getelementptr i8, ptr %first, i64 %offset
{field("frames", "%tls", abi.WORKER_FRAMES, "ptr")}
  br label %gang
gang:
  %g = phi i64 [ 0, %seat ], [ %g.next, %gang ]
  %missing = phi i32 [ %absent, %seat ], [ %absent.next, %gang ]
  %here = phi i32 [ %present, %seat ], [ %present.next, %gang ]
  %frame.offset = mul i64 %g, %frame.bytes
  %frame = getelementptr i8, ptr %frames, i64 %frame.offset
{field("alive", "%frame", abi.FRAME_ALIVE, "i32")}
{field("arrived", "%frame", abi.FRAME_CLUSTER_ARRIVED, "i32")}
  %arrived.not = xor i32 %arrived, -1
  %late = and i32 %alive, %arrived.not
  %absent.next = or i32 %missing, %late
  %present.next = or i32 %here, %arrived
  %g.next = add i64 %g, 1
  %g.more = icmp ult i64 %g.next, %gangs
  br i1 %g.more, label %gang, label %seat.next
seat.next:
  %rank.next = add i64 %rank, 1
  %more = icmp ult i64 %rank.next, %size
  br i1 %more, label %seat, label %judge
judge:
  %whole = icmp eq i32 %absent.next, 0
  %some = icmp ne i32 %present.next, 0
  %opens = and i1 %whole, %some
  br i1 %opens, label %free.seat, label %closed
free.seat:
  %r = phi i64 [ 0, %judge ], [ %r.next, %free.next ]
  %met = phi i32 [ 0, %judge ], [ %met.next, %free.next ]
  %r.offset = mul i64 %r, %stride
  %r.tls = getelementptr i8, ptr %first, i64 %r.offset
  call void @pass_epoch(ptr %r.tls)
{field("r.epoch", "%r.tls", abi.WORKER_EPOCH, "i32")}
  ; all blocks of the cluster have met since the first of their new epochs
  %is.first = icmp eq i64 %r, 0
  %met.next = select i1 %is.first, i32 %r.epoch, i32 %met
{_put("%r.tls", "met", abi.WORKER_CLUSTER_EPOCH, "i32", "%met.next")}
{field("r.frames", "%r.tls", abi.WORKER_FRAMES, "ptr")}
  br label %free
free:
  %f = phi i64 [ 0, %free.seat ], [ %f.next, %free ]
  %f.offset = mul i64 %f, %frame.bytes
  %f.frame = getelementptr i8, ptr %r.frames, i64 %f.offset
{_put("%f.frame", "arrived", abi.FRAME_CLUSTER_ARRIVED, "i32", "0")}
{_put("%f.frame", "waiting", abi.FRAME_CLUSTER_WAITING, "i32", "0")}
  %f.next = add i64 %f, 1
  %f.more = icmp ult i64 %f.next, %gangs
  br i1 %f.more, label %free, label %free.next
free.next:
  %r.next = add i64 %r, 1
  %r.more = icmp ult i64 %r.next, %size
  br i1 %r.more, label %free.seat, label %open
open:
  ret i1 true
closed:
  ret i1 false
}}
"""

_RUN = f"""
define i32 @run_resident(ptr %ctx, ptr %worker) {{
entry:
{field("seats", "%worker", abi.WORKER_SEATS, "i64")}
{field("size", "%ctx", abi.CONTEXT_CLUSTER_BLOCKS, "i64")}
{field("stride", "%ctx", abi.CONTEXT_SEAT_BYTES, "i64")}
  %room = udiv i64 %seats, %size
  %cluster.bytes = mul i64 %size, %stride
  br label %grow
grow:
  ; as many clusters again sit down, one at first
  %before = phi i64 [ 0, %entry ], [ %used, %pass.end ]
  %most = phi i64 [ %room, %entry ], [ %most.now, %pass.end ]
  %double = shl i64 %before, 1
  %wish = call i64 @llvm.umax.i64(i64 %double, i64 1)
  %goal = call i64 @llvm.umin.i64(i64 %wish, i64 %most)
  br label %sit
sit:
  %now = phi i64 [ %before, %grow ], [ %now.next, %seated ]
  %full = icmp uge i64 %now, %goal
  br i1 %full, label %start, label %seating
seating:
  %new.offset = mul i64 %now, %cluster.bytes
  %new = getelementptr i8, ptr %worker, i64 %new.offset
  %got = call i1 @take(ptr %ctx, ptr %worker, ptr %new)
  br i1 %got, label %seated, label %exhausted
seated:
  %now.next = add i64 %now, 1
  br label %sit
exhausted:
  br label %start
start:
  %most.next = phi i64 [ %most, %sit ], [ %now, %exhausted ]
  br label %pass
pass:
  %used = phi i64 [ %now, %start ], [ %used, %pass.end ]
  %most.now = phi i64 [ %most.next, %start ], [ %most.now, %pass.end ]
  %idle = phi i32 [ 0, %start ], [ %idle.next, %pass.end ]
  %nobody = icmp eq i64 %used, 0
  br i1 %nobody, label %finished, label %cluster
cluster:
  %c = phi i64 [ 0, %pass ], [ %c.next, %cluster.next ]
  %living = phi i1 [ false, %pass ], [ %living.next, %cluster.next ]
  %fruit = phi i1 [ false, %pass ], [ %fruit.next, %cluster.next ]
  %work = phi i1 [ false, %pass ], [ %work.next, %cluster.next ]
  %offset = mul i64 %c, %cluster.bytes
  %first = getelementptr i8, ptr %worker, i64 %offset
{field("taken", "%first", abi.WORKER_TAKEN, "i32")}
  %empty = icmp eq i32 %taken, 0
  br i1 %empty, label %cluster.next, label %go
go:
  %rc = call i32 @turn(ptr %ctx, ptr %first)
  switch i32 %rc, label %leave [ i32 {abi.DONE}, label %ended i32 {abi.SUSPENDED}, label %cluster.next
                                 i32 {abi.IDLE}, label %cluster.next ]
ended:
  %another = call i1 @take(ptr %ctx, ptr %worker, ptr %first)
  br label %cluster.next
leave:
  ret i32 %rc
cluster.next:
  %lives = phi i1 [ false, %cluster ], [ %another, %ended ], [ true, %go ], [ true, %go ]
  %fruitful = phi i1 [ false, %cluster ], [ true, %ended ], [ false, %go ], [ false, %go ]
  %code = phi i32 [ {abi.IDLE}, %cluster ], [ {abi.DONE}, %ended ], [ %rc, %go ], [ %rc, %go ]
  %works = icmp ne i32 %code, {abi.IDLE}
  %work.next = or i1 %work, %works
  %living.next = or i1 %living, %lives
  %fruit.next = or i1 %fruit, %fruitful
  %c.next = add i64 %c, 1
  %more = icmp ult i64 %c.next, %used
  br i1 %more, label %cluster, label %judge
judge:
  br i1 %living.next, label %check, label %finished
check:
  %flag = load volatile i32, ptr %ctx
  %quiet = icmp eq i32 %flag, 0
  br i1 %quiet, label %rest, label %stopped
rest:
  br i1 %work.next, label %pass.end, label %give.way
give.way:
  ; all blocks here wait, perhaps for those of another OS thread
  call i32 @sched_yield()
  br label %pass.end
pass.end:
  %idle.more = add i32 %idle, 1
  %idle.next = select i1 %fruit.next, i32 0, i32 %idle.more
  %tired = icmp uge i32 %idle.next, {_PATIENCE}
  %free = icmp ult i64 %used, %most.now
  %grows = and i1 %tired, %free
  br i1 %grows, label %grow, label %pass
finished:
  ret i32 0
stopped:
  ret i32 {abi.STOPPED}
}}
declare i64 @llvm.umax.i64(i64, i64)
declare i32 @sched_yield()
"""

RESIDENCY = _TAKE + _BARRIER + _TURN + _RUN
