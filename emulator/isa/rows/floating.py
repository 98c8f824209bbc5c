"""Rows of single and double precision arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from emulator.isa.approximate import quick
from emulator.isa.form import Form, Row, row
from emulator.isa.half import to_single
from emulator.isa.lanes import Lanes, Value
from emulator.isa.rounding import Rounding
from emulator.isa.upper import reciprocal, reciprocal_root, refined_root

_R = "(rn|rz|rm|rp)"


def _rounding(f: Form) -> Rounding:
    return cast(Rounding, f.pick("rn", "rz", "rm", "rp", default="rn"))


def _add(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.fadd(a, b, _rounding(f), f.has("ftz"), f.has("sat"))


def _sub(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.fsub(a, b, _rounding(f), f.has("ftz"), f.has("sat"))


def _mul(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.fmul(a, b, _rounding(f), f.has("ftz"), f.has("sat"))


def _fma(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    return x.fma(a, b, c, _rounding(f), f.has("ftz"), f.has("sat"))


def _div(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.fdiv(a, b, _rounding(f), f.has("ftz"))


def _div_approx(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    """a·(1/b). `.full` brings all divisors into the range of the reciprocal first, `.approx` only subnormal ones."""
    ftz = f.has("ftz")
    if ftz:
        b = x.flush(b)
    magnitude = x.fabs(b)
    factor = x.const("float", 1.0)
    if f.has("full"):
        factor = x.select(x.fcmp("ogt", magnitude, x.const("float", 2.0**126)), x.const("float", 0.25), factor)
    if not ftz:
        factor = x.select(x.fcmp("olt", magnitude, x.const("float", 2.0**-126)), x.const("float", 2.0**24), factor)
    near = quick(x, "rcp", x.binary("fmul", b, factor), ftz=True)
    return x.fmul(x.fmul(a, factor, ftz=ftz), near, ftz=ftz)


def _quick(x: Lanes, f: Form, a: Value) -> Value:
    return quick(x, f.opcode, a, f.has("ftz"))


def _rcp(x: Lanes, f: Form, a: Value) -> Value:
    return x.fdiv(x.const(a.type, 1.0), a, _rounding(f), f.has("ftz"))


def _sqrt(x: Lanes, f: Form, a: Value) -> Value:
    return x.sqrt(a, _rounding(f), f.has("ftz"))


def _double(function: Callable[[Lanes, Value], Value]) -> Callable[..., Value]:
    return lambda x, f, a: function(x, a)


def _sign(x: Lanes, f: Form, a: Value) -> Value:
    """abs or neg; a NaN keeps its sign, as from an addition of zero."""
    if f.has("ftz"):
        a = x.flush(a)
    return x.canonical(x.fabs(a) if f.opcode == "abs" else x.fneg(a), a)


def extreme(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    """min or max: −0 < +0; one NaN loses to a number, or wins with `.NaN`."""
    if f.has("ftz"):
        a, b = x.flush(a), x.flush(b)
    sign = None
    if f.has("xorsign"):
        sign = x.xor(x.to_bits(a), x.to_bits(b))
        a, b = x.fabs(a), x.fabs(b)
    largest = f.opcode == "max"
    name = ("llvm.maximum" if largest else "llvm.minimum") + ("" if f.has("NaN") else "num")
    result = x.call(name, a, b)
    if sign is not None:
        result = x.copysign(result, x.bitcast(sign, result.type))
    return x.canonical(result, a, b)


def _extreme(x: Lanes, f: Form, a: Value, b: Value, c: Value | None = None) -> Value:
    result = extreme(x, f, a, b)
    return result if c is None else extreme(x, f, result, c)


def _extreme_magnitude(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    return _extreme(x, f, x.fabs(a), x.fabs(b), x.fabs(c))


def _mixed(x: Lanes, f: Form, *operands: Value) -> Value:
    """add, sub or fma in single precision of half operands, the last one a single."""
    wide = [to_single(x, operand, f.type) for operand in operands[:-1]]
    if f.opcode == "fma":
        return x.fma(wide[0], wide[1], operands[-1], _rounding(f), sat=f.has("sat"))
    return (x.fadd if f.opcode == "add" else x.fsub)(wide[0], operands[-1], _rounding(f), sat=f.has("sat"))


def _testp(x: Lanes, f: Form, a: Value) -> Value:
    infinity = x.const_bits(a.type, 0x7F800000 if a.type == "float" else 0x7FF0000000000000)
    smallest = x.const(a.type, 2.0 ** (-126 if a.type == "float" else -1022))
    magnitude = x.fabs(a)
    if f.has("finite"):
        return x.fcmp("olt", magnitude, infinity)
    if f.has("infinite"):
        return x.fcmp("oeq", magnitude, infinity)
    if f.has("number"):
        return x.fcmp("ord", a, a)
    if f.has("notanumber"):
        return x.fcmp("uno", a, a)
    subnormal = x.and_(x.fcmp("olt", magnitude, smallest), x.fcmp("ogt", magnitude, x.const(a.type, 0.0)))
    if f.has("subnormal"):
        return subnormal
    return x.and_(x.fcmp("olt", magnitude, infinity), x.not_(subnormal))


def _copysign(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.copysign(b, a)


def _single_pair(x: Lanes, f: Form, *words: Value) -> Value:
    """Two singles in 64 bits, each computed apart."""
    parts = []
    for shift in (0, 32):
        singles = [x.bitcast(x.cast(x.lshr(word, x.const("i64", shift)), "trunc", "i32"), "float") for word in words]
        lower = {"add": x.fadd, "sub": x.fsub, "mul": x.fmul, "fma": x.fma}[f.opcode]
        result = lower(*singles, _rounding(f), f.has("ftz"))  # type: ignore[operator]
        parts.append(x.resize(x.bitcast(result, "i32"), "i64"))
    return x.or_(parts[0], x.shl(parts[1], x.const("i64", 32)))


def _alu(form: str, meaning: str, lower: object) -> Row:
    """A row whose NaN results are the hardware's and that looks at no NaN's payload."""
    return row(form, meaning, lower, canonical=True)  # type: ignore[arg-type]


ROWS = (
    *(
        line
        for opcode, word, lower in (("add", "a + b", _add), ("sub", "a − b", _sub), ("mul", "a·b", _mul))
        for line in (
            _alu(f"{opcode}{{.{_R}}}{{.ftz}}{{.sat}}.f32 d, a, b", f"d = {word}, rounded once.", lower),
            _alu(f"{opcode}{{.{_R}}}.f64 d, a, b", f"d = {word}, rounded once.", lower),
            row(f"{opcode}{{.{_R}}}{{.ftz}}.f32x2 d, a, b", f"d = {word} of two singles.", _single_pair),
        )
    ),
    *(
        line
        for opcode in ("fma", "mad")
        for line in (
            _alu(f"{opcode}.{_R}{{.ftz}}{{.sat}}.f32 d, a, b, c", "d = a·b + c, rounded once.", _fma),
            _alu(f"{opcode}.{_R}.f64 d, a, b, c", "d = a·b + c, rounded once.", _fma),
        )
    ),
    *(
        row(
            f"{opcode}{{.{_R}}}{{.sat}}.f32.(f16|bf16) d, a, b:f32",
            f"{word} in single precision, rounded once.",
            _mixed,
        )
        for opcode, word in (("add", "a + b"), ("sub", "a − b"))
    ),
    row(f"fma.{_R}{{.sat}}.f32.(f16|bf16) d, a, b, c:f32", "a·b + c in single precision, rounded once.", _mixed),
    row(f"fma.{_R}{{.ftz}}.f32x2 d, a, b, c", "d = a·b + c of two singles, each rounded once.", _single_pair),
    _alu(f"div.{_R}{{.ftz}}.f32 d, a, b", "d = a / b, rounded once.", _div),
    _alu(f"div.{_R}.f64 d, a, b", "d = a / b, rounded once.", _div),
    _alu("div.full{.ftz}.f32 d, a, b", "d = a / b within 2 ulp, over the whole range.", _div_approx),
    _alu("div.approx{.ftz}.f32 d, a, b", "d = a·(1/b) within 2 ulp; 0 for |b| beyond 2¹²⁶.", _div_approx),
    _alu(f"rcp.{_R}{{.ftz}}.f32 d, a", "d = 1/a, rounded once.", _rcp),
    _alu(f"rcp.{_R}.f64 d, a", "d = 1/a, rounded once.", _rcp),
    _alu("rcp.approx{.ftz}.f32 d, a", "d = 1/a within 1 ulp.", _quick),
    _alu("rcp.approx.ftz.f64 d, a", "1/a from the upper half of a, in the upper half of d.", _double(reciprocal)),
    _alu(f"sqrt.{_R}{{.ftz}}.f32 d, a", "d = √a, rounded once.", _sqrt),
    _alu(f"sqrt.{_R}.f64 d, a", "d = √a, rounded once.", _sqrt),
    _alu("sqrt.approx{.ftz}.f32 d, a", "d = √a within 2⁻²³.", _quick),
    _alu("rsqrt.approx{.ftz}.f32 d, a", "d = 1/√a within 2⁻²²·⁹.", _quick),
    _alu("rsqrt.approx.f64 d, a", "d = 1/√a within 1 ulp.", _double(refined_root)),
    _alu(
        "rsqrt.approx.ftz.f64 d, a", "1/√a from the upper half of a, in the upper half of d.", _double(reciprocal_root)
    ),
    _alu("sin.approx{.ftz}.f32 d, a", "sin a within 2⁻²⁰·⁵ for |a| ≤ 2π.", _quick),
    _alu("cos.approx{.ftz}.f32 d, a", "cos a within 2⁻²⁰·⁵ for |a| ≤ 2π.", _quick),
    _alu("lg2.approx{.ftz}.f32 d, a", "log₂ a within 2⁻²².", _quick),
    _alu("ex2.approx{.ftz}.f32 d, a", "2ᵃ within 2 ulp.", _quick),
    _alu("tanh.approx.f32 d, a", "tanh a within 2⁻¹¹.", _quick),
    _alu("abs{.ftz}.f32 d, a", "|a|.", _sign),
    _alu("abs.f64 d, a", "|a|.", _sign),
    _alu("neg{.ftz}.f32 d, a", "−a.", _sign),
    _alu("neg.f64 d, a", "−a.", _sign),
    *(
        line
        for opcode, word in (("min", "smaller"), ("max", "larger"))
        for line in (
            _alu(
                f"{opcode}{{.ftz}}{{.NaN}}.f32 d, a, b, c?",
                f"The {word}; a NaN only if all are, or with `.NaN` if one is.",
                _extreme,
            ),
            _alu(
                f"{opcode}{{.ftz}}{{.NaN}}.xorsign.abs.f32 d, a, b",
                f"The {word} magnitude, with the product's sign.",
                _extreme,
            ),
            _alu(
                f"{opcode}{{.ftz}}{{.NaN}}.abs.f32 d, a, b, c",
                f"The {word} magnitude of three.",
                _extreme_magnitude,
            ),
            _alu(f"{opcode}.f64 d, a, b", f"The {word}; a NaN only if both are.", _extreme),
        )
    ),
    row(
        "testp.(finite|infinite|number|notanumber|normal|subnormal).(f32|f64) p:pred, a",
        "Whether a is of that class; zero counts as normal.",
        _testp,
    ),
    row("copysign.(f32|f64) d, a, b", "b with the sign of a.", _copysign),
)
