"""How a value differs between the lanes of a gang: uniform < affine < wide < varying, and its algebra.

A *uniform* value is one scalar. An *affine* value of 32 bits is `base + pattern[lane] + step·axis[lane]` (modulo
2³²) with scalars base and step and constant patterns; tid.x is one. A *wide* value of 64 bits is
`extend(affine)·scale + rest + extra[lane]`: the sign or zero extension is kept symbolic, because the 32-bit sum may
wrap, and the place that uses the value as an address checks that it does not. Where its span shows that it cannot, the
value is *plain*, `rest + extra[lane]` alone, and two such values can be added. Everything else is *varying*, a vector.

The same functions serve the analysis, where scalars are ints or UNKNOWN, and the lowering, where they are ints or
LLVM operands: both can never disagree about what stays symbolic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import Literal, Protocol

Kind = Literal["uniform", "affine", "wide", "varying"]
Scalar = int | str
Pattern = tuple[int, ...]

UNKNOWN = "?"
_LARGEST_SCALE = 1 << 31


class Scalars(Protocol):
    """Arithmetic on scalars of the gang; results are folded where the operands are ints."""

    def add(self, a: Scalar, b: Scalar, bits: int) -> Scalar: ...
    def subtract(self, a: Scalar, b: Scalar, bits: int) -> Scalar: ...
    def multiply(self, a: Scalar, b: Scalar, bits: int) -> Scalar: ...
    def and_(self, a: Scalar, b: Scalar, bits: int) -> Scalar: ...
    def shift_right(self, a: Scalar, count: int, signed: bool, bits: int) -> Scalar: ...
    def truncate(self, a: Scalar) -> Scalar: ...
    def extend(self, a: Scalar, signed: bool) -> Scalar: ...


def wrap(value: int, bits: int) -> int:
    """The signed integer of that many bits that is congruent to the value."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def trailing_zeros(value: int) -> int:
    return 31 if value == 0 else min((value & -value).bit_length() - 1, 31)


class AbstractScalars:
    """Scalars of the analysis: an int that is known, or UNKNOWN."""

    def add(self, a: Scalar, b: Scalar, bits: int) -> Scalar:
        return wrap(a + b, bits) if isinstance(a, int) and isinstance(b, int) else UNKNOWN

    def subtract(self, a: Scalar, b: Scalar, bits: int) -> Scalar:
        return wrap(a - b, bits) if isinstance(a, int) and isinstance(b, int) else UNKNOWN

    def multiply(self, a: Scalar, b: Scalar, bits: int) -> Scalar:
        if isinstance(a, int) and isinstance(b, int):
            return wrap(a * b, bits)
        return 0 if a == 0 or b == 0 else UNKNOWN

    def and_(self, a: Scalar, b: Scalar, bits: int) -> Scalar:
        return wrap(a & b, bits) if isinstance(a, int) and isinstance(b, int) else UNKNOWN

    def shift_right(self, a: Scalar, count: int, signed: bool, bits: int) -> Scalar:
        if not isinstance(a, int):
            return UNKNOWN
        return wrap(a >> count if signed else (a & ((1 << bits) - 1)) >> count, bits)

    def truncate(self, a: Scalar) -> Scalar:
        return wrap(a, 32) if isinstance(a, int) else UNKNOWN

    def extend(self, a: Scalar, signed: bool) -> Scalar:
        if not isinstance(a, int):
            return UNKNOWN
        return a if signed else a & 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Shape:
    """A value in symbolic form. `base` of a varying value is its vector; `align` counts known zero bits of base."""

    kind: Kind
    type: str  # LLVM's element type
    base: Scalar = UNKNOWN
    align: int = 0
    pattern: Pattern = ()
    step: Scalar = 0
    axis: Pattern | None = None
    signed: bool = False
    scale: int = 1
    rest: Scalar = 0
    extra: Pattern = ()
    span: tuple[int, int] | None = None
    """Bounds of a 32-bit value over all lanes, where they are known; no part of the value."""

    def bounded(self, span: tuple[int, int] | None) -> Shape:
        """The same value with these bounds."""
        if span == self.span:
            return self
        return Shape(
            self.kind, self.type, self.base, self.align, self.pattern, self.step, self.axis, self.signed, self.scale,
            self.rest, self.extra, span,
        )  # fmt: skip

    def with_scalars(self, base: Scalar, step: Scalar, rest: Scalar) -> Shape:
        """The same form of other scalars."""
        if base == self.base and step == self.step and rest == self.rest:
            return self
        return Shape(
            self.kind, self.type, base, self.align, self.pattern, step, self.axis, self.signed, self.scale, rest,
            self.extra, self.span,
        )  # fmt: skip

    @property
    def is_plain(self) -> bool:
        """Of a wide value, whether the extended part is 0."""
        return self.base == 0 and self.axis is None and not any(self.pattern)

    @property
    def constant(self) -> int | None:
        return self.base if self.kind == "uniform" and isinstance(self.base, int) else None


def uniform(type: str, base: Scalar = UNKNOWN, align: int = 0) -> Shape:
    return Shape("uniform", type, base, trailing_zeros(base) if isinstance(base, int) else align)


def varying(type: str, base: Scalar = UNKNOWN) -> Shape:
    return Shape("varying", type, base)


def affine(
    base: Scalar, pattern: Pattern, align: int, scalars: Scalars, step: Scalar = 0, axis: Pattern | None = None
) -> Shape:
    """The affine value in normal form: an axis only where the step may differ from 0, uniform where lanes agree."""
    pattern = tuple(wrap(p, 32) for p in pattern)
    if axis is None or step == 0:
        step, axis = 0, None
    if axis is None and len(set(pattern)) == 1:
        base = scalars.add(base, pattern[0], 32)
        return uniform("i32", base, min(align, trailing_zeros(pattern[0])))
    if isinstance(base, int):
        align = trailing_zeros(base)
    return Shape("affine", "i32", base, align, pattern, step, axis)


def _frame(shape: Shape) -> tuple[object, ...]:
    """What must be equal for two values to share storage."""
    return shape.kind, shape.type, shape.pattern, shape.axis, shape.signed, shape.scale, shape.extra


def join(a: Shape | None, b: Shape | None) -> Shape | None:
    """The least shape that holds both values."""
    if a is None or b is None or a == b:
        return a if b is None else b
    if _frame(a) != _frame(b) or a.kind == "varying":
        return varying(a.type)
    return replace(
        a,
        base=a.base if a.base == b.base else UNKNOWN,
        step=a.step if a.step == b.step else UNKNOWN,
        rest=a.rest if a.rest == b.rest else UNKNOWN,
        align=min(a.align, b.align),
    )


def _zeros(shape: Shape) -> Pattern:
    return (0,) * len(shape.pattern)


def add(a: Shape, b: Shape, scalars: Scalars, sign: int = 1) -> Shape | None:
    """a + sign·b of 32 or 64 bits, or None where the sum is not symbolic."""
    combine = scalars.add if sign == 1 else scalars.subtract
    if a.kind == b.kind == "uniform":
        bits = 64 if a.type == "i64" else 32
        return uniform(a.type, combine(a.base, b.base, bits), min(a.align, b.align))
    if a.kind == "wide" and b.kind == "uniform":
        return replace(a, rest=combine(a.rest, b.base, 64))
    if b.kind == "wide" and a.kind == "uniform" and sign == 1:
        return replace(b, rest=scalars.add(b.rest, a.base, 64))
    if a.kind == b.kind == "wide":
        return _add_wide(a, b, scalars, sign)
    if "affine" not in (a.kind, b.kind) or not {a.kind, b.kind} <= {"uniform", "affine"} or a.type != "i32":
        return None
    width = len(a.pattern or b.pattern)
    pa, pb = a.pattern or (0,) * width, b.pattern or (0,) * width
    if a.axis is not None and b.axis is not None and a.axis != b.axis:
        return None
    step = combine(a.step, b.step, 32)
    base = combine(a.base, b.base, 32)
    pattern = tuple(x + sign * y for x, y in zip(pa, pb, strict=True))
    return affine(base, pattern, min(a.align, b.align), scalars, step, a.axis or b.axis)


def _add_wide(a: Shape, b: Shape, scalars: Scalars, sign: int) -> Shape | None:
    """a + sign·b where one of them is plain."""
    kept = a
    if not b.is_plain:
        if not a.is_plain or sign != 1:
            return None
        kept = b
    rest = scalars.add(a.rest, b.rest, 64) if sign == 1 else scalars.subtract(a.rest, b.rest, 64)
    extra = tuple(x + sign * y for x, y in zip(_extra(a), _extra(b), strict=True))
    return _settled(replace(kept, rest=rest, extra=extra), scalars)


def _extra(shape: Shape) -> Pattern:
    return shape.extra or _zeros(shape)


def _settled(shape: Shape, scalars: Scalars) -> Shape:
    """A wide value in normal form: no extra of zeros, and uniform where lanes agree."""
    if not any(shape.extra):
        shape = replace(shape, extra=())
    if shape.is_plain and len(set(shape.extra)) <= 1:
        return uniform("i64", scalars.add(shape.rest, _extra(shape)[0], 64))
    return shape


def multiply(a: Shape, b: Shape, scalars: Scalars) -> Shape | None:
    """a·b of 32 bits, or a wide value by a constant."""
    if a.kind == "uniform":
        a, b = b, a
    if b.kind != "uniform":
        return None
    if a.kind == "uniform":
        bits = 64 if a.type == "i64" else 32
        return uniform(a.type, scalars.multiply(a.base, b.base, bits), min(31, a.align + b.align))
    factor = b.constant
    if a.kind == "wide":
        if factor is None or abs(a.scale * factor) >= _LARGEST_SCALE or factor == 0:
            return None
        scale = 1 if a.is_plain else a.scale * factor
        extra = tuple(p * factor for p in a.extra)
        return replace(a, scale=scale, rest=scalars.multiply(a.rest, factor, 64), extra=extra)
    if a.kind != "affine" or a.type != "i32":
        return None
    align = min(31, a.align + b.align)
    if factor is not None:
        pattern = tuple(p * factor for p in a.pattern)
        step = scalars.multiply(a.step, factor, 32)
        return affine(scalars.multiply(a.base, factor, 32), pattern, align, scalars, step, a.axis)
    if a.axis is not None:
        if any(a.pattern):
            return None
        step = scalars.multiply(a.step, b.base, 32)
        return affine(scalars.multiply(a.base, b.base, 32), a.pattern, align, scalars, step, a.axis)
    # (base + p₀ + g·axis)·b, with the pattern's common factor taken out so that equal axes can be added.
    first = a.pattern[0]
    factor = gcd(*(p - first for p in a.pattern))
    axis = tuple((p - first) // factor for p in a.pattern)
    base = scalars.multiply(scalars.add(a.base, first, 32), b.base, 32)
    return affine(base, _zeros(a), 0, scalars, scalars.multiply(factor, b.base, 32), axis)


def _disjoint(a: Shape) -> bool:
    """Whether base and pattern share no bit, so that bitwise operations act on each alone."""
    return a.axis is None and all(0 <= p < 1 << a.align for p in a.pattern)


def bitwise_and(a: Shape, b: Shape, scalars: Scalars) -> Shape | None:
    if a.kind == "uniform":
        a, b = b, a
    mask = b.constant
    if a.kind != "affine" or mask is None:
        return None
    if mask >= 0 and mask & (mask + 1) == 0 and mask < 1 << a.align and a.axis is None:
        return affine(0, tuple(p & mask for p in a.pattern), 31, scalars)
    if not _disjoint(a):
        return None
    return affine(scalars.and_(a.base, mask, 32), tuple(p & mask for p in a.pattern), a.align, scalars)


def bitwise_or(a: Shape, b: Shape, scalars: Scalars) -> Shape | None:
    if a.kind == "uniform":
        a, b = b, a
    mask = b.constant
    if a.kind != "affine" or mask is None or not _disjoint(a) or not 0 <= mask < 1 << a.align:
        return None
    return affine(a.base, tuple(p | mask for p in a.pattern), a.align, scalars)


def shift_right(a: Shape, count: int, signed: bool, scalars: Scalars) -> Shape | None:
    if a.kind != "affine" or not _disjoint(a) or not 0 <= count <= a.align:
        return None
    base = scalars.shift_right(a.base, count, signed, 32)
    return affine(base, tuple(p >> count for p in a.pattern), a.align - count, scalars)


def widen(a: Shape, signed: bool, scalars: Scalars, scale: int = 1) -> Shape | None:
    """extend(a)·scale of 64 bits, from an affine value."""
    if a.kind != "affine" or not 0 < abs(scale) < _LARGEST_SCALE:
        return None
    if _extends_exactly(a, signed):
        rest = scalars.multiply(scalars.extend(a.base, True), scale, 64)
        extra = tuple(p * scale for p in a.pattern)
        return _settled(Shape("wide", "i64", 0, 31, _zeros(a), rest=rest, extra=extra), scalars)
    return replace(a, kind="wide", type="i64", signed=signed, scale=scale, rest=0, span=None)


def _extends_exactly(a: Shape, signed: bool) -> bool:
    """Whether extend(base + pattern) is extend(base) + pattern in every lane."""
    if a.span is None or a.axis is not None or (not signed and a.span[0] < 0):
        return False
    return a.span[0] - max(a.pattern) >= -(1 << 31) and a.span[1] - min(a.pattern) < 1 << 31


def narrow(a: Shape, scalars: Scalars) -> Shape | None:
    """The low 32 bits of a wide value."""
    if a.kind != "wide":
        return None
    base = scalars.add(scalars.multiply(a.base, a.scale, 32), scalars.truncate(a.rest), 32)
    step = scalars.multiply(a.step, a.scale, 32)
    pattern = tuple(p * a.scale + e for p, e in zip(a.pattern, _extra(a), strict=True))
    return affine(base, pattern, 0, scalars, step, a.axis)
