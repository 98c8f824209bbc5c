"""Rows of float16 and bfloat16 arithmetic, single and packed."""

from __future__ import annotations

from collections.abc import Callable

from emulator.isa.approximate import quick
from emulator.isa.form import Form, Row, row
from emulator.isa.half import NAN16, flush_half, fma_exact, from_double, from_single, halves, pack, to_single
from emulator.isa.lanes import Lanes, Value
from emulator.isa.rows.floating import extreme

# One operation on 16-bit values of a kind ('f16' or 'bf16').
Half = Callable[[Lanes, Form, str, tuple[Value, ...]], Value]


# The NaN that stands for elements outside a tensor, of either sign, as an H200 knows it in both formats.
OUTSIDE = 0x7FF7
# Below this magnitude a float16 result is tiny: it would round below 2⁻¹⁴ with an unbounded exponent.
_TINY = 2.0**-14 - 2.0**-26


def _flush_tiny(x: Lanes, f: Form, bits: Value, exact: Value) -> Value:
    """`.ftz` of a float16 result, from the exact (or rounded to odd) value that it was rounded from."""
    if not f.has("ftz"):
        return bits
    tiny = x.fcmp("olt", x.fabs(exact), x.const(exact.type, _TINY))
    return x.select(tiny, x.and_(bits, x.const("i16", 0x8000)), bits)


def _arithmetic(x: Lanes, f: Form, kind: str, operands: tuple[Value, ...]) -> Value:
    a, b = (to_single(x, v, kind, f.has("ftz")) for v in operands)
    exact = x.binary({"add": "fadd", "sub": "fsub", "mul": "fmul"}[f.opcode], a, b)
    result = x.saturate(exact) if f.has("sat") else exact
    return _flush_tiny(x, f, from_single(x, result, kind), exact)


def _fma(x: Lanes, f: Form, kind: str, operands: tuple[Value, ...]) -> Value:
    a, b, c = (to_single(x, v, kind, f.has("ftz")) for v in operands)
    exact = fma_exact(x, a, b, c)
    bits = from_double(x, exact, kind)
    if f.has("relu"):
        bits = x.select(x.icmp("slt", bits, x.const("i16", 0)), x.const("i16", 0), bits)
    if f.has("sat"):
        bits = from_single(x, x.saturate(to_single(x, bits, kind)), kind)
    if f.has("oob"):
        outside = x.const("i16", OUTSIDE)
        first, second = (x.and_(operand, x.const("i16", 0x7FFF)) for operand in operands[:2])
        factor = x.or_(x.icmp("eq", first, outside), x.icmp("eq", second, outside))
        bits = x.select(factor, x.const("i16", 0), bits)
    return _flush_tiny(x, f, bits, exact)


def _sign(x: Lanes, f: Form, kind: str, operands: tuple[Value, ...]) -> Value:
    bits = operands[0]
    if f.has("ftz"):
        bits = flush_half(x, bits, kind)
    nan = x.is_nan(to_single(x, bits, kind))
    changed = x.and_(bits, x.const("i16", 0x7FFF)) if f.opcode == "abs" else x.xor(bits, x.const("i16", 0x8000))
    return x.select(nan, x.const("i16", NAN16), changed)


def _extreme(x: Lanes, f: Form, kind: str, operands: tuple[Value, ...]) -> Value:
    a, b = (to_single(x, v, kind, f.has("ftz")) for v in operands)
    return from_single(x, extreme(x, f, a, b), kind)


def _function(x: Lanes, f: Form, kind: str, operands: tuple[Value, ...]) -> Value:
    a = to_single(x, operands[0], kind, f.has("ftz"))
    # The hardware cuts these results off instead of rounding them.
    result = quick(x, f.opcode, a)
    bits = from_single(x, result, kind, "rz")
    if kind == "f16":
        bits = x.select(x.fcmp("oge", result, x.const("float", 65536.0)), x.const("i16", 0x7C00), bits)
    return flush_half(x, bits, kind) if f.has("ftz") else bits


def _each(operation: Half) -> Callable[..., Value]:
    """The row's lowering: on one half, or on both halves of packed words."""

    def lower(x: Lanes, f: Form, *operands: Value) -> Value:
        kind = f.type.removesuffix("x2")
        if kind == f.type:
            return operation(x, f, kind, operands)
        lows, highs = zip(*(halves(x, v) for v in operands), strict=True)
        return pack(x, operation(x, f, kind, lows), operation(x, f, kind, highs))

    return lower


def _rows() -> tuple[Row, ...]:
    result: list[Row] = []
    half, brain = "(f16|f16x2)", "(bf16|bf16x2)"
    arithmetic, fma, sign = _each(_arithmetic), _each(_fma), _each(_sign)
    extreme_, function = _each(_extreme), _each(_function)
    for opcode, word in (("add", "a + b"), ("sub", "a − b"), ("mul", "a·b")):
        result.append(row(f"{opcode}{{.rn}}{{.ftz}}{{.sat}}.{half} d, a, b", f"d = {word}, rounded once.", arithmetic))
        result.append(row(f"{opcode}{{.rn}}.{brain} d, a, b", f"d = {word}, rounded once.", arithmetic))
    result.append(row(f"fma.rn{{.ftz}}{{.sat}}.{half} d, a, b, c", "d = a·b + c, rounded once.", fma))
    result.append(row(f"fma.rn{{.ftz}}.relu.{half} d, a, b, c", "a·b + c, rounded once; negative becomes 0.", fma))
    result.append(row(f"fma.rn{{.relu}}.{brain} d, a, b, c", "d = a·b + c, rounded once; `.relu`: at least 0.", fma))
    result.append(
        row(
            f"fma.rn.oob{{.relu}}.({half[1:-1]}|{brain[1:-1]}) d, a, b, c",
            "a·b + c, rounded once; 0 where a factor is the NaN of elements outside a tensor.",
            fma,
        )
    )
    for opcode, word in (("abs", "|a|"), ("neg", "−a")):
        result.append(row(f"{opcode}{{.ftz}}.{half} d, a", f"{word}.", sign))
        result.append(row(f"{opcode}.{brain} d, a", f"{word}.", sign))
    for opcode, word in (("min", "smaller"), ("max", "larger")):
        result.append(row(f"{opcode}{{.ftz}}{{.NaN}}.{half} d, a, b", f"The {word}; NaN as in f32.", extreme_))
        result.append(
            row(
                f"{opcode}{{.ftz}}{{.NaN}}.xorsign.abs.{half} d, a, b",
                f"The {word} magnitude, product's sign.",
                extreme_,
            )
        )
        result.append(row(f"{opcode}{{.NaN}}.{brain} d, a, b", f"The {word}; NaN as in f32.", extreme_))
        result.append(
            row(f"{opcode}{{.NaN}}.xorsign.abs.{brain} d, a, b", f"The {word} magnitude, product's sign.", extreme_)
        )
    result.append(row(f"ex2.approx.{half} d, a", "2ᵃ.", function))
    result.append(row(f"ex2.approx.ftz.{brain} d, a", "2ᵃ.", function))
    result.append(row(f"tanh.approx.({half[1:-1]}|{brain[1:-1]}) d, a", "tanh a.", function))
    return tuple(result)


ROWS = _rows()
