"""The checks' support library: cells that shadow memory, in LLVM IR.

A cell of shared memory has eight words: epoch, gang epoch and thread of the last write, its kind (1 plain, 2 atomic,
3 ordered, 4 an asynchronous copy, whose value has its group + 1 above the byte) and value; epoch, gang epoch and
thread of the last reads. A thread of −2 stands for readers of several gangs, −16−g for several lanes of gang g. Behind
the cells stand two words a thread of the block: its groups of copies that are closed, and finished. Gangs and threads
are numbered through the cluster, 32 gangs a block: its blocks use each other's shared memory.
"""

from __future__ import annotations

from emulator.instruments.shadow_buffers import CHECK_BUFFERS
from emulator.instruments.shadow_loops import byte_loop, find_with, word
from emulator.lowering import abi
from emulator.runtime.scheduler import field

_CELL = 32

_SHARED = byte_loop(
    "check_shared",
    f"""
  %place = and i64 %at, {(1 << 56) - 1}
  %named = lshr i64 %place, {abi.RANK_SHIFT}
  %far = icmp ne i64 %named, 0
  %number = sub i64 %named, 1
  %owner.rank = select i1 %far, i64 %number, i64 %rank
  %there = and i64 %place, {(1 << abi.RANK_SHIFT) - 1}
  %exists = icmp ult i64 %owner.rank, %cluster.blocks
  %fits = icmp ult i64 %there, %shared.size
  %inside = and i1 %exists, %fits
  br i1 %inside, label %look, label %next
look:
  %owner.offset = mul i64 %owner.rank, %stride
  %owner = getelementptr i8, ptr %cluster, i64 %owner.offset
{field("shadow", "%owner", abi.WORKER_SHADOW, "ptr")}
  %cells = mul i64 %shared.size, {_CELL}
  %counters = getelementptr i8, ptr %shadow, i64 %cells
  %told = or i64 %place, {1 << 56}
  %cell.offset = mul i64 %there, {_CELL}
  %cell = getelementptr i8, ptr %shadow, i64 %cell.offset
{word("w.epoch", 0)}
{word("w.gang.epoch", 1)}
{word("w.thread", 2)}
{word("w.kind", 3)}
{word("w.value", 4)}
{word("r.epoch", 5)}
{word("r.gang.epoch", 6)}
{word("r.thread", 7)}
  %written = icmp uge i32 %w.epoch, %first.epoch
  %unwritten = xor i1 %written, true
  %reads = or i1 %is.read, %is.atomic
  %unset = and i1 %unwritten, %reads
  br i1 %unset, label %uninitialised, label %races
{find_with("uninitialised", abi.UNINITIALISED, "races")}
races:
  ; a copy whose group is not finished, by a thread of the owner
  %w.copied = icmp eq i32 %w.kind, 4
  %not.copy = xor i1 %is.copy, true
  %w.copy0 = and i1 %written, %w.copied
  %w.copy = and i1 %w.copy0, %not.copy
  br i1 %w.copy, label %copied, label %landed
copied:
  %w.place = and i32 %w.thread, 1023
  %w.place64 = zext i32 %w.place to i64
  %w.counters = getelementptr i64, ptr %counters, i64 %w.place64
  %w.finished.p = getelementptr i32, ptr %w.counters, i64 1
  %w.finished = load i32, ptr %w.finished.p
  %w.above = lshr i32 %w.value, 8
  %w.group = sub i32 %w.above, 1
  %w.flies = icmp sge i32 %w.group, %w.finished
  br i1 %w.flies, label %in.flight, label %landed
{find_with("in.flight", abi.COPY_IN_FLIGHT, "landed")}
landed:
  ; the last write against this access
  ; (of another block of the cluster: since all of them met; of this one: since its last barrier)
  %w.not.met = icmp uge i32 %w.epoch, %cluster.epoch
  %w.since.met = and i1 %w.not.met, %unordered
  %w.since.barrier = icmp eq i32 %w.epoch, %epoch
  %w.rank = ashr i32 %w.thread, 10
  %w.foreign = icmp ne i32 %w.rank, %rank32
  %w.same.epoch = select i1 %w.foreign, i1 %w.since.met, i1 %w.since.barrier
  %w.other = icmp ne i32 %w.thread, %thread
  %w.gang = ashr i32 %w.thread, 5
  %w.same.gang = icmp eq i32 %w.gang, %gang
  %w.older = icmp ne i32 %w.gang.epoch, %gang.epoch
  %w.ordered = and i1 %w.same.gang, %w.older
  %w.now = xor i1 %w.ordered, true
  %w.c0 = and i1 %w.same.epoch, %w.other
  %w.c1 = and i1 %w.c0, %w.now
  %w.is.atomic = icmp eq i32 %w.kind, 2
  %both.atomic = and i1 %w.is.atomic, %is.atomic
  %not.both = xor i1 %both.atomic, true
  %w.is.weak = icmp ne i32 %w.kind, 3
  %w.c12 = and i1 %w.c1, %w.is.weak
  %w.c2 = and i1 %w.c12, %not.both
  %has.data = icmp ne ptr %data, null
  br i1 %has.data, label %take, label %taken
take:
  %data.at = add i64 %data.lane, %b
  %data.p = getelementptr i8, ptr %data, i64 %data.at
  %data.byte = load i8, ptr %data.p
  %data.value = zext i8 %data.byte to i32
  br label %taken
taken:
  %value = phi i32 [ 256, %landed ], [ %data.value, %take ]
  %w.byte = and i32 %w.value, 255
  %w.known = select i1 %w.copied, i32 %w.byte, i32 %w.value
  %equal = icmp eq i32 %value, %w.known
  %harmless = and i1 %equal, %is.write
  %harmful = xor i1 %harmless, true
  %w.c3 = and i1 %w.c2, %harmful
  ; the last reads against this write
  %r.not.met = icmp uge i32 %r.epoch, %cluster.epoch
  %r.since.met = and i1 %r.not.met, %unordered
  %r.since.barrier = icmp eq i32 %r.epoch, %epoch
  %r.single = icmp sge i32 %r.thread, 0
  %r.gang.single = ashr i32 %r.thread, 5
  %r.minus = sub i32 0, %r.thread
  %r.gang.many = sub i32 %r.minus, 16
  %r.gang = select i1 %r.single, i32 %r.gang.single, i32 %r.gang.many
  %r.rank = ashr i32 %r.gang, 5
  %r.others = icmp ne i32 %r.rank, %rank32
  %r.known = icmp ne i32 %r.thread, -2
  %r.foreign = and i1 %r.others, %r.known
  %r.same.epoch = select i1 %r.foreign, i1 %r.since.met, i1 %r.since.barrier
  %r.same.gang = icmp eq i32 %r.gang, %gang
  %r.older = icmp ne i32 %r.gang.epoch, %gang.epoch
  %r.ordered = and i1 %r.same.gang, %r.older
  %r.now = xor i1 %r.ordered, true
  %r.self = icmp eq i32 %r.thread, %thread
  %r.other = xor i1 %r.self, true
  %modifies = xor i1 %is.read, true
  %r.c0 = and i1 %r.same.epoch, %r.now
  %r.c1 = and i1 %r.c0, %r.other
  %r.c2 = and i1 %r.c1, %modifies
  %r.c3 = and i1 %r.c2, %harmful
  %conflict = or i1 %w.c3, %r.c3
  %weak = xor i1 %strong, true
  %race = and i1 %conflict, %weak
  br i1 %race, label %raced, label %update
{find_with("raced", abi.RACE, "update")}
update:
  br i1 %is.read, label %note.read, label %note.write
note.write:
  %kind.weak = select i1 %is.atomic, i32 2, i32 1
  %kind.ordered = select i1 %strong, i32 3, i32 %kind.weak
  %kind.kept = select i1 %is.copy, i32 4, i32 %kind.ordered
  %own.place = and i32 %thread, 1023
  %own.place64 = zext i32 %own.place to i64
  %own.counters = getelementptr i64, ptr %counters, i64 %own.place64
  %closed = load i32, ptr %own.counters
  %group.next = add i32 %closed, 1
  %group.high = shl i32 %group.next, 8
  %group.byte = and i32 %value, 255
  %group.value = or i32 %group.high, %group.byte
  %value.kept = select i1 %is.copy, i32 %group.value, i32 %value
  store i32 %epoch, ptr %w.epoch.p
  store i32 %gang.epoch, ptr %w.gang.epoch.p
  store i32 %thread, ptr %w.thread.p
  store i32 %kind.kept, ptr %w.kind.p
  store i32 %value.kept, ptr %w.value.p
  br label %next
note.read:
  br i1 %strong, label %next, label %note.weak
note.weak:
  %r.fresh0 = icmp ne i32 %r.epoch, %epoch
  %r.keep = or i1 %r.fresh0, %r.self
  %r.many = sub i32 -16, %gang
  %r.joined = select i1 %r.same.gang, i32 %r.many, i32 -2
  %r.thread.new = select i1 %r.keep, i32 %thread, i32 %r.joined
  store i32 %epoch, ptr %r.epoch.p
  store i32 %gang.epoch, ptr %r.gang.epoch.p
  store i32 %r.thread.new, ptr %r.thread.p
  br label %next
""",
    f"""
{field("shared.size", "%ctx", abi.CONTEXT_SHARED_BYTES, "i64")}
{field("cluster.blocks", "%ctx", abi.CONTEXT_CLUSTER_BLOCKS, "i64")}
{field("stride", "%ctx", abi.CONTEXT_SEAT_BYTES, "i64")}
{field("cluster", "%tls", abi.WORKER_CLUSTER, "ptr")}
{field("cluster.epoch", "%tls", abi.WORKER_CLUSTER_EPOCH, "i32")}
{field("rank32", "%tls", abi.WORKER_RANK, "i32")}
{field("ordered", "%ctx", abi.CONTEXT_ORDERED, "i32")}
  %unordered = icmp eq i32 %ordered, 0
  %rank = zext i32 %rank32 to i64
  %gang64 = zext i32 %own.gang to i64
  %gang.epochs = getelementptr i8, ptr %tls, i64 {abi.WORKER_GANG_EPOCHS}
  %gang.epoch.p = getelementptr i32, ptr %gang.epochs, i64 %gang64
  %gang.epoch = load i32, ptr %gang.epoch.p
  %first.gang = shl i32 %rank32, 5
""",
    "add i32 %first.gang, %own.gang",
)

# Generic addresses: those of shared memory have its tag.
_GENERIC = """
define void @check_generic(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i32 %mask, i32 %size, i32 %kind,
                           ptr %data) noinline {
  %all = load <32 x i64>, ptr %addresses, align 64
  %tags = lshr <32 x i64> %all, splat (i64 56)
  %tagged = icmp eq <32 x i64> %tags, splat (i64 1)
  %bits = bitcast <32 x i1> %tagged to i32
  %shared = and i32 %mask, %bits
  %plain = xor i32 %mask, %shared
  call void @check_shared(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i32 %shared, i32 %size, i32 %kind, ptr %data)
  call void @check_global(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i32 %plain, i32 %size, i32 %kind, ptr %data)
  ret void
}
"""

# Closes a thread's group of copies (0), waits until at most `open` are unfinished (1), or finishes all (2).
_COPIES = f"""
define void @check_copies(ptr %ctx, ptr %tls, i32 %mask, i32 %operation, i32 %open) noinline {{
entry:
{field("shadow", "%tls", abi.WORKER_SHADOW, "ptr")}
{field("shared.size", "%ctx", abi.CONTEXT_SHARED_BYTES, "i64")}
{field("gang", "%tls", abi.WORKER_GANG, "i32")}
  %cells = mul i64 %shared.size, {_CELL}
  %counters = getelementptr i8, ptr %shadow, i64 %cells
  %first = mul i32 %gang, 32
  %waits = icmp eq i32 %operation, 1
  %step = select i1 %waits, i32 0, i32 1
  %closes = icmp eq i32 %operation, 0
  br label %lane.loop
lane.loop:
  %left = phi i32 [ %mask, %entry ], [ %left.next, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %thread = add i32 %first, %lane
  %closed.p = getelementptr i64, ptr %counters, i32 %thread
  %finished.p = getelementptr i32, ptr %closed.p, i64 1
  %closed = load i32, ptr %closed.p
  %finished = load i32, ptr %finished.p
  %closed.next = add i32 %closed, %step
  store i32 %closed.next, ptr %closed.p
  %all.but = sub i32 %closed.next, %open
  %later = icmp sgt i32 %all.but, %finished
  %more = select i1 %later, i32 %all.but, i32 %finished
  %finished.next = select i1 %closes, i32 %finished, i32 %more
  store i32 %finished.next, ptr %finished.p
  br label %next
next:
  %less = sub i32 %left, 1
  %left.next = and i32 %left, %less
  %done = icmp eq i32 %left.next, 0
  br i1 %done, label %out, label %lane.loop
out:
  ret void
}}
"""

# Stretches whose sizes differ between lanes.
_STRETCHES = """
define void @check_stretches(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i32 %mask, ptr %sizes, i32 %kind,
                             i1 %is.shared) noinline {
entry:
  %none = icmp eq i32 %mask, 0
  br i1 %none, label %out, label %lane.loop
lane.loop:
  %left = phi i32 [ %mask, %entry ], [ %left.next, %next ]
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %bit = shl i32 1, %lane
  %size.p = getelementptr i32, ptr %sizes, i32 %lane
  %size = load i32, ptr %size.p
  %empty = icmp eq i32 %size, 0
  br i1 %empty, label %next, label %some
some:
  br i1 %is.shared, label %shared, label %global
shared:
  call void @check_shared(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i32 %bit, i32 %size, i32 %kind, ptr null)
  br label %next
global:
  call void @check_generic(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i32 %bit, i32 %size, i32 %kind, ptr null)
  br label %next
next:
  %less = sub i32 %left, 1
  %left.next = and i32 %left, %less
  %done = icmp eq i32 %left.next, 0
  br i1 %done, label %out, label %lane.loop
out:
  ret void
}
"""

SUPPORT = (
    _SHARED
    + CHECK_BUFFERS
    + _GENERIC
    + _COPIES
    + _STRETCHES
    + """
declare void @finding(ptr, ptr, i32, i32, i32, i64)
declare i32 @llvm.cttz.i32(i32, i1)
"""
)
