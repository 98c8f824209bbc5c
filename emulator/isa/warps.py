"""Values across the lanes of a warp: masks as words, permutation and reduction, for gangs of one or more warps."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.isa.builder import Value
from emulator.isa.lanes import Lanes

WARP = 32  # lanes of a warp on every architecture so far


def lane_ids(x: Lanes) -> Value:
    """Each lane's number in its warp."""
    return x.lane_constants("i32", [lane % WARP for lane in range(x.width)])


def spread(x: Lanes, words: Sequence[Value]) -> Value:
    """One uniform value a warp, given to the warp's lanes; still uniform where the gang is one warp."""
    if len(words) == 1:
        return words[0]
    vector = Value("poison", words[0].type, len(words))
    for index, word in enumerate(words):
        vector = x.insert(vector, word, index)
    return x.shuffle(vector, [lane // WARP for lane in range(x.width)])


def mask_words(x: Lanes, mask: Value) -> list[Value]:
    """The i1 lanes as one 32-bit word a warp, lane 0 lowest."""
    mask = x.splat(mask)
    words = []
    for start in range(0, x.width, WARP):
        part = mask if x.width == WARP else x.shuffle(mask, range(start, start + WARP))
        words.append(x._put(f"bitcast {part} to i32", "i32", 0))
    return words


def mask_word(x: Lanes, mask: Value) -> Value:
    """The i1 lanes of each lane's warp as a word."""
    return spread(x, mask_words(x, mask))


def lane_bit(x: Lanes, word: Value) -> Value:
    """Whether the bit of the lane's own number is set in the word (a uniform or one a lane)."""
    own = x.lane_constants("i32", [1 << lane % WARP for lane in range(x.width)])
    return x.icmp("ne", x.and_(word, own), x.const("i32", 0))


def from_lane(x: Lanes, a: Value, lane: int) -> Value:
    """The value of one fixed lane of each warp, in all its lanes."""
    if not a.lanes:
        return a
    if x.width == WARP:
        return x.extract(a, lane)
    return x.shuffle(a, [start // WARP * WARP + lane for start in range(x.width)])


def permute(x: Lanes, a: Value, source: Value) -> Value:
    """In each lane the value of lane `source` (i32, 0–31) of its own warp."""
    if not a.lanes:
        return a
    if not source.lanes and x.width == WARP:
        return x.extract(a, source)
    source = x.splat(source)
    parts = []
    for start in range(0, x.width, WARP):
        values = a if x.width == WARP else x.shuffle(a, range(start, start + WARP))
        part = Value("poison", a.type, WARP)
        for lane in range(WARP):
            part = x.insert(part, x.extract(values, x.extract(source, start + lane)), lane)
        parts.append(part)
    return concatenate(x, parts)


def concatenate(x: Lanes, parts: Sequence[Value]) -> Value:
    whole = parts[0]
    for part in parts[1:]:
        grown = (
            x.shuffle(part, [*range(part.lanes), *([-1] * (whole.lanes - part.lanes))])
            if part.lanes < whole.lanes
            else part
        )
        whole = x.shuffle(whole, [*range(whole.lanes), *range(whole.lanes, whole.lanes + part.lanes)], grown)
    return whole


_IDENTITY = {"add": 0, "or": 0, "xor": 0, "and": -1, "umin": -1, "umax": 0, "smin": (1 << 31) - 1, "smax": 1 << 31}


def reduce(x: Lanes, operation: str, a: Value, taking_part: Value) -> list[Value]:
    """The reduction over those lanes of each warp that take part, one uniform value a warp."""
    a = x.select(taking_part, x.splat(a), x.const(a.type, _IDENTITY[operation]))
    results = []
    for start in range(0, x.width, WARP):
        part = a if x.width == WARP else x.shuffle(a, range(start, start + WARP))
        name = f"llvm.vector.reduce.{operation}.v{WARP}{a.type}"
        x.declare(f"declare {a.type} @{name}({part.llvm_type})")
        results.append(x._put(f"call {a.type} @{name}({part})", a.type, 0))
    return results
