"""The part of the support library that runs grids whose blocks never wait for each other: each block to its end.

OS threads take blocks from an atomic counter. Grids of blocks that wait for each other are run by `residency`.
"""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.scheduler import CALL_GANG, KERNEL, field

_WIDTH = 32

RUN_TO_END = f"""
define i32 @run(ptr %ctx, ptr %tls) {{
entry:
{field("blocks", "%ctx", abi.CONTEXT_BLOCKS, "i64")}
{field("gx", "%ctx", abi.CONTEXT_GRID, "i32")}
{field("gy", "%ctx", abi.CONTEXT_GRID + 4, "i32")}
{field("calls", "%ctx", abi.CONTEXT_CALLS, "i64")}
{field("chunk", "%ctx", abi.CONTEXT_CHUNK, "i64")}
{field("frame.bytes", "%ctx", abi.CONTEXT_FRAME_BYTES, "i64")}
{field("local.bytes", "%ctx", abi.CONTEXT_LOCAL_BYTES, "i64")}
{field("shared", "%tls", abi.WORKER_SHARED, "ptr")}
{field("frames", "%tls", abi.WORKER_FRAMES, "ptr")}
{field("locals", "%tls", abi.WORKER_LOCAL, "ptr")}
  %gang.local = mul i64 %local.bytes, {_WIDTH}
  %suspends = icmp ne i64 %frame.bytes, 0
  ; without frames and checks a block has nothing to begin with
{field("found", "%ctx", abi.CONTEXT_FOUND, "ptr")}
  %unchecked = icmp eq ptr %found, null
  %frameless = xor i1 %suspends, true
  %plain = and i1 %frameless, %unchecked
  %next.p = getelementptr i8, ptr %ctx, i64 {abi.CONTEXT_NEXT_BLOCK}
  %block.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_BLOCK}
  %gang.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_GANG}
  br label %fetch
fetch:
  %first = atomicrmw add ptr %next.p, i64 %chunk monotonic
  %over = icmp uge i64 %first, %blocks
  br i1 %over, label %finished, label %chunk.start
chunk.start:
  %last.x = add i64 %first, %chunk
  %last = call i64 @llvm.umin.i64(i64 %last.x, i64 %blocks)
  br label %block
block:
  %i = phi i64 [ %first, %chunk.start ], [ %i.next, %block.done ]
  %flag = load volatile i32, ptr %ctx
  %quiet = icmp eq i32 %flag, 0
  br i1 %quiet, label %block.start, label %stopped
block.start:
  store i64 %i, ptr %block.p
  br i1 %plain, label %block.index, label %block.begin
block.begin:
  call void @begin_block(ptr %ctx, ptr %tls)
  br label %block.index
block.index:
  %i32 = trunc i64 %i to i32
  %bx = urem i32 %i32, %gx
  %row = udiv i32 %i32, %gx
  %by = urem i32 %row, %gy
  %bz = udiv i32 %row, %gy
  br i1 %suspends, label %scheduled, label %gang
gang:
  %g = phi i64 [ 0, %block.index ], [ %g.next, %gang.done ]
  %w = trunc i64 %g to i32
  store i32 %w, ptr %gang.p
  %local.offset = mul i64 %g, %gang.local
  %local = getelementptr i8, ptr %locals, i64 %local.offset
{KERNEL}
  %rc = {CALL_GANG.replace("%frame", "%frames")}
  %fine = icmp eq i32 %rc, 0
  br i1 %fine, label %gang.done, label %broken
gang.done:
  %g.next = add i64 %g, 1
  %more = icmp ult i64 %g.next, %calls
  br i1 %more, label %gang, label %block.done
scheduled:
  %rs = call i32 @rounds(ptr %ctx, ptr %tls, i32 0, i32 %bx, i32 %by, i32 %bz)
  %fine.s = icmp eq i32 %rs, 0
  br i1 %fine.s, label %block.done, label %broken
block.done:
  %i.next = add i64 %i, 1
  %again = icmp ult i64 %i.next, %last
  br i1 %again, label %block, label %fetch
broken:
  %code = phi i32 [ %rc, %gang ], [ %rs, %scheduled ]
  ret i32 %code
stopped:
  ret i32 {abi.STOPPED}
finished:
  ret i32 0
}}
"""
