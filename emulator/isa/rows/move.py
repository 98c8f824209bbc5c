"""Rows of moves: plain, packing and unpacking."""

from __future__ import annotations

from emulator.isa.form import LLVM_TYPES, Form, row
from emulator.isa.lanes import Lanes, Value


def _mov(x: Lanes, f: Form, a: Value) -> Value:
    return a


def _pack(x: Lanes, f: Form, *parts: Value) -> Value:
    """The first element is the lowest part of the word."""
    whole = LLVM_TYPES[f.type]
    result = x.resize(parts[0], whole)
    for index, part in enumerate(parts[1:], 1):
        result = x.or_(result, x.shl(x.resize(part, whole), x.const(whole, index * part.bits)))
    return result


def _unpack(x: Lanes, f: Form, a: Value) -> tuple[Value, ...]:
    part = f"i{a.bits // len(f.destinations)}"
    width = a.bits // len(f.destinations)
    return tuple(x.resize(x.lshr(a, x.const(a.type, index * width)), part) for index in range(len(f.destinations)))


_SPLITS = (
    ("b16", "b8", 2),
    ("b32", "b16", 2),
    ("b32", "b8", 4),
    ("b64", "b32", 2),
    ("b64", "b16", 4),
    ("b128", "b64", 2),
)


def _vector(prefix: str, count: int, kind: str) -> str:
    return "{" + ", ".join(f"{prefix}{index}:{kind}" for index in range(count)) + "}"


ROWS = (
    row(
        "mov.(pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64) d, a",
        "d = a: a register, a constant, a special register or an address.",
        _mov,
    ),
    *(
        line
        for whole, part, count in _SPLITS
        for line in (
            row(f"mov.{whole} d, {_vector('a', count, part)}", f"{count} parts packed, the first lowest.", _pack),
            row(f"mov.{whole} {_vector('d', count, part)}, a", f"A word taken apart into {count} parts.", _unpack),
        )
    ),
)
