"""Rows of integer arithmetic."""

from __future__ import annotations

from emulator.isa.form import Form, row
from emulator.isa.lanes import Lanes, Value

_INT = "(u16|u32|u64|s16|s32|s64)"


def _signed(form: Form) -> bool:
    return form.type[0] == "s"


def _halves(x: Lanes, a: Value) -> tuple[Value, Value]:
    """The low and high 16 bits of a packed pair."""
    return x.cast(a, "trunc", "i16"), x.cast(x.lshr(a, x.const("i32", 16)), "trunc", "i16")


def _pair(x: Lanes, low: Value, high: Value) -> Value:
    return x.or_(x.resize(low, "i32"), x.shl(x.resize(high, "i32"), x.const("i32", 16)))


def _add(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.add_saturated(a, b) if f.has("sat") else x.add(a, b)


def _sub(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.sub_saturated(a, b) if f.has("sat") else x.sub(a, b)


def _add_pair(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    (al, ah), (bl, bh) = _halves(x, a), _halves(x, b)
    return _pair(x, x.add(al, bl), x.add(ah, bh))


def _mul(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    if f.has("wide"):
        return x.mul_wide(a, b, _signed(f))
    return x.mul_high(a, b, _signed(f)) if f.has("hi") else x.mul(a, b)


def _mad(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    product = _mul(x, f, a, b)
    return x.add_saturated(product, c) if f.has("sat") else x.add(product, c)


def _mul24(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    eight = x.const("i32", 8)
    shift = x.ashr if _signed(f) else x.lshr
    a, b = (shift(x.shl(v, eight), eight) for v in (a, b))
    if f.has("lo"):
        return x.mul(a, b)
    product = x.mul_wide(a, b, _signed(f))
    return x.cast(x.lshr(product, x.const("i64", 16)), "trunc", "i32")


def _mad24(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    product = _mul24(x, f, a, b)
    return x.add_saturated(product, c) if f.has("sat") else x.add(product, c)


def _sad(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    low = x.smin if _signed(f) else x.umin
    high = x.smax if _signed(f) else x.umax
    return x.add(c, x.sub(high(a, b), low(a, b)))


def _div(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.sdiv(a, b) if _signed(f) else x.udiv(a, b)


def _rem(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.srem(a, b) if _signed(f) else x.urem(a, b)


def _extreme(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    signed, unsigned = (x.smax, x.umax) if f.opcode == "max" else (x.smin, x.umin)
    result = (signed if _signed(f) else unsigned)(a, b)
    return x.smax(result, x.const(result.type, 0)) if f.has("relu") else result


def _extreme_pair(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    (al, ah), (bl, bh) = _halves(x, a), _halves(x, b)
    return _pair(x, _extreme(x, f, al, bl), _extreme(x, f, ah, bh))


def _carry(x: Lanes, f: Form, *sources: Value) -> Value | tuple[Value, ...]:
    """add, sub and mad with the carry flag read (`addc`), written (`.cc`) or both."""
    operands = list(sources)
    carry = operands.pop() if f.row.carry_in else None
    if f.opcode.startswith("mad"):
        operands = [_mul(x, f, operands[0], operands[1]), operands[2]]
    combine = x.sub_borrow if f.opcode.startswith("sub") else x.add_carry
    total, out = combine(operands[0], operands[1], carry)
    return (total, out) if f.row.carry_out else total


def _dp4a(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    kinds = f.types
    for byte in range(4):
        c = x.add(c, x.mul(field(x, a, 8 * byte, 8, kinds[0]), field(x, b, 8 * byte, 8, kinds[1])))
    return c


def _dp2a(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    kinds = f.types
    first = 0 if f.has("lo") else 2
    for half in range(2):
        word = field(x, a, 16 * half, 16, kinds[0])
        c = x.add(c, x.mul(word, field(x, b, 8 * (first + half), 8, kinds[1])))
    return c


def field(x: Lanes, a: Value, position: int, length: int, kind: str) -> Value:
    """Bits of a 32-bit word, extended by the signedness of `kind`."""
    left, right = x.const("i32", 32 - position - length), x.const("i32", 32 - length)
    return (x.ashr if kind[0] == "s" else x.lshr)(x.shl(a, left), right)


ROWS = (
    row("add.(u16|u32|u64|s16|s64) d, a, b", "d = a + b, wrapping.", _add),
    row("add{.sat}.s32 d, a, b", "d = a + b; `.sat` clamps to the range of s32 instead of wrapping.", _add),
    row("add.(u16x2|s16x2) d, a, b", "Both 16-bit halves added apart, wrapping.", _add_pair),
    row("sub.(u16|u32|u64|s16|s64) d, a, b", "d = a − b, wrapping.", _sub),
    row("sub{.sat}.s32 d, a, b", "d = a − b; `.sat` clamps to the range of s32 instead of wrapping.", _sub),
    row(f"mul.(lo|hi).{_INT} d, a, b", "The lower or upper half of the product.", _mul),
    row("mul.wide.(u16|u32|s16|s32) d:2T, a, b", "The whole product, twice as wide as its factors.", _mul),
    row(f"mad.(lo|hi).{_INT} d, a, b, c", "The lower or upper half of a·b, plus c, wrapping.", _mad),
    row("mad.hi.sat.s32 d, a, b, c", "The upper half of a·b, plus c, clamped to the range of s32.", _mad),
    row("mad.wide.(u16|u32|s16|s32) d:2T, a, b, c:2T", "The whole product a·b plus the wide c.", _mad),
    row("mul24.(lo|hi).(u32|s32) d, a, b", "Bits 31–0 or 47–16 of the product of the low 24 bits.", _mul24),
    row("mad24.(lo|hi).(u32|s32) d, a, b, c", "mul24 of a and b, plus c, wrapping.", _mad24),
    row("mad24.hi.sat.s32 d, a, b, c", "mul24.hi of a and b, plus c, clamped to the range of s32.", _mad24),
    row(f"sad.{_INT} d, a, b, c", "d = c + |a − b|.", _sad),
    row(f"div.{_INT} d, a, b", "The quotient, rounded towards zero; all ones where b is 0.", _div),
    row(f"rem.{_INT} d, a, b", "The remainder with the sign of a; all ones where b is 0.", _rem),
    row("abs.(s16|s32|s64) d, a", "|a|; the most negative number stays.", lambda x, f, a: x.abs(a)),
    row("neg.(s16|s32|s64) d, a", "d = −a, wrapping.", lambda x, f, a: x.neg(a)),
    *(
        line
        for opcode, word in (("min", "smaller"), ("max", "larger"))
        for line in (
            row(f"{opcode}.(u16|u32|u64|s16|s64) d, a, b", f"The {word} of a and b.", _extreme),
            row(f"{opcode}{{.relu}}.s32 d, a, b", f"The {word} of a and b; `.relu`: at least 0.", _extreme),
            row(f"{opcode}.u16x2 d, a, b", f"The {word} of each 16-bit half.", _extreme_pair),
            row(f"{opcode}{{.relu}}.s16x2 d, a, b", f"The {word} of each half; `.relu`: at least 0.", _extreme_pair),
        )
    ),
    *(
        line
        for opcode, word in (("add", "sum"), ("sub", "difference"))
        for line in (
            row(f"{opcode}.cc.(u32|s32|u64|s64) d, a, b", f"The {word}; sets the carry.", _carry, carry_out=True),
            row(f"{opcode}c.(u32|s32|u64|s64) d, a, b", f"The {word} with the carry.", _carry, carry_in=True),
            row(
                f"{opcode}c.cc.(u32|s32|u64|s64) d, a, b",
                f"The {word} with the carry; sets the carry.",
                _carry,
                carry_in=True,
                carry_out=True,
            ),
        )
    ),
    row(
        "mad.(lo|hi).cc.(u32|s32|u64|s64) d, a, b, c",
        "mad that sets the carry of its addition.",
        _carry,
        carry_out=True,
    ),
    row("madc.(lo|hi).(u32|s32|u64|s64) d, a, b, c", "mad plus the carry.", _carry, carry_in=True),
    row(
        "madc.(lo|hi).cc.(u32|s32|u64|s64) d, a, b, c",
        "mad plus the carry; sets the carry.",
        _carry,
        carry_in=True,
        carry_out=True,
    ),
    row(
        "dp4a.(u32|s32).(u32|s32) d:b32, a:b32, b:b32, c:b32", "c plus the dot product of four bytes of a and b.", _dp4a
    ),
    row(
        "dp2a.(lo|hi).(u32|s32).(u32|s32) d:b32, a:b32, b:b32, c:b32",
        "c plus the dot product of a's two halves and the lower or upper two bytes of b.",
        _dp2a,
    ),
)
