"""Rows of what the lanes of one warp do together: shuffles, votes, matches and reductions.

Each takes the mask of active lanes. A lane's member mask says whom it waits for; what counts are those lanes of it
that are active, as on the hardware, where all of them must arrive.
"""

from __future__ import annotations

from emulator.isa.form import Form, row
from emulator.isa.lanes import Lanes, Value
from emulator.isa.warps import WARP, from_lane, lane_bit, lane_ids, mask_word, permute, reduce, spread


def _shfl(
    x: Lanes, f: Form, active: Value, a: Value, b: Value, c: Value, members: Value | None = None
) -> tuple[Value, ...]:
    known_b, known_c = b.constant, c.constant
    if known_b is not None and known_c is not None:
        picks = [_pick(f, lane % WARP, known_b & 31, known_c) for lane in range(x.width)]
        result = a
        if a.lanes:
            result = x.shuffle(a, [lane // WARP * WARP + source for lane, (source, _) in enumerate(picks)])
        inside = x.lane_constants("i1", [valid for _, valid in picks])
    else:
        source, inside = _pick_at_run_time(x, f, b, c)
        result = permute(x, a, source)
    return (result, inside) if len(f.destinations) == 2 else (result,)


def _pick(f: Form, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The source lane and whether it is in range, in the manual's terms."""
    segment, clamp = c >> 8 & 31, c & 31
    most = (lane & segment) | (clamp & ~segment)
    if f.has("up"):
        source = lane - b
        valid = source >= most
    else:
        source = lane + b if f.has("down") else lane ^ b if f.has("bfly") else (lane & segment) | (b & ~segment)
        valid = source <= most
    return (source if valid else lane), valid


def _pick_at_run_time(x: Lanes, f: Form, b: Value, c: Value) -> tuple[Value, Value]:
    lane = lane_ids(x)
    b = x.and_(b, x.const("i32", 31))
    segment = x.and_(x.lshr(c, x.const("i32", 8)), x.const("i32", 31))
    outside = x.not_(segment)
    least = x.and_(lane, segment)
    most = x.or_(least, x.and_(x.and_(c, x.const("i32", 31)), outside))
    if f.has("up"):
        source = x.sub(lane, b)
        valid = x.icmp("sge", source, most)
    else:
        if f.has("down"):
            source = x.add(lane, b)
        elif f.has("bfly"):
            source = x.xor(lane, b)
        else:
            source = x.or_(least, x.and_(b, outside))
        valid = x.icmp("sle", source, most)
    if f.has("idx") and not b.lanes and c.constant == 31:
        return b, valid  # one segment of 32 lanes: every lane reads the same one
    return x.select(valid, source, lane), valid


def _taking_part(x: Lanes, active: Value, members: Value | None) -> Value:
    """The word of those members that are active."""
    word = mask_word(x, active)
    return word if members is None else x.and_(word, members)


def _vote(x: Lanes, f: Form, active: Value, a: Value, members: Value | None = None) -> Value:
    here = _taking_part(x, active, members)
    yes = x.and_(mask_word(x, a), here)
    none = x.icmp("eq", yes, x.const("i32", 0))
    if f.has("ballot"):
        return yes
    if f.has("any"):
        return x.not_(none)
    every = x.icmp("eq", yes, here)
    return every if f.has("all") else x.or_(every, none)


def _equal_lanes(x: Lanes, active: Value, a: Value, members: Value) -> tuple[Value, Value]:
    """The word of members with the lane's own value, and the word of all members that take part."""
    here = _taking_part(x, active, members)
    if not a.lanes:
        return here, here
    equal = x.splat(x.const("i32", 0))
    for lane in range(WARP):
        same = x.icmp("eq", a, from_lane(x, a, lane))
        equal = x.or_(equal, x.select(same, x.const("i32", 1 << lane), x.const("i32", 0)))
    return x.and_(equal, here), here


def _match(x: Lanes, f: Form, active: Value, a: Value, members: Value) -> tuple[Value, ...]:
    equal, here = _equal_lanes(x, active, a, members)
    if f.has("any"):
        return (equal,)
    every = x.icmp("eq", equal, here)
    word = x.select(every, here, x.const("i32", 0))
    return (word, every) if len(f.destinations) == 2 else (word,)


def _redux(x: Lanes, f: Form, active: Value, a: Value, members: Value) -> Value:
    operation = f.pick("add", "min", "max", "and", "or", "xor")
    if operation in ("min", "max"):
        operation = f.type[0] + operation
    if not members.lanes:
        return spread(x, reduce(x, operation, a, x.and_(active, lane_bit(x, members))))
    # Each lane names its own group: one pass over the lanes, taking from each what its group has.
    a = x.splat(a)
    here = x.and_(mask_word(x, active), members)
    combine = {
        "add": x.add,
        "and": x.and_,
        "or": x.or_,
        "xor": x.xor,
        "umin": x.umin,
        "umax": x.umax,
        "smin": x.smin,
        "smax": x.smax,
    }
    total: Value | None = None
    identity = x.const("i32", {"and": -1, "umin": -1, "smin": (1 << 31) - 1, "smax": 1 << 31}.get(operation, 0))
    for lane in range(WARP):
        taken = x.icmp("ne", x.and_(here, x.const("i32", 1 << lane)), x.const("i32", 0))
        value = x.select(taken, from_lane(x, a, lane), identity)
        total = value if total is None else combine[operation](total, value)
    assert total is not None
    return total


def _redux_float(x: Lanes, f: Form, active: Value, a: Value, members: Value) -> Value:
    """min or max of singles; NaNs are left out unless `.NaN` is given, and −0 < +0."""
    name = f"llvm.{'maximum' if f.has('max') else 'minimum'}{'' if f.has('NaN') else 'num'}"
    # What changes nothing: a NaN where NaNs are left out, else the infinity at the other end.
    infinity = 0xFF800000 if f.has("max") else 0x7F800000
    identity = x.const_bits("float", infinity if f.has("NaN") else 0x7FFFFFFF)
    a = x.splat(x.fabs(a) if f.has("abs") else a)
    here = _taking_part(x, active, members)
    total: Value | None = None
    for lane in range(WARP):
        taken = x.icmp("ne", x.and_(here, x.const("i32", 1 << lane)), x.const("i32", 0))
        value = x.select(taken, from_lane(x, a, lane), identity)
        total = value if total is None else x.call(name, total, value)
    assert total is not None
    return x.canonical(total)


def _activemask(x: Lanes, f: Form, active: Value) -> Value:
    return mask_word(x, active)


def _elect(x: Lanes, f: Form, active: Value, members: Value) -> tuple[Value, Value]:
    leader = x.ctz(_taking_part(x, active, members))
    return leader, x.icmp("eq", lane_ids(x), leader)


ROWS = (
    row(
        "shfl.sync.(up|down|bfly|idx).b32 d|p:pred?, a, b:b32, c:b32, m:b32",
        "The value of a lane b away (or lane b) in the segment that c delimits; p: it lies inside.",
        _shfl,
        kind="warp",
    ),
    row(
        "shfl.(up|down|bfly|idx).b32 d|p:pred?, a, b:b32, c:b32",
        "shfl.sync of all active lanes, as older programs write it.",
        _shfl,
        kind="warp",
    ),
    row(
        "vote.sync.(all|any|uni).pred d, a, m:b32", "Whether a holds for all, any, or all or none.", _vote, kind="warp"
    ),
    row("vote.(all|any|uni).pred d, a", "vote.sync of all active lanes.", _vote, kind="warp"),
    row("vote.sync.ballot.b32 d, a:pred, m:b32", "The word of lanes for which a holds.", _vote, kind="warp"),
    row("vote.ballot.b32 d, a:pred", "vote.sync.ballot of all active lanes.", _vote, kind="warp"),
    row("match.any.sync.(b32|b64) d:b32, a, m:b32", "The word of lanes with the same a.", _match, kind="warp"),
    row(
        "match.all.sync.(b32|b64) d:b32|p:pred?, a, m:b32",
        "The word of all members and true if all have the same a, else 0 and false.",
        _match,
        kind="warp",
    ),
    row(
        "redux.sync.(add|min|max).(u32|s32) d, a, m:b32",
        "The sum, least or greatest a of the members.",
        _redux,
        kind="warp",
    ),
    row("redux.sync.(and|or|xor).b32 d, a, m:b32", "The bitwise combination of the members' a.", _redux, kind="warp"),
    row(
        "redux.sync.(min|max){.abs}{.NaN}.f32 d, a, m:b32",
        "The least or greatest a (or magnitude) of the members; a NaN if all are, or with `.NaN` if one is.",
        _redux_float,
        kind="warp",
    ),
    row("activemask.b32 d", "The word of active lanes.", _activemask, kind="warp"),
    row("elect.sync d:b32|p:pred, m:b32", "The lowest member, and whether this lane is it.", _elect, kind="warp"),
)
