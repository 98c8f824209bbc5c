"""Rows of conversions: integers and floating numbers of every width into each other."""

from __future__ import annotations

from typing import cast

from emulator.isa.form import LLVM_TYPES, Form, row
from emulator.isa.half import from_double, from_single, narrowed_nan, odd_double, to_single
from emulator.isa.lanes import Lanes, Value
from emulator.isa.rounding import Rounding

_HALF = ("f16", "bf16")


def _rounding(f: Form) -> Rounding:
    return cast(Rounding, f.pick("rn", "rz", "rm", "rp", default="rn"))


def _bounds(kind: str) -> tuple[int, int]:
    width = int(kind[1:])
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)


def _integer_to_integer(x: Lanes, f: Form, a: Value) -> Value:
    target, source = f.types
    if f.has("sat"):
        low, high = _bounds(target)
        least, most = _bounds(source)
        if high < most:
            a = (x.smin if source[0] == "s" else x.umin)(a, x.const(a.type, high))
        if low > least:
            a = x.smax(a, x.const(a.type, low))
    return x.resize(a, LLVM_TYPES[target], source[0] == "s")


_TO_INTEGRAL = {"rni": "llvm.roundeven", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}


def _float_to_integer(x: Lanes, f: Form, a: Value) -> Value:
    """Rounded to an integral number, then clamped to the destination's range."""
    target, source = f.types
    if source in _HALF:
        a = to_single(x, a, source, f.has("ftz"))
    elif f.has("ftz"):
        a = x.flush(a)
    mode = f.pick(*_TO_INTEGRAL)
    nan = x.is_nan(a)
    if mode != "rzi":
        a = x.call(_TO_INTEGRAL[mode], a)
    kind = LLVM_TYPES[target]
    result = x.call("llvm.fptosi.sat" if target[0] == "s" else "llvm.fptoui.sat", a, type=kind, overloads=2)
    invalid = _nan_as_integer(target, source)
    return x.select(nan, x.const(kind, invalid), result) if invalid else result


def _nan_as_integer(target: str, source: str) -> int:
    """What the hardware makes of a NaN: 0, or the sign bit alone where either side has 64 bits."""
    width = int(target[1:])
    return 1 << (width - 1) if width == 64 or source == "f64" else 0


def _split(x: Lanes, a: Value, signed: bool) -> tuple[Value, Value]:
    """A 64-bit integer as the exact sum of two doubles: its top 53 bits and its low 11."""
    low = x.and_(a, x.const("i64", 0x7FF))
    high = x.sub(a, low)
    return x.cast(high, "sitofp" if signed else "uitofp", "double"), x.cast(low, "sitofp", "double")


def _exact_double(x: Lanes, a: Value, signed: bool) -> Value:
    """An integer as a double, rounded to odd where it has more than 53 bits."""
    if a.bits < 64:
        return x.cast(a, "sitofp" if signed else "uitofp", "double")
    high, low = _split(x, a, signed)
    total = x.binary("fadd", high, low)
    return odd_double(x, total, x.binary("fsub", low, x.binary("fsub", total, high)))


def _integer_to_float(x: Lanes, f: Form, a: Value) -> Value:
    target, source = f.types
    signed = source[0] == "s"
    convert = "sitofp" if signed else "uitofp"
    rounding = _rounding(f)
    if target in _HALF:
        bits = from_double(x, _exact_double(x, a, signed), target, rounding)
        return from_single(x, x.saturate(to_single(x, bits, target)), target) if f.has("sat") else bits
    kind = LLVM_TYPES[target]
    result = x.cast(a, convert, kind)
    if rounding != "rn":
        nearest = x.cast(result, "fpext", "double") if kind == "float" else result
        if a.bits < 64:
            residual = x.binary("fsub", x.cast(a, convert, "double"), nearest)
        else:
            # Both parts and the nearest number are multiples of one small power of two, so this is exact.
            high, low = _split(x, a, signed)
            residual = x.binary("fadd", x.binary("fsub", high, nearest), low)
        result = x.nudge(result, residual, rounding)
    return x.saturate(result) if f.has("sat") else result


def _float_to_float(x: Lanes, f: Form, a: Value) -> Value:
    target, source = f.types
    ftz = f.has("ftz")
    if source in _HALF:
        a = to_single(x, a, source)
    # Narrowing to float16 the hardware does not flush: float16's smallest steps are far above float's subnormals,
    # and directed roundings see that the number was not zero.
    if source == "f32" and ftz and target != "f16":
        a = x.canonical(x.flush(a))
    integral = f.pick(*_TO_INTEGRAL)
    if integral:
        a = x.call(_TO_INTEGRAL[integral], a)
    if f.has("relu"):
        a = _relu(x, a)
    if f.has("sat"):
        a = x.saturate(a)
    if target in _HALF:
        if a.type == "float":
            bits = from_single(x, a, target, _rounding(f))
            return _finite_half(x, bits, target) if f.has("satfinite") else bits
        bits = from_double(x, a, target, _rounding(f))
        return x.select(x.is_nan(a), narrowed_nan(x, a, target), bits)
    if target == "f64":
        # NaNs pass with sign and payload.
        return a if source == "f64" and not integral else x.cast(_passed(x, a), "fpext", "double")
    if a.type == "double":
        return _narrowed(x, f, a)
    # A plain copy and bfloat16's shift leave NaNs alone.
    plain = not (integral or ftz or f.has("sat")) and source in ("f32", "bf16")
    return a if plain else x.canonical(x.flush(a) if ftz else a)


def _passed(x: Lanes, a: Value) -> Value:
    """The value with its NaNs made quiet."""
    return x.select(x.is_nan(a), x.quieted(a), a)


def _narrowed(x: Lanes, f: Form, a: Value) -> Value:
    """A double as a float; NaNs keep sign and upper payload."""
    result = x.cast(_passed(x, a), "fptrunc", "float")
    rounding = _rounding(f)
    if rounding != "rn":
        infinity = x.const_bits("double", 0x7FF0000000000000)
        residual = x.binary("fsub", a, x.cast(result, "fpext", "double"))
        finite = x.fcmp("one", x.fabs(a), infinity)
        result = x.nudge(result, x.select(finite, residual, x.const("double", 0.0)), rounding)
    return x.flush(result) if f.has("ftz") else result


def _relu(x: Lanes, a: Value) -> Value:
    """Negative numbers and −0 become +0; NaN stays."""
    zero = x.const(a.type, 0.0)
    return x.select(x.fcmp("ole", a, zero), zero, a)


def _to_pair(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    """Two floats into one word; the first goes to the upper half."""
    kind = f.types[0].removesuffix("x2")
    parts = []
    for value in (b, a):
        if f.has("relu"):
            value = _relu(x, value)
        bits = from_single(x, value, kind, _rounding(f))
        parts.append(_finite_half(x, bits, kind) if f.has("satfinite") else bits)
    low, high = parts
    return x.or_(x.resize(low, "i32"), x.shl(x.resize(high, "i32"), x.const("i32", 16)))


def _to_pair_by_chance(x: Lanes, f: Form, a: Value, b: Value, random: Value) -> Value:
    """Two floats as bfloat16; each goes away from zero where half of the random bits carries out of what is dropped."""
    parts = []
    for value, bits in ((b, x.and_(random, x.const("i32", 0xFFFF))), (a, x.lshr(random, x.const("i32", 16)))):
        if f.has("relu"):
            value = _relu(x, value)
        rounded = x.lshr(x.add(x.bitcast(value, "i32"), bits), x.const("i32", 16))
        half = x.select(x.is_nan(value), x.const("i16", 0x7FFF), x.cast(rounded, "trunc", "i16"))
        parts.append(_finite_half(x, half, "bf16") if f.has("satfinite") else half)
    low, high = parts
    return x.or_(x.resize(low, "i32"), x.shl(x.resize(high, "i32"), x.const("i32", 16)))


def _finite_half(x: Lanes, bits: Value, kind: str) -> Value:
    """`.satfinite`: an infinity becomes the largest finite number of its sign."""
    infinity = x.const("i16", 0x7C00 if kind == "f16" else 0x7F80)
    infinite = x.icmp("eq", x.and_(bits, x.const("i16", 0x7FFF)), infinity)
    return x.select(infinite, x.sub(bits, x.const("i16", 1)), bits)


def _to_tf32(x: Lanes, f: Form, a: Value) -> Value:
    """A float with its fraction rounded to 10 bits; `rna` takes ties away from zero and treats NaNs as numbers."""
    if f.has("relu"):
        a = _relu(x, a)
    bits = x.bitcast(a, "i32")
    keep = x.const("i32", ~0x1FFF)
    if f.has("rna"):
        result = x.and_(x.add(bits, x.const("i32", 0x1000)), keep)
    elif f.has("rz"):
        result = x.and_(bits, keep)
    else:
        odd = x.and_(x.lshr(bits, x.const("i32", 13)), x.const("i32", 1))
        result = x.and_(x.add(bits, x.add(x.const("i32", 0xFFF), odd)), keep)
    if f.has("satfinite"):
        magnitude = x.and_(result, x.const("i32", 0x7FFFFFFF))
        over = x.icmp("uge", magnitude, x.const("i32", 0x7F800000))
        result = x.select(over, x.sub(result, x.const("i32", 0x2000)), result)
    return result if f.has("rna") else x.select(x.is_nan(a), x.const("i32", 0x7FFFE000), result)


_I = "(u8|u16|u32|u64|s8|s16|s32|s64)"
_INTEGRAL = "(rni|rzi|rmi|rpi)"
_ROUND = "(rn|rz|rm|rp)"
# What .sat can do something for: (destination, sources with numbers outside its range).
_CLAMPED = (
    ("u8", "u16|u32|u64|s8|s16|s32|s64"), ("u16", "u32|u64|s8|s16|s32|s64"), ("u32", "u64|s8|s16|s32|s64"),
    ("u64", "s8|s16|s32|s64"), ("s8", "s16|s32|s64|u8|u16|u32|u64"), ("s16", "s32|s64|u16|u32|u64"),
    ("s32", "s64|u32|u64"), ("s64", "u64"),
)  # fmt: skip

_TO_INT = "Rounded to an integer and clamped to the destination's range."
_WIDENED = "Widened, exact."
_COPIED = "Copied, or rounded to an integral number."

ROWS = (
    row(f"cvt.{_I}.{_I} d, a", "Truncated or extended.", _integer_to_integer),
    *(row(f"cvt.sat.{t}.({s}) d, a", "Clamped to the destination's range.", _integer_to_integer) for t, s in _CLAMPED),
    row(f"cvt.{_INTEGRAL}{{.ftz}}{{.sat}}.{_I}.f32 d, a", _TO_INT, _float_to_integer),
    row(f"cvt.{_INTEGRAL}{{.sat}}.{_I}.(f16|f64) d, a", _TO_INT, _float_to_integer),
    row(f"cvt.{_INTEGRAL}.{_I}.bf16 d, a", _TO_INT, _float_to_integer),
    row(f"cvt.{_ROUND}{{.ftz}}{{.sat}}.f32.{_I} d, a", "The integer as a float, rounded once.", _integer_to_float),
    row(f"cvt.{_ROUND}{{.sat}}.(f16|f64).{_I} d, a", "The integer as a float, rounded once.", _integer_to_float),
    row(f"cvt.{_ROUND}.bf16.{_I} d, a", "The integer as a bfloat16, rounded once.", _integer_to_float),
    row("cvt{.ftz}{.sat}.f32.f16 d, a", _WIDENED, _float_to_float),
    row("cvt{.ftz}.f32.bf16 d, a", _WIDENED, _float_to_float),
    row("cvt{.ftz}{.sat}.f64.f32 d, a", _WIDENED, _float_to_float),
    row("cvt{.sat}.f64.f16 d, a", _WIDENED, _float_to_float),
    row("cvt.f64.bf16 d, a", _WIDENED, _float_to_float),
    row(f"cvt.{_ROUND}{{.ftz}}{{.sat}}.f32.f64 d, a", "Narrowed.", _float_to_float),
    row(f"cvt.{_ROUND}{{.ftz}}{{.sat}}.f16.f32 d, a", "Narrowed.", _float_to_float),
    row(f"cvt.{_ROUND}{{.sat}}.f16.f64 d, a", "Narrowed.", _float_to_float),
    row(
        "cvt.(rn|rz){.relu}.satfinite.(f16|bf16).f32 d, a",
        "Narrowed and clamped to the largest finite number; `.relu`: at least 0.",
        _float_to_float,
    ),
    row("cvt.(rn|rz).relu.(f16|bf16).f32 d, a", "Narrowed; negative numbers become 0.", _float_to_float),
    row(f"cvt.{_ROUND}.bf16.(f32|f64|f16) d, a", "Narrowed.", _float_to_float),
    row(f"cvt.{_ROUND}.f16.bf16 d, a", "Converted; range and precision differ both ways.", _float_to_float),
    row(f"cvt{{.{_INTEGRAL}}}{{.ftz}}{{.sat}}.f32.f32 d, a", _COPIED, _float_to_float),
    row(f"cvt{{.{_INTEGRAL}}}{{.sat}}.f64.f64 d, a", _COPIED, _float_to_float),
    row(f"cvt{{.{_INTEGRAL}}}{{.sat}}.f16.f16 d, a", _COPIED, _float_to_float),
    row(f"cvt{{.{_INTEGRAL}}}.bf16.bf16 d, a", _COPIED, _float_to_float),
    row(
        "cvt.(rn|rz){.relu}{.satfinite}.(f16x2|bf16x2).f32 d, a, b",
        "b into the lower half, a into the upper; `.satfinite`: clamped to the largest finite number.",
        _to_pair,
    ),
    row(
        "cvt.rs{.relu}{.satfinite}.bf16x2.f32 d, a, b, c:b32",
        "b into the lower half, a into the upper; each goes away from zero where its half of c, added to the 16 bits "
        "that are dropped, carries.",
        _to_pair_by_chance,
    ),
    row("cvt.rna{.satfinite}.tf32.f32 d, a", "10 bits of fraction, ties away from zero.", _to_tf32),
    row("cvt.(rn|rz){.satfinite}{.relu}.tf32.f32 d, a", "10 bits of fraction.", _to_tf32),
)
