"""Rows of video instructions: bytes or halves of a word side by side."""

from __future__ import annotations

from emulator.isa.form import Form, row
from emulator.isa.lanes import Lanes, Value
from emulator.isa.rows.integer import field

_ANY = "(u32|s32)"
_COMPARE = "(eq|ne|lt|le|gt|ge)"


def _step(x: Lanes, f: Form, p: Value, q: Value) -> Value:
    """What one pair of fields, extended to 32 bits, gives; a comparison 1 or 0."""
    operation = f.opcode[1:-1]
    if operation == "set":
        # A word's sign is its own after the extension, so that mixed fields compare as numbers.
        relation = f.pick("eq", "ne", "lt", "le", "gt", "ge")
        return x.resize(x.icmp(relation if relation in ("eq", "ne") else f"s{relation}", p, q), "i32")
    if operation == "avrg":
        total = x.add(p, q)
        half = x.const("i32", 1)
        return x.ashr(x.add(total, x.resize(x.icmp("sge", total, x.const("i32", 0)), "i32")), half)
    return {
        "add": lambda: x.add(p, q),
        "sub": lambda: x.sub(p, q),
        "min": lambda: x.smin(p, q),
        "max": lambda: x.smax(p, q),
        "absdiff": lambda: x.sub(x.smax(p, q), x.smin(p, q)),
    }[operation]()


def _video(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    """The results of the packed fields, each in its place, or summed with c (`.add`)."""
    length = 8 if f.opcode.endswith("4") else 16
    total = c if f.has("add") else x.const("i32", 0)
    signed = f.types[0][0] == "s"
    low, high = (-(1 << (length - 1)), (1 << (length - 1)) - 1) if signed else (0, (1 << length) - 1)
    for position in range(0, 32, length):
        p, q = (field(x, v, position, length, kind) for v, kind in zip((a, b), f.types[-2:], strict=True))
        result = _step(x, f, p, q)
        if f.has("sat"):
            result = x.smax(x.smin(result, x.const("i32", high)), x.const("i32", low))
        if not f.has("add"):
            result = x.shl(x.and_(result, x.const("i32", (1 << length) - 1)), x.const("i32", position))
        total = x.add(total, result)
    return total


_MEANINGS = {
    "add": "a + b", "sub": "a − b", "avrg": "The mean of a and b, halves up,", "absdiff": "|a − b|",
    "min": "The smaller of a and b", "max": "The larger of a and b",
}  # fmt: skip

ROWS = (
    *(
        row(
            f"v{name}{n}.{_ANY}.{_ANY}.{_ANY}{{.(add|sat)}} d:b32, a:b32, b:b32, c:b32",
            f"{meaning} of each of {n} packed fields; `.add` sums them and c, `.sat` clamps each.",
            _video,
        )
        for name, meaning in _MEANINGS.items()
        for n in (2, 4)
    ),
    *(
        row(
            f"vset{n}.{_ANY}.{_ANY}.{_COMPARE}{{.add}} d:b32, a:b32, b:b32, c:b32",
            f"1 or 0 in each of {n} packed fields, whether a compares so to b; `.add` counts them on top of c.",
            _video,
        )
        for n in (2, 4)
    ),
)
