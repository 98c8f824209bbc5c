"""The part of the support library that accesses memory lane by lane, where the quick ways of a kernel do not hold."""

from __future__ import annotations

from emulator.lowering import abi

_WIDTH = 32  # of the gangs of kernels with local memory

# Bytes of an access, and the pieces in which it is copied.
_COPIES = ((1, "i8", 1), (2, "i16", 1), (4, "i32", 1), (8, "i64", 1), (16, "i64", 2), (32, "i64", 4))


def _copy(load: bool) -> str:
    """Copies one lane's access between its place and the buffer; words of local memory lie apart."""
    source, target = ("place", "data") if load else ("data", "place")
    pieces = ""
    for size, type, count in _COPIES:
        step = size // count
        pieces += f"copy{size}:\n"
        for k in range(count):
            pieces += (
                f"  %s{size}.{k} = getelementptr i8, ptr %{source}, i64 {k * step}\n"
                f"  %t{size}.{k} = getelementptr i8, ptr %{target}, i64 {k * step}\n"
                f"  %v{size}.{k} = load {type}, ptr %s{size}.{k}\n"
                f"  store {type} %v{size}.{k}, ptr %t{size}.{k}\n"
            )
        pieces += "  br label %next\n"
    table = " ".join(f"i32 {size}, label %copy{size}" for size, _, _ in _COPIES)
    apart, packed = f"mul i64 %word, {4 * _WIDTH}", "mul i64 %word, 4"
    return f"""
  br i1 %apart, label %words, label %whole
whole:
  switch i32 %size, label %next [ {table} ]
{pieces}
words:
  %word = phi i64 [ 0, %placed ], [ %word.next, %words ]
  %source.step = {apart if load else packed}
  %target.step = {packed if load else apart}
  %source.word = getelementptr i8, ptr %{source}, i64 %source.step
  %target.word = getelementptr i8, ptr %{target}, i64 %target.step
  %value = load i32, ptr %source.word
  store i32 %value, ptr %target.word
  %word.next = add i64 %word, 1
  %word.end = mul i64 %word.next, 4
  %more = icmp ult i64 %word.end, %size64
  br i1 %more, label %words, label %next
"""


def _slow(name: str, access: int, body: str, element: str) -> str:
    """A loop over active lanes that looks each up and then runs `body` on %place and the lane's %data."""
    return f"""
define i1 @{name}(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i64 %mask, i32 %size, i32 %space, i32 %extra,
                  ptr %buffer, ptr %positions) noinline {{
entry:
  %size64 = zext i32 %size to i64
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %out, label %lane.loop
lane.loop:
  %left = phi i64 [ %mask, %entry ], [ %left.next, %next ]
  %lane64 = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %lane = trunc i64 %lane64 to i32
  %address.p = getelementptr i64, ptr %addresses, i64 %lane64
  %address = load i64, ptr %address.p
  %place = call ptr @host_pointer(ptr %ctx, ptr %tls, i32 %site, i64 %address, i32 %size, i32 %space, i32 {access},
                                  i32 %extra, i32 %lane)
  %failed = icmp eq ptr %place, null
  br i1 %failed, label %fail, label %located
located:
  %step = {element}
  %identity = icmp eq ptr %positions, null
  br i1 %identity, label %placed, label %table
table:
  %position.p = getelementptr i16, ptr %positions, i64 %lane64
  %position16 = load i16, ptr %position.p
  %position = zext i16 %position16 to i64
  br label %placed
placed:
  %slot = phi i64 [ %lane64, %located ], [ %position, %table ]
  %data.offset = mul i64 %slot, %step
  %data = getelementptr i8, ptr %buffer, i64 %data.offset
  %tag = lshr i64 %address, 56
  %is.generic = icmp eq i32 %space, 0
  %is.local.tag = icmp eq i64 %tag, 2
  %generic.local = and i1 %is.generic, %is.local.tag
  %is.local = icmp eq i32 %space, 3
  %any.local = or i1 %generic.local, %is.local
  %wide = icmp ugt i32 %size, 4
  %apart = and i1 %any.local, %wide
{body}
next:
  %less = sub i64 %left, 1
  %left.next = and i64 %left, %less
  %done = icmp eq i64 %left.next, 0
  br i1 %done, label %out, label %lane.loop
out:
  ret i1 true
fail:
  ret i1 false
}}
"""


# The address of each lane of a shape, see `analysis.shapes`: extend(base + pattern + step·axis)·scale + rest + extra.
_LIST = """
define void @list_addresses(ptr %out, i64 %lanes, ptr %pattern, ptr %axis, ptr %extra, i32 %base, i32 %step, i64 %scale,
                            i64 %rest, i1 %signed) noinline cold {
entry:
  %steps = icmp ne ptr %axis, null
  %adds = icmp ne ptr %extra, null
  br label %lane
lane:
  %l = phi i64 [ 0, %entry ], [ %next, %done ]
  %pattern.p = getelementptr i32, ptr %pattern, i64 %l
  %own = load i32, ptr %pattern.p
  %sum = add i32 %base, %own
  br i1 %steps, label %stepped, label %plain
stepped:
  %axis.p = getelementptr i32, ptr %axis, i64 %l
  %factor = load i32, ptr %axis.p
  %term = mul i32 %step, %factor
  br label %plain
plain:
  %moved = phi i32 [ 0, %lane ], [ %term, %stepped ]
  %low = add i32 %sum, %moved
  %sext = sext i32 %low to i64
  %zext = zext i32 %low to i64
  %wide = select i1 %signed, i64 %sext, i64 %zext
  %scaled = mul i64 %wide, %scale
  %address = add i64 %scaled, %rest
  br i1 %adds, label %added, label %done
added:
  %extra.p = getelementptr i64, ptr %extra, i64 %l
  %more = load i64, ptr %extra.p
  br label %done
done:
  %further = phi i64 [ 0, %plain ], [ %more, %added ]
  %result = add i64 %address, %further
  %out.p = getelementptr i64, ptr %out, i64 %l
  store i64 %result, ptr %out.p
  %next = add i64 %l, 1
  %again = icmp ult i64 %next, %lanes
  br i1 %again, label %lane, label %over
over:
  ret void
}
"""
_POINTER = "  store ptr %place, ptr %data\n  br label %next"
SLOW_ACCESSES = "\n".join((
    _LIST,
    _slow("slow_load", abi.READ, _copy(load=True), "add i64 %size64, 0"),
    _slow("slow_store", abi.WRITE, _copy(load=False), "add i64 %size64, 0"),
    _slow("resolve", abi.ATOMIC, _POINTER, "add i64 8, 0"),
))  # fmt: skip
