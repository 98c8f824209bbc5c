"""The part of the support library that lets the lanes of a warp wait for each other.

A lane that waits names its members, see `lowering.abi`. Lanes that named the same members go on once every living one
of them waits for the same. Where nothing else of the block can move, those who still wait go on without the others:
the mask was wrong then, which the checks tell, and hardware lets such programs pass more often than not.
"""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.scheduler import field

MEETINGS = f"""
define void @meet_lanes(ptr %frame) noinline {{
entry:
{field("alive", "%frame", abi.FRAME_ALIVE, "i32")}
{field("waiting", "%frame", abi.FRAME_WARP_WAITING, "i32")}
{field("members", "%frame", abi.FRAME_MEMBERS, "<32 x i32>")}
  br label %group
group:
  %left = phi i32 [ %waiting, %entry ], [ %left.next, %judged ]
  %still = phi i32 [ %waiting, %entry ], [ %still.next, %judged ]
  %over = icmp eq i32 %left, 0
  br i1 %over, label %out, label %first
first:
  ; all who named the same members as the first of the lanes that are left
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %named = extractelement <32 x i32> %members, i32 %lane
  %named0 = insertelement <32 x i32> poison, i32 %named, i64 0
  %namedv = shufflevector <32 x i32> %named0, <32 x i32> poison, <32 x i32> zeroinitializer
  %equal = icmp eq <32 x i32> %members, %namedv
  %equal.word = bitcast <32 x i1> %equal to i32
  %same = and i32 %equal.word, %left
  %others = xor i32 %same, -1
  %left.next = and i32 %left, %others
  %wanted = and i32 %named, %alive
  %missing = and i32 %wanted, %others
  %complete = icmp eq i32 %missing, 0
  %freed = and i32 %still, %others
  br label %judged
judged:
  %still.next = select i1 %complete, i32 %freed, i32 %still
  br label %group
out:
  store i32 %still, ptr %waiting.p
  ret void
}}

; Frees all lanes of the block that wait in their warp; whether there were any.
define internal i1 @part_lanes(ptr %ctx, ptr %tls) noinline {{
entry:
{field("gangs", "%ctx", abi.CONTEXT_GANGS, "i64")}
{field("frame.bytes", "%ctx", abi.CONTEXT_FRAME_BYTES, "i64")}
{field("frames", "%tls", abi.WORKER_FRAMES, "ptr")}
  br label %gang
gang:
  %g = phi i64 [ 0, %entry ], [ %g.next, %gang ]
  %any = phi i32 [ 0, %entry ], [ %any.next, %gang ]
  %offset = mul i64 %g, %frame.bytes
  %frame = getelementptr i8, ptr %frames, i64 %offset
{field("waiting", "%frame", abi.FRAME_WARP_WAITING, "i32")}
  store i32 0, ptr %waiting.p
  %any.next = or i32 %any, %waiting
  %g.next = add i64 %g, 1
  %more = icmp ult i64 %g.next, %gangs
  br i1 %more, label %gang, label %out
out:
  %some = icmp ne i32 %any.next, 0
  ret i1 %some
}}
"""
