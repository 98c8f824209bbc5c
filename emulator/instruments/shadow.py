"""The checks' support library: cells that shadow memory, in LLVM IR.

A cell of shared memory has eight words: epoch, gang epoch and thread of the last write, its kind (1 plain, 2 atomic,
3 ordered) and value; epoch, gang epoch and thread of the last reads. A thread of −2 stands for readers of several
gangs, −16−g for several lanes of gang g. A cell of a buffer has four words: thread + 1 and epoch of the last write
and of the last reads, −1 being several threads.
"""

from __future__ import annotations

from emulator.lowering import abi
from emulator.runtime.scheduler import field

_CELL = 32
_BUFFER_CELL = 16


def _word(name: str, index: int) -> str:
    return f"  %{name}.p = getelementptr i32, ptr %cell, i64 {index}\n  %{name} = load i32, ptr %{name}.p"


def _loop(name: str, body: str, prelude: str, gang: str) -> str:
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


def _find(label: str, kind: int, then: str) -> str:
    return f"""{label}:
  call void @finding(ptr %ctx, ptr %tls, i32 {kind}, i32 %site, i32 %lane.bit, i64 %told)
  br label %{then}
"""


_SHARED = _loop(
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
  %told = or i64 %place, {1 << 56}
  %cell.offset = mul i64 %there, {_CELL}
  %cell = getelementptr i8, ptr %shadow, i64 %cell.offset
{_word("w.epoch", 0)}
{_word("w.gang.epoch", 1)}
{_word("w.thread", 2)}
{_word("w.kind", 3)}
{_word("w.value", 4)}
{_word("r.epoch", 5)}
{_word("r.gang.epoch", 6)}
{_word("r.thread", 7)}
  %written = icmp uge i32 %w.epoch, %first.epoch
  %unwritten = xor i1 %written, true
  %reads = or i1 %is.read, %is.atomic
  %unset = and i1 %unwritten, %reads
  br i1 %unset, label %uninitialised, label %races
{_find("uninitialised", abi.UNINITIALISED, "races")}
races:
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
  %value = phi i32 [ 256, %races ], [ %data.value, %take ]
  %equal = icmp eq i32 %value, %w.value
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
{_find("raced", abi.RACE, "update")}
update:
  br i1 %is.read, label %note.read, label %note.write
note.write:
  %kind.weak = select i1 %is.atomic, i32 2, i32 1
  %kind.kept = select i1 %strong, i32 3, i32 %kind.weak
  store i32 %epoch, ptr %w.epoch.p
  store i32 %gang.epoch, ptr %w.gang.epoch.p
  store i32 %thread, ptr %w.thread.p
  store i32 %kind.kept, ptr %w.kind.p
  store i32 %value, ptr %w.value.p
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

# Bytes of buffers: whether somebody wrote them, where that matters, and races, where cells exist.
_GLOBAL = _loop(
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
{_find("uninitialised", abi.UNINITIALISED, "tracked")}
tracked:
  %shadowed = icmp ne ptr %cells, null
  %weak = xor i1 %strong, true
  %checked0 = and i1 %shadowed, %weak
  %not.atomic = xor i1 %is.atomic, true
  %checked = and i1 %checked0, %not.atomic
  br i1 %checked, label %look, label %next
look:
  %cell.offset = mul i64 %offset, {_BUFFER_CELL}
  %cell = getelementptr i8, ptr %cells, i64 %cell.offset
{_word("w.thread", 0)}
{_word("w.epoch", 1)}
{_word("r.thread", 2)}
{_word("r.epoch", 3)}
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
{_find("raced", abi.RACE, "update")}
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
  call void @check_global(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i32 %bit, i32 %size, i32 %kind, ptr null)
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
    + _GLOBAL
    + _GENERIC
    + _STRETCHES
    + """
declare void @finding(ptr, ptr, i32, i32, i32, i64)
declare i32 @llvm.cttz.i32(i32, i1)
"""
)
