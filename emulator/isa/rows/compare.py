"""Rows of comparison and selection."""

from __future__ import annotations

from emulator.isa.form import Form, row
from emulator.isa.half import halves, to_single
from emulator.isa.lanes import Lanes, Value

_SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UNSIGNED = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_FLOAT = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
    "num": "ord", "nan": "uno",
}  # fmt: skip
_FLOAT_NAMES = "|".join(_FLOAT)
_BOOLEAN = "{.(and|or|xor)}"


def _holds(x: Lanes, f: Form, a: Value, b: Value, kind: str) -> Value:
    """The comparison of two values of the PTX type `kind`."""
    name = f.pick(*_FLOAT, *_UNSIGNED)
    if kind in ("f16", "bf16"):
        a, b = to_single(x, a, kind, f.has("ftz")), to_single(x, b, kind, f.has("ftz"))
    if a.type in ("float", "double"):
        if f.has("ftz") and kind == "f32":
            a, b = x.flush(a), x.flush(b)
        return x.fcmp(_FLOAT[name], a, b)
    signed = kind[0] == "s"
    return x.icmp((_SIGNED if signed else _UNSIGNED).get(name, name), a, b)


def _combine(x: Lanes, f: Form, truth: Value, other: Value | None) -> Value:
    if other is None:
        return truth
    return {"and": x.and_, "or": x.or_, "xor": x.xor}[f.pick("and", "or", "xor")](truth, other)


def _setp(x: Lanes, f: Form, a: Value, b: Value, c: Value | None = None) -> tuple[Value, ...]:
    truth = _holds(x, f, a, b, f.type)
    first = _combine(x, f, truth, c)
    if len(f.destinations) == 1:
        return (first,)
    return first, _combine(x, f, x.not_(truth), c)


def _setp_pair(x: Lanes, f: Form, a: Value, b: Value, c: Value | None = None) -> tuple[Value, ...]:
    """Packed halves: p from the lower, q from the upper."""
    kind = f.type.removesuffix("x2")
    return tuple(_combine(x, f, _holds(x, f, p, q, kind), c) for p, q in zip(halves(x, a), halves(x, b), strict=True))


_TRUE_BITS = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def _as_number(x: Lanes, truth: Value, kind: str) -> Value:
    """True as all ones, or 1.0 in a floating type."""
    if kind == "f32":
        return x.select(truth, x.const("float", 1.0), x.const("float", 0.0))
    bits = {"u16": "i16", "s16": "i16", "f16": "i16", "bf16": "i16"}.get(kind, "i32")
    return x.select(truth, x.const(bits, _TRUE_BITS.get(kind, -1)), x.const(bits, 0))


def _set(x: Lanes, f: Form, a: Value, b: Value, c: Value | None = None) -> Value:
    return _as_number(x, _combine(x, f, _holds(x, f, a, b, f.type), c), f.types[0])


def _set_pair(x: Lanes, f: Form, a: Value, b: Value, c: Value | None = None) -> Value:
    kind, target = f.type.removesuffix("x2"), f.types[0].removesuffix("x2")
    each = "u16" if target in ("u32", "s32") else target
    low, high = (
        _as_number(x, _combine(x, f, _holds(x, f, p, q, kind), c), each)
        for p, q in zip(halves(x, a), halves(x, b), strict=True)
    )
    return x.or_(x.resize(low, "i32"), x.shl(x.resize(high, "i32"), x.const("i32", 16)))


def _selp(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    return x.select(c, a, b)


def _slct(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    if f.type == "s32":
        return x.select(x.icmp("sge", c, x.const("i32", 0)), a, b)
    if f.has("ftz"):
        c = x.flush(c)
    return x.select(x.fcmp("oge", c, x.const("float", 0.0)), a, b)


_TYPES = "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"
_OPERANDS = "a, b, c:pred?"
_UNORDERED = "Comparison; those ending in u hold for NaN."

ROWS = (
    row(
        f"setp.(eq|ne){_BOOLEAN}.(b16|b32|b64) p:pred|q:pred?, {_OPERANDS}",
        "p = (a ? b) op c; q the same of the opposite.",
        _setp,
    ),
    row(
        f"setp.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs){_BOOLEAN}.(u16|u32|u64) p:pred|q:pred?, {_OPERANDS}",
        "Unsigned comparison.",
        _setp,
    ),
    row(f"setp.(eq|ne|lt|le|gt|ge){_BOOLEAN}.(s16|s32|s64) p:pred|q:pred?, {_OPERANDS}", "Signed comparison.", _setp),
    row(f"setp.({_FLOAT_NAMES}){_BOOLEAN}{{.ftz}}.f32 p:pred|q:pred?, {_OPERANDS}", _UNORDERED, _setp),
    row(f"setp.({_FLOAT_NAMES}){_BOOLEAN}.f64 p:pred|q:pred?, {_OPERANDS}", _UNORDERED, _setp),
    row(f"setp.({_FLOAT_NAMES}){_BOOLEAN}{{.ftz}}.f16 p:pred, {_OPERANDS}", _UNORDERED, _setp),
    row(f"setp.({_FLOAT_NAMES}){_BOOLEAN}.bf16 p:pred, {_OPERANDS}", _UNORDERED, _setp),
    row(
        f"setp.({_FLOAT_NAMES}){_BOOLEAN}{{.ftz}}.f16x2 p:pred|q:pred, {_OPERANDS}",
        "p compares the lower halves, q the upper.",
        _setp_pair,
    ),
    row(
        f"setp.({_FLOAT_NAMES}){_BOOLEAN}.bf16x2 p:pred|q:pred, {_OPERANDS}",
        "p compares the lower halves, q the upper.",
        _setp_pair,
    ),
    *(
        row(
            f"set.({names}){_BOOLEAN}.(u32|s32|f32|f16|bf16).({kinds}) d, {_OPERANDS}",
            "All ones or 1.0 where the comparison holds, else 0.",
            _set,
        )
        for names, kinds in (
            ("eq|ne", "b16|b32|b64"),
            ("eq|ne|lt|le|gt|ge|lo|ls|hi|hs", "u16|u32|u64"),
            ("eq|ne|lt|le|gt|ge", "s16|s32|s64"),
        )
    ),
    *(
        row(
            f"set.({_FLOAT_NAMES}){_BOOLEAN}{kinds} d, {_OPERANDS}",
            "All ones or 1.0 where the comparison holds, else 0.",
            _set,
        )
        for kinds in (
            "{.ftz}.(u32|s32|f32|f16).f32",
            ".bf16.f32",
            ".(u32|s32|f32|f16|bf16).f64",
            "{.ftz}.(u32|s32|u16|s16|f16).f16",
            ".bf16.f16",
            ".(u32|s32|u16|s16|bf16).bf16",
        )
    ),
    row(
        f"set.({_FLOAT_NAMES}){_BOOLEAN}{{.ftz}}.(f16x2|u32|s32).f16x2 d, {_OPERANDS}",
        "All ones or 1.0 in each half where its comparison holds.",
        _set_pair,
    ),
    row(
        f"set.({_FLOAT_NAMES}){_BOOLEAN}.(bf16x2|u32|s32).bf16x2 d, {_OPERANDS}",
        "All ones or 1.0 in each half where its comparison holds.",
        _set_pair,
    ),
    row(f"selp.({_TYPES}) d, a, b, c:pred", "d = c ? a : b.", _selp),
    row(f"slct{{.ftz}}.({_TYPES}).f32 d, a:D, b:D, c", "d = c ≥ 0 ? a : b; −0 counts as 0, NaN takes b.", _slct),
    row(f"slct.({_TYPES}).s32 d, a:D, b:D, c", "d = c ≥ 0 ? a : b.", _slct),
)
