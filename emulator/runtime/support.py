"""The support library in LLVM IR: bounds look-ups, slow accesses and fault records, beside the scheduler.

It is compiled once a process; kernels link against its symbols. See `lowering.abi` for the structures.
"""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.bulk_copies import BULK_COPIES, BULK_COPY_SYMBOLS
from emulator.runtime.halves import HALF_SYMBOLS, HALVES
from emulator.runtime.idleness import IDLENESS
from emulator.runtime.mbarriers import MBARRIER_SYMBOLS, MBARRIERS
from emulator.runtime.meetings import MEETINGS
from emulator.runtime.residency import RESIDENCY
from emulator.runtime.run_to_end import RUN_TO_END
from emulator.runtime.scheduler import SCHEDULER, field
from emulator.runtime.slow_accesses import SLOW_ACCESSES

_WIDTH = 32


_RECORD = f"""
define internal void @record(ptr %ctx, ptr %tls, i32 %kind, i32 %site, i32 %space, i32 %access, i32 %size,
                             i64 %address, i32 %lane) noinline cold {{
  %claimed = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_CLAIMED}
  %pair = cmpxchg ptr %claimed, i32 0, i32 1 seq_cst seq_cst
  %first = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %first, label %write, label %out
write:
{field("gang", "%tls", abi.WORKER_GANG, "i32")}
{field("block", "%tls", abi.WORKER_BLOCK, "i64")}
  %r0 = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_FAULT}
  store i32 %kind, ptr %r0
  %r1 = getelementptr i8, ptr %r0, i64 4
  store i32 %site, ptr %r1
  %r2 = getelementptr i8, ptr %r0, i64 8
  store i32 %space, ptr %r2
  %r3 = getelementptr i8, ptr %r0, i64 12
  store i32 %access, ptr %r3
  %r4 = getelementptr i8, ptr %r0, i64 16
  %size64 = zext i32 %size to i64
  store i64 %size64, ptr %r4
  %r5 = getelementptr i8, ptr %r0, i64 24
  store i64 %address, ptr %r5
  ; a gang may be two warps, or begin inside one
{field("first.lane", "%tls", abi.WORKER_FIRST_LANE, "i32")}
  %from.warp = add i32 %first.lane, %lane
  %own.lane = and i32 %from.warp, 31
  %further = lshr i32 %from.warp, 5
  %warp = add i32 %gang, %further
  %r6 = getelementptr i8, ptr %r0, i64 32
  store i32 %own.lane, ptr %r6
  %r7 = getelementptr i8, ptr %r0, i64 36
  store i32 %warp, ptr %r7
  %r8 = getelementptr i8, ptr %r0, i64 40
  store i64 %block, ptr %r8
  %r9 = getelementptr i8, ptr %r0, i64 48
  store ptr %tls, ptr %r9
  fence seq_cst
  store volatile i32 1, ptr %ctx
  br label %out
out:
  ret void
}}

define void @fault(ptr %ctx, ptr %tls, i32 %kind, i32 %site, i32 %mask) noinline cold {{
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  call void @record(ptr %ctx, ptr %tls, i32 %kind, i32 %site, i32 0, i32 0, i32 0, i64 0, i32 %lane)
  ret void
}}
"""
# What the checks found: the first of each kind at each site is kept, and the kernel runs on.
_FINDING = f"""
define void @finding(ptr %ctx, ptr %tls, i32 %kind, i32 %site, i32 %mask, i64 %address) noinline cold {{
{field("found", "%ctx", abi.CONTEXT_FOUND, "ptr")}
{field("list", "%ctx", abi.CONTEXT_FINDINGS, "ptr")}
  %row = mul i32 %site, {abi.MOST_KINDS}
  %index = add i32 %row, %kind
  %flag = getelementptr i8, ptr %found, i32 %index
  %before = atomicrmw xchg ptr %flag, i8 1 seq_cst
  %known = icmp ne i8 %before, 0
  br i1 %known, label %out, label %fresh
fresh:
  %number = atomicrmw add ptr %list, i32 1 seq_cst
  %fits = icmp ult i32 %number, {abi.MOST_FINDINGS}
  br i1 %fits, label %write, label %out
write:
{field("gang", "%tls", abi.WORKER_GANG, "i32")}
{field("block", "%tls", abi.WORKER_BLOCK, "i64")}
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)
  %offset = mul i32 %number, {abi.FINDING_BYTES}
  %skip = add i32 %offset, 16
  %r0 = getelementptr i8, ptr %list, i32 %skip
  store i32 %kind, ptr %r0
  %r1 = getelementptr i8, ptr %r0, i64 4
  store i32 %site, ptr %r1
  %r5 = getelementptr i8, ptr %r0, i64 24
  store i64 %address, ptr %r5
  %r6 = getelementptr i8, ptr %r0, i64 32
  store i32 %lane, ptr %r6
  %r7 = getelementptr i8, ptr %r0, i64 36
  store i32 %gang, ptr %r7
  %r8 = getelementptr i8, ptr %r0, i64 40
  store i64 %block, ptr %r8
  br label %out
out:
  ret void
}}
"""

# One lane's address to a host pointer; null where the access is at fault, which is then recorded.
_HOST_POINTER = f"""
define internal ptr @host_pointer(ptr %ctx, ptr %tls, i32 %site, i64 %address, i32 %size, i32 %space, i32 %access,
                                  i32 %extra, i32 %lane) noinline {{
entry:
  %size64 = zext i32 %size to i64
  %below = sub i64 %size64, 1
  %low = and i64 %address, %below
  %odd = icmp ne i64 %low, 0
  %tag = lshr i64 %address, 56
  %generic = icmp eq i32 %space, 0
  %tag32 = trunc i64 %tag to i32
  %tagged = add i32 %tag32, 1
  %istag = icmp ne i32 %tag32, 0
  %small = icmp ule i32 %tag32, 2
  %use0 = and i1 %generic, %istag
  %use = and i1 %use0, %small
  %plain = select i1 %generic, i32 1, i32 %space
  %real = select i1 %use, i32 %tagged, i32 %plain
  %cut = and i64 %address, {(1 << 56) - 1}
  %offset = select i1 %use, i64 %cut, i64 %address
  switch i32 %real, label %global [ i32 2, label %shared i32 3, label %local ]
shared:
{field("shared.size", "%ctx", abi.CONTEXT_SHARED_BYTES, "i64")}
{field("shared.base", "%tls", abi.WORKER_SHARED, "ptr")}
  %rank.more = lshr i64 %offset, {abi.RANK_SHIFT}
  %far = icmp ne i64 %rank.more, 0
  %shared.own = getelementptr i8, ptr %shared.base, i64 %offset
  br i1 %far, label %cluster, label %area
cluster:
{field("cluster.blocks", "%ctx", abi.CONTEXT_CLUSTER_BLOCKS, "i64")}
  %exists = icmp ule i64 %rank.more, %cluster.blocks
  br i1 %exists, label %other, label %beyond
beyond:
  ; a rank that the cluster does not have, or far out of the block's own memory
  %clustered = icmp ugt i64 %cluster.blocks, 1
  %is.rank = icmp ult i64 %rank.more, 256
  %strange = and i1 %clustered, %is.rank
  br i1 %strange, label %absent, label %area
absent:
  call void @record(ptr %ctx, ptr %tls, i32 {abi.ABSENT_BLOCK}, i32 %site, i32 2, i32 %access, i32 0, i64 %offset,
                    i32 %lane)
  ret ptr null
other:
{field("stride", "%ctx", abi.CONTEXT_SEAT_BYTES, "i64")}
{field("cluster.first", "%tls", abi.WORKER_CLUSTER, "ptr")}
  %rank = sub i64 %rank.more, 1
  %seat.offset = mul i64 %rank, %stride
  %seat = getelementptr i8, ptr %cluster.first, i64 %seat.offset
{field("seat.state", "%seat", abi.WORKER_STATE, "i32")}
{field("seat.shared", "%seat", abi.WORKER_SHARED, "ptr")}
  %there = and i64 %offset, {(1 << abi.RANK_SHIFT) - 1}
  %shared.other = getelementptr i8, ptr %seat.shared, i64 %there
  %gone = icmp eq i32 %seat.state, 0
  br i1 %gone, label %ended, label %area
ended:
  call void @record(ptr %ctx, ptr %tls, i32 {abi.ABSENT_BLOCK}, i32 %site, i32 2, i32 %access, i32 %size, i64 %offset,
                    i32 %lane)
  ret ptr null
local:
{field("local.size", "%ctx", abi.CONTEXT_LOCAL_BYTES, "i64")}
{field("local.base", "%tls", abi.WORKER_LOCAL, "ptr")}
{field("gang", "%tls", abi.WORKER_GANG, "i32")}
  %gang64 = zext i32 %gang to i64
  %gang.bytes = mul i64 %local.size, {_WIDTH}
  %gang.start = mul i64 %gang64, %gang.bytes
  %row = and i64 %offset, -4
  %row.start = mul i64 %row, {_WIDTH}
  %inside = and i64 %offset, 3
  %lane64 = zext i32 %lane to i64
  %column = mul i64 %lane64, 4
  %l0 = add i64 %gang.start, %row.start
  %l1 = add i64 %l0, %inside
  %l2 = add i64 %l1, %column
  %local.pointer = getelementptr i8, ptr %local.base, i64 %l2
  br label %area
area:
  %area.size = phi i64 [ %shared.size, %shared ], [ 0, %beyond ], [ %shared.size, %other ], [ %local.size, %local ]
  %area.pointer = phi ptr [ %shared.own, %shared ], [ null, %beyond ], [ %shared.other, %other ],
                          [ %local.pointer, %local ]
  %area.offset = phi i64 [ %offset, %shared ], [ %offset, %beyond ], [ %there, %other ], [ %offset, %local ]
  %fits = icmp ule i64 %size64, %area.size
  %most = sub i64 %area.size, %size64
  %in = icmp ule i64 %area.offset, %most
  %good = and i1 %fits, %in
  br i1 %good, label %aligned, label %bad
aligned:
  br i1 %odd, label %bad, label %yes
yes:
  ret ptr %area.pointer
global:
{field("starts", "%ctx", abi.CONTEXT_STARTS, "ptr")}
{field("sizes", "%ctx", abi.CONTEXT_SIZES, "ptr")}
{field("count", "%ctx", abi.CONTEXT_ALLOCATIONS, "i64")}
  br label %search
search:
  %from = phi i64 [ 0, %global ], [ %from.next, %step ]
  %to = phi i64 [ %count, %global ], [ %to.next, %step ]
  %some = icmp ult i64 %from, %to
  br i1 %some, label %step, label %found
step:
  %sum = add i64 %from, %to
  %middle = lshr i64 %sum, 1
  %middle.p = getelementptr i64, ptr %starts, i64 %middle
  %middle.start = load i64, ptr %middle.p
  %right = icmp ule i64 %middle.start, %address
  %middle.next = add i64 %middle, 1
  %from.next = select i1 %right, i64 %middle.next, i64 %from
  %to.next = select i1 %right, i64 %to, i64 %middle
  br label %search
found:
  %any = icmp ne i64 %from, 0
  br i1 %any, label %candidate, label %bad
candidate:
  %index = sub i64 %from, 1
  %start.p = getelementptr i64, ptr %starts, i64 %index
  %start = load i64, ptr %start.p
  %bytes.p = getelementptr i64, ptr %sizes, i64 %index
  %bytes = load i64, ptr %bytes.p
  %large = icmp ule i64 %size64, %bytes
  %last = sub i64 %bytes, %size64
  %distance = sub i64 %address, %start
  %within = icmp ule i64 %distance, %last
  %ok = and i1 %large, %within
  br i1 %ok, label %check, label %bad
check:
  br i1 %odd, label %bad, label %fill
fill:
  %shift32 = call i32 @llvm.cttz.i32(i32 %size, i1 true)
  %shift = zext i32 %shift32 to i64
  %accesses = lshr i64 %bytes, %shift
  %extra64 = zext i32 %extra to i64
  %limit = call i64 @llvm.usub.sat.i64(i64 %accesses, i64 %extra64)
{field("sites", "%tls", abi.WORKER_SITES, "ptr")}
  %site64 = zext i32 %site to i64
  %slot.offset = shl i64 %site64, 4
  %slot = getelementptr i8, ptr %sites, i64 %slot.offset
  store i64 %start, ptr %slot
  %slot.limit = getelementptr i8, ptr %slot, i64 8
  store i64 %limit, ptr %slot.limit
  %pointer = inttoptr i64 %address to ptr
  ret ptr %pointer
bad:
  %reached = phi i1 [ false, %area ], [ true, %aligned ], [ false, %found ], [ false, %candidate ], [ true, %check ]
  %is.plain = icmp ne i32 %real, 2
  %is.plain2 = icmp ne i32 %real, 3
  %plain.memory = and i1 %is.plain, %is.plain2
  %tiny = icmp ult i64 %address, 65536
  %null = and i1 %tiny, %plain.memory
  %kind0 = select i1 %reached, i32 {abi.MISALIGNED}, i32 {abi.OUT_OF_BOUNDS}
  %kind = select i1 %null, i32 {abi.NULL}, i32 %kind0
  call void @record(ptr %ctx, ptr %tls, i32 %kind, i32 %site, i32 %real, i32 %access, i32 %size, i64 %offset,
                    i32 %lane)
  ret ptr null
}}

define ptr @resolve_one(ptr %ctx, ptr %tls, i32 %site, i64 %address, i64 %mask, i32 %size, i32 %space,
                        i32 %access, i32 %extra) noinline {{
  %lane64 = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
  %lane = trunc i64 %lane64 to i32
  %p = call ptr @host_pointer(ptr %ctx, ptr %tls, i32 %site, i64 %address, i32 %size, i32 %space, i32 %access,
                              i32 %extra, i32 %lane)
  ret ptr %p
}}
"""


_DECLARATIONS = """
declare i32 @llvm.cttz.i32(i32, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.umax.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare i32 @llvm.vector.reduce.or.v16i32(<16 x i32>)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

SYMBOLS = (
    "list_addresses", "slow_load", "slow_store", "resolve", "resolve_one", "fault", "finding", "initial_lanes",
    "pass_gang_epoch", "run", "run_resident", "global_time", "meet_lanes", "cycle_count", *MBARRIER_SYMBOLS,
    *BULK_COPY_SYMBOLS, *HALF_SYMBOLS,
)  # fmt: skip


def support_ir() -> str:
    """The library's text."""
    return "\n".join((
        _RECORD,
        _FINDING,
        _HOST_POINTER,
        SLOW_ACCESSES,
        HALVES,
        MBARRIERS,
        BULK_COPIES,
        IDLENESS,
        MEETINGS,
        SCHEDULER,
        RUN_TO_END,
        RESIDENCY,
        _DECLARATIONS,
    ))  # fmt: skip
