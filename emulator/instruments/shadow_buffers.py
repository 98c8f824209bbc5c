"""The check of accesses to buffers, in LLVM IR.

A cell of a buffer has four words: thread + 1 and epoch of the last write and of the last reads, −1 being several
threads.
"""

from __future__ import annotations

from emulator.instruments.shadow_loops import byte_loop, find_with, word
from emulator.lowering import abi
from emulator.runtime.scheduler import field

_CELL = 16

# Bytes of buffers: whether somebody wrote them, where that matters, and races, where cells exist.
CHECK_BUFFERS = byte_loop(
    "check_global",
    f"""
  br label %find
find:
  %i = phi i64 [ 0, %byte ], [ %i.next, %find.next ]
  %have = icmp ult i64 %i, %count
  br i1 %have, label %try, label %next
try:
  %entry.offset = mul i64 %i, 32
  %entry.p = getelementptr i8, ptr %table, i64 %entry.offset
  %start = load i64, ptr %entry.p
  %bytes.p = getelementptr i8, ptr %entry.p, i64 8
  %bytes = load i64, ptr %bytes.p
  %offset = sub i64 %at, %start
  %here = icmp ult i64 %offset, %bytes
  br i1 %here, label %hit, label %find.next
find.next:
  %i.next = add i64 %i, 1
  br label %find
hit:
  %told = or i64 %at, 0
  %known.p = getelementptr i8, ptr %entry.p, i64 16
  %known = load ptr, ptr %known.p
  %cells.p = getelementptr i8, ptr %entry.p, i64 24
  %cells = load ptr, ptr %cells.p
  %tracks = icmp ne ptr %known, null
  br i1 %tracks, label %track, label %tracked
track:
  %known.byte = getelementptr i8, ptr %known, i64 %offset
  br i1 %is.write, label %set, label %test
set:
  store i8 1, ptr %known.byte
  br label %tracked
test:
  %is.known = load i8, ptr %known.byte
  %unknown = icmp eq i8 %is.known, 0
  br i1 %unknown, label %uninitialised, label %tracked
{find_with("uninitialised", abi.UNINITIALISED, "tracked")}
tracked:
  %shadowed = icmp ne ptr %cells, null
  %weak = xor i1 %strong, true
  %checked0 = and i1 %shadowed, %weak
  %not.atomic = xor i1 %is.atomic, true
  %checked = and i1 %checked0, %not.atomic
  br i1 %checked, label %look, label %next
look:
  %cell.offset = mul i64 %offset, {_CELL}
  %cell = getelementptr i8, ptr %cells, i64 %cell.offset
{word("w.thread", 0)}
{word("w.epoch", 1)}
{word("r.thread", 2)}
{word("r.epoch", 3)}
  %me64 = mul i64 %block, %threads
  %thread64 = zext i32 %thread to i64
  %me65 = add i64 %me64, %thread64
  %me66 = add i64 %me65, 1
  %me = trunc i64 %me66 to i32
  %base64 = add i64 %me64, 1
  %base = trunc i64 %base64 to i32
  %gang.base0 = mul i32 %gang, 32
  %gang.base = add i32 %base, %gang.base0
  %threads32 = trunc i64 %threads to i32
  %w.set = icmp ne i32 %w.thread, 0
  %w.in = sub i32 %w.thread, %base
  %w.block = icmp ult i32 %w.in, %threads32
  %w.old = icmp ult i32 %w.epoch, %epoch
  %w.ordered = and i1 %w.block, %w.old
  %w.g = sub i32 %w.thread, %gang.base
  %w.gang = icmp ult i32 %w.g, 32
  %w.fine = or i1 %w.ordered, %w.gang
  %w.free = xor i1 %w.fine, true
  %w.conflict = and i1 %w.set, %w.free
  %r.set = icmp ne i32 %r.thread, 0
  %r.in = sub i32 %r.thread, %base
  %r.block = icmp ult i32 %r.in, %threads32
  %r.old = icmp ult i32 %r.epoch, %epoch
  %r.ordered = and i1 %r.block, %r.old
  %r.g = sub i32 %r.thread, %gang.base
  %r.gang = icmp ult i32 %r.g, 32
  %r.fine = or i1 %r.ordered, %r.gang
  %r.free = xor i1 %r.fine, true
  %r.conflict0 = and i1 %r.set, %r.free
  %r.conflict = and i1 %r.conflict0, %is.write
  %has.data = icmp ne ptr %data, null
  br i1 %has.data, label %compare, label %decide
compare:
  %data.at = add i64 %data.lane, %b
  %data.p = getelementptr i8, ptr %data, i64 %data.at
  %new = load i8, ptr %data.p
  %memory = inttoptr i64 %at to ptr
  %old = load i8, ptr %memory
  %equal = icmp eq i8 %new, %old
  br label %decide
decide:
  %same = phi i1 [ false, %look ], [ %equal, %compare ]
  %changes = xor i1 %same, true
  %conflict0 = or i1 %w.conflict, %r.conflict
  %conflict = and i1 %conflict0, %changes
  br i1 %conflict, label %raced, label %update
{find_with("raced", abi.RACE, "update")}
update:
  br i1 %is.read, label %note.read, label %note.write
note.write:
  store i32 %me, ptr %w.thread.p
  store i32 %epoch, ptr %w.epoch.p
  br label %next
note.read:
  %r.none = icmp eq i32 %r.thread, 0
  %r.stale = and i1 %r.block, %r.old
  %r.self = icmp eq i32 %r.thread, %me
  %r.k0 = or i1 %r.none, %r.stale
  %r.keep = or i1 %r.k0, %r.self
  %r.new = select i1 %r.keep, i32 %me, i32 -1
  store i32 %r.new, ptr %r.thread.p
  store i32 %epoch, ptr %r.epoch.p
  br label %next
""",
    f"""
{field("table", "%ctx", abi.CONTEXT_SHADOWS, "ptr")}
{field("count", "%ctx", abi.CONTEXT_SHADOW_COUNT, "i64")}
""",
    "add i32 0, %own.gang",
)
