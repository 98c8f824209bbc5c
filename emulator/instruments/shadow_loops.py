"""What the checks of both kinds of memory share: a loop over the bytes of an access, in LLVM IR."""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.scheduler import field


def word(name: str, index: int) -> str:
    """Loads a word of a cell into %name."""
    return f"  %{name}.p = getelementptr i32, ptr %cell, i64 {index}\n  %{name} = load i32, ptr %{name}.p"


def byte_loop(name: str, body: str, prelude: str, gang: str) -> str:
    """A function that runs `body` for each byte of each active lane; the body ends in `br label %next`.

    `gang` gives the number of the gang, from which those of threads follow.
    """
    return f"""
define void @{name}(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i32 %mask, i32 %size, i32 %kind,
                    ptr %data) noinline {{
entry:
  %size64 = zext i32 %size to i64
  %plain = and i32 %kind, 3
  %strong.bit = and i32 %kind, 4
  %strong = icmp ne i32 %strong.bit, 0
  %is.read = icmp eq i32 %plain, 0
  %is.write = icmp eq i32 %plain, 1
  %is.atomic = icmp eq i32 %plain, 2
  %copy.bit = and i32 %kind, 8
  %is.copy = icmp ne i32 %copy.bit, 0
{field("own.gang", "%tls", abi.WORKER_GANG, "i32")}
{field("block", "%tls", abi.WORKER_BLOCK, "i64")}
{field("epoch", "%tls", abi.WORKER_EPOCH, "i32")}
{field("first.epoch", "%tls", abi.WORKER_FIRST_EPOCH, "i32")}
{field("threads", "%ctx", abi.CONTEXT_THREADS, "i64")}
{prelude}
  %gang = {gang}
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %lane.loop
lane.loop:
  %left = phi i32 [ %mask, %entry ], [ %left.next, %lane.next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %lane64 = zext i32 %lane to i64
  %lane.bit = shl i32 1, %lane
  %gang.first = mul i32 %gang, 32
  %thread = add i32 %gang.first, %lane
  %address.p = getelementptr i64, ptr %addresses, i64 %lane64
  %address = load i64, ptr %address.p
  %data.lane = mul i64 %lane64, %size64
  br label %byte
byte:
  %b = phi i64 [ 0, %lane.loop ], [ %b.next, %next ]
  %at = add i64 %address, %b
{body}
next:
  %b.next = add i64 %b, 1
  %more = icmp ult i64 %b.next, %size64
  br i1 %more, label %byte, label %lane.next
lane.next:
  %less = sub i32 %left, 1
  %left.next = and i32 %left, %less
  %done = icmp eq i32 %left.next, 0
  br i1 %done, label %out, label %lane.loop
out:
  ret void
}}
"""


def find_with(label: str, kind: int, then: str) -> str:
    """Code that tells a finding about %told."""
    return f"""{label}:
  call void @finding(ptr %ctx, ptr %tls, i32 {kind}, i32 %site, i32 %lane.bit, i64 %told)
  br label %{then}
"""
