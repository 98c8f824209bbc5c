"""The references of comparison and selection."""

from __future__ import annotations

from fractions import Fraction

from emulator.isa import Form

from .references import Float, flushed, number, signed

_COMPARE = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
_ORDERINGS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def _truth(f: Form, kind: str, a: int, b: int) -> bool:
    names = (*_COMPARE, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    name = f.pick(*names)
    if kind[0] in "usb" and kind != "bf16":
        return bool(_ORDERINGS[_COMPARE[name]](number(kind, a), number(kind, b)))
    x, y = flushed(f, Float(kind, a)), flushed(f, Float(kind, b))
    unordered = x.nan or y.nan
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    if unordered:
        return name.endswith("u")
    edge = Fraction(10) ** 400
    p, q = (((-edge if v.negative else edge) if v.infinite else v.value) for v in (x, y))
    return bool(_ORDERINGS[_COMPARE[name.removesuffix("u")]](p, q))


def _joined(f: Form, truth: bool, c: int | None) -> int:
    if c is None:
        return int(truth)
    return {"and": int(truth) & c, "or": int(truth) | c, "xor": int(truth) ^ c}[f.pick("and", "or", "xor")]


def setp(f: Form, a: int, b: int, c: int | None = None) -> tuple[int, ...] | int:
    if f.type.endswith("x2"):
        kind = f.type.removesuffix("x2")
        return tuple(_joined(f, _truth(f, kind, a >> s & 0xFFFF, b >> s & 0xFFFF), c) for s in (0, 16))
    truth = _truth(f, f.type, a, b)
    return (_joined(f, truth, c), _joined(f, not truth, c)) if len(f.destinations) == 2 else _joined(f, truth, c)


def set_(f: Form, a: int, b: int, c: int | None = None) -> int:
    target = f.types[0]
    if f.type.endswith("x2"):
        kind = f.type.removesuffix("x2")
        one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(target, 0xFFFF)
        parts = [_joined(f, _truth(f, kind, a >> s & 0xFFFF, b >> s & 0xFFFF), c) * one for s in (0, 16)]
        return parts[0] | parts[1] << 16
    one = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "u16": 0xFFFF, "s16": 0xFFFF}.get(target, 0xFFFFFFFF)
    return _joined(f, _truth(f, f.type, a, b), c) * one


def selp(f: Form, a: int, b: int, c: int) -> int:
    return a if c else b


def slct(f: Form, a: int, b: int, c: int) -> int:
    if f.type == "s32":
        return a if signed(c, 32) >= 0 else b
    value = flushed(f, Float("f32", c))
    return a if not value.nan and (value.value >= 0 if not value.infinite else not value.negative) else b
