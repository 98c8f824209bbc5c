"""The part of the support library that copies stretches of memory, for cp.async and cp.async.bulk."""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.mbarriers import lane_loop, lane_value, misused
from emulator.runtime.scheduler import field

_BULK = 16  # what addresses and sizes of bulk copies are multiples of

# The host pointer of `size` bytes at an aligned address of one allocation; null where they are not, which is recorded.
_STRETCH = f"""
define internal ptr @stretch(ptr %ctx, ptr %tls, i32 %site, i64 %address, i32 %size, i32 %alignment, i32 %space,
                             i32 %access, i32 %lane) noinline {{
entry:
  %below = sub i32 %alignment, 1
  %below64 = zext i32 %below to i64
  %low = and i64 %address, %below64
  %odd = icmp ne i64 %low, 0
  br i1 %odd, label %misaligned, label %look
misaligned:
  call void @record(ptr %ctx, ptr %tls, i32 {abi.MISALIGNED}, i32 %site, i32 %space, i32 %access, i32 %alignment,
                    i64 %address, i32 %lane)
  ret ptr null
look:
{field("sites", "%tls", abi.WORKER_SITES, "ptr")}
  %site64 = zext i32 %site to i64
  %slot.offset = shl i64 %site64, 4
  %slot = getelementptr i8, ptr %sites, i64 %slot.offset
  %first = call ptr @host_pointer(ptr %ctx, ptr %tls, i32 %site, i64 %address, i32 1, i32 %space, i32 %access,
                                  i32 0, i32 %lane)
  %no.first = icmp eq ptr %first, null
  br i1 %no.first, label %outside, label %tail
tail:
  %start.first = load i64, ptr %slot
  %size64 = zext i32 %size to i64
  %behind = add i64 %address, %size64
  %last.address = sub i64 %behind, 1
  %last = call ptr @host_pointer(ptr %ctx, ptr %tls, i32 %site, i64 %last.address, i32 1, i32 %space, i32 %access,
                                 i32 0, i32 %lane)
  %no.last = icmp eq ptr %last, null
  br i1 %no.last, label %outside, label %compare
compare:
  %start.last = load i64, ptr %slot
  %same = icmp eq i64 %start.first, %start.last
  br i1 %same, label %good, label %apart
good:
  ret ptr %first
apart:
  call void @record(ptr %ctx, ptr %tls, i32 {abi.OUT_OF_BOUNDS}, i32 %site, i32 %space, i32 %access, i32 %size,
                    i64 %address, i32 %lane)
  ret ptr null
outside:
  ; The bytes at the ends were looked up; the report is of the whole.
{field("recorded", "%ctx", abi.CONTEXT_FAULT + 48, "ptr")}
  %ours = icmp eq ptr %recorded, %tls
  br i1 %ours, label %widen, label %lost
widen:
  %size.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_FAULT + 16}
  %whole = zext i32 %size to i64
  store i64 %whole, ptr %size.p
  %address.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_FAULT + 24}
  store i64 %address, ptr %address.p
  br label %lost
lost:
  ret ptr null
}}
"""

# cp.async of `size` bytes, of which `given` come from the source and the rest are 0.
_FILLED = lane_loop(
    "copy_filled",
    "i32 %to, ptr %targets, i32 %from, ptr %sources, i32 %size, ptr %given",
    f"""
{lane_value("source.address", "i64", "sources")}
{lane_value("target.address", "i64", "targets")}
{lane_value("asked", "i32", "given")}
  %count = call i32 @llvm.umin.i32(i32 %asked, i32 %size)
  %target = call ptr @stretch(ptr %ctx, ptr %tls, i32 %site, i64 %target.address, i32 %size, i32 %size, i32 %to,
                              i32 {abi.WRITE}, i32 %lane)
  %no.target = icmp eq ptr %target, null
  br i1 %no.target, label %fail, label %clear
clear:
  %size64 = zext i32 %size to i64
  call void @llvm.memset.p0.i64(ptr %target, i8 0, i64 %size64, i1 false)
  %reads = icmp ne i32 %count, 0
  br i1 %reads, label %read, label %next
read:
  %source = call ptr @stretch(ptr %ctx, ptr %tls, i32 %site, i64 %source.address, i32 %count, i32 %size, i32 %from,
                              i32 {abi.READ}, i32 %lane)
  %no.source = icmp eq ptr %source, null
  br i1 %no.source, label %fail, label %copy
copy:
  %count64 = zext i32 %count to i64
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %count64, i1 false)
  br label %next
""",
)

# Checks both ends of a bulk copy; `found` gets the host pointers of all targets, then of all sources.
_BULK_ENDS = lane_loop(
    "bulk_ends",
    "i32 %to, ptr %targets, i32 %write, i32 %from, ptr %sources, ptr %sizes, ptr %found",
    f"""
{lane_value("size", "i32", "sizes")}
{lane_value("source.address", "i64", "sources")}
{lane_value("target.address", "i64", "targets")}
  %target.p = getelementptr ptr, ptr %found, i64 %lane64
  %source.at = add i64 %lane64, 32
  %source.p = getelementptr ptr, ptr %found, i64 %source.at
  %rest = and i32 %size, {_BULK - 1}
  %whole = icmp eq i32 %rest, 0
  br i1 %whole, label %sized, label %odd.size
{misused(abi.ASYNC_COPY, "%size", "odd.size", "%target.address")}
sized:
  %empty = icmp eq i32 %size, 0
  br i1 %empty, label %nothing, label %ends
nothing:
  store ptr null, ptr %target.p
  store ptr null, ptr %source.p
  br label %next
ends:
  %source = call ptr @stretch(ptr %ctx, ptr %tls, i32 %site, i64 %source.address, i32 %size, i32 {_BULK}, i32 %from,
                              i32 {abi.READ}, i32 %lane)
  %no.source = icmp eq ptr %source, null
  br i1 %no.source, label %fail, label %source.found
source.found:
  store ptr %source, ptr %source.p
  %target = call ptr @stretch(ptr %ctx, ptr %tls, i32 %site, i64 %target.address, i32 %size, i32 {_BULK}, i32 %to,
                              i32 %write, i32 %lane)
  %no.target = icmp eq ptr %target, null
  br i1 %no.target, label %fail, label %target.found
target.found:
  store ptr %target, ptr %target.p
  br label %next
""",
)

# Copies between the ends found above; `masks` (null: all) says which bytes of each 16 are copied.
_BULK_COPY = lane_loop(
    "bulk_copy",
    "ptr %sizes, ptr %found, ptr %masks",
    f"""
{lane_value("size", "i32", "sizes")}
{lane_value("target", "ptr", "found")}
  %source.at = add i64 %lane64, 32
  %source.p = getelementptr ptr, ptr %found, i64 %source.at
  %source = load ptr, ptr %source.p
  %size64 = zext i32 %size to i64
  %all = icmp eq ptr %masks, null
  br i1 %all, label %whole, label %masked
whole:
  call void @llvm.memmove.p0.p0.i64(ptr %target, ptr %source, i64 %size64, i1 false)
  br label %next
masked:
{lane_value("bytes", "i32", "masks")}
  br label %test
test:
  %at = phi i64 [ 0, %masked ], [ %at.next, %on ]
  %more = icmp ult i64 %at, %size64
  br i1 %more, label %byte, label %next
byte:
  %place = and i64 %at, {_BULK - 1}
  %place32 = trunc i64 %place to i32
  %shifted = lshr i32 %bytes, %place32
  %bit = and i32 %shifted, 1
  %taken = icmp ne i32 %bit, 0
  br i1 %taken, label %take, label %on
take:
  %from.p = getelementptr i8, ptr %source, i64 %at
  %to.p = getelementptr i8, ptr %target, i64 %at
  %value = load i8, ptr %from.p
  store i8 %value, ptr %to.p
  br label %on
on:
  %at.next = add i64 %at, 1
  br label %test
""",
)

# st.bulk: zeros.
_BULK_ZERO = lane_loop(
    "bulk_zero",
    "i32 %to, ptr %targets, ptr %sizes",
    f"""
{lane_value("size", "i32", "sizes")}
{lane_value("target.address", "i64", "targets")}
  %rest = and i32 %size, 7
  %whole = icmp eq i32 %rest, 0
  br i1 %whole, label %sized, label %odd.size
{misused(abi.ASYNC_COPY, "%size", "odd.size", "%target.address")}
sized:
  %empty = icmp eq i32 %size, 0
  br i1 %empty, label %next, label %look
look:
  %target = call ptr @stretch(ptr %ctx, ptr %tls, i32 %site, i64 %target.address, i32 %size, i32 8, i32 %to,
                              i32 {abi.WRITE}, i32 %lane)
  %no.target = icmp eq ptr %target, null
  br i1 %no.target, label %fail, label %clear
clear:
  %size64 = zext i32 %size to i64
  call void @llvm.memset.p0.i64(ptr %target, i8 0, i64 %size64, i1 false)
  br label %next
""",
)

BULK_COPIES = (
    _STRETCH + _FILLED + _BULK_ENDS + _BULK_COPY + _BULK_ZERO
    + """
declare i32 @llvm.umin.i32(i32, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""
)  # fmt: skip
BULK_COPY_SYMBOLS = ("copy_filled", "bulk_ends", "bulk_copy", "bulk_zero")
