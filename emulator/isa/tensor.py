"""The tensor core's product of two small matrices, with the rounding that Hopper's hardware has.

Measured on one H200, bit for bit: the products of one instruction and the accumulator are cut off (not rounded) at
2⁻²⁵ of the power of two of the largest of them (by the operands' exponents), summed exactly, and the sum is rounded
once: towards zero for a float accumulator, to nearest for a float16 one. A zero is always +0. Doubles are a chain of
fused multiply-adds in the order of k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.isa.builder import Value
from emulator.isa.fragments import PARTS
from emulator.isa.half import from_double, halves, to_single
from emulator.isa.lanes import Lanes
from emulator.isa.outline import outlined
from emulator.isa.warps import WARP

_CUT = 25  # bits kept below the largest term's power of two
_NONE = -4000  # exponent of a zero
_LEAST = {"f16": -14}  # exponent of subnormal numbers, where it is not that of single precision


@dataclass(frozen=True, slots=True)
class Operand:
    """The elements of an operand tile by lane: value as float, and its exponent; or as an integer."""

    values: Sequence[Value]
    exponents: Sequence[Value]


def _pick(x: Lanes, value: Value, lanes: Sequence[int]) -> Value:
    """In each lane the value of another one of its warp, by constant indices."""
    if not value.lanes:
        return value
    return x.shuffle(value, [lane // WARP * WARP + lanes[lane % WARP] for lane in range(x.width)])


def _elements(x: Lanes, registers: Sequence[Value], kind: str) -> list[Value]:
    """The parts of each register in order, as floats or as 32-bit integers."""
    found = []
    for register in registers:
        if kind == "tf32":
            # The hardware does not look at the lower 13 bits.
            found.append(x.bitcast(x.and_(register, x.const("i32", ~0x1FFF)), "float"))
        elif kind in ("f16", "bf16"):
            found += [to_single(x, half, kind) for half in halves(x, register)]
        else:
            shift = x.ashr if kind == "s8" else x.lshr
            for byte in range(4):
                found.append(shift(x.shl(register, x.const("i32", 24 - 8 * byte)), x.const("i32", 24)))
    return found


def _exponent(x: Lanes, a: Value, least: int) -> Value:
    """The power of two (i32) of a float that holds a number of a format whose subnormal numbers share `least`.

    Far below all others for zero.
    """
    field = x.and_(x.lshr(x.bitcast(a, "i32"), x.const("i32", 23)), x.const("i32", 0xFF))
    exponent = x.smax(x.sub(field, x.const("i32", 127)), x.const("i32", least))
    return x.select(x.fcmp("oeq", a, x.const("float", 0.0)), x.const("i32", _NONE), exponent)


def _operand(x: Lanes, registers: Sequence[Value], kind: str) -> Operand:
    values = _elements(x, registers, kind)
    if kind in ("s8", "u8"):
        return Operand(values, [])
    return Operand(values, [_exponent(x, value, _LEAST.get(kind, -126)) for value in values])


def _sources(k: int, parts: int, row_half: int, column: int) -> tuple[list[int], int, list[int], int]:
    """(lanes, element) of A[row][k] and of B[k][column] for the rows and columns of every lane's result."""
    step = k % (4 * parts) // parts
    a_lanes = [lane // 4 * 4 + step for lane in range(WARP)]
    b_lanes = [(lane % 4 * 2 + column) * 4 + step for lane in range(WARP)]
    group = k // (4 * parts)
    return a_lanes, (2 * group + row_half) * parts + k % parts, b_lanes, group * parts + k % parts


def tile(
    x: Lanes,
    kinds: tuple[str, str],
    a: Sequence[Value],
    b: Sequence[Value],
    c: Sequence[Value],
    half: bool = False,
    saturate: bool = False,
) -> tuple[Value, ...]:
    """The four values of D = A·B + C (16 × 8) of each lane; C and D as float, as 16 bits (`half`), or as i32."""
    name = ".".join(("mma", *kinds, f"b{len(b)}", "half" * half or "whole", "clamped" * saturate or "plain"))
    a_end, b_end = len(a), len(a) + len(b)

    def body(inner: Lanes, arguments: Sequence[Value]) -> Sequence[Value]:
        split = arguments[:a_end], arguments[a_end:b_end], arguments[b_end:]
        return _tile(inner, kinds, *split, half, saturate)

    return outlined(x, name, body, [*a, *b, *c])


def _tile(
    x: Lanes,
    kinds: tuple[str, str],
    a_registers: Sequence[Value],
    b_registers: Sequence[Value],
    c: Sequence[Value],
    half: bool,
    saturate: bool,
) -> list[Value]:
    a, b = _operand(x, a_registers, kinds[0]), _operand(x, b_registers, kinds[1])
    parts = PARTS[kinds[0]]
    depth = len(b.values) * 4
    results = []
    for index in range(4):
        terms = [_sources(k, parts, index // 2, index % 2) for k in range(depth)]
        pairs = [(_pick(x, a.values[i], p), _pick(x, b.values[j], q)) for p, i, q, j in terms]
        if not a.exponents:
            results.append(_integer_sum(x, pairs, c[index], saturate))
            continue
        exponents = [x.add(_pick(x, a.exponents[i], p), _pick(x, b.exponents[j], q)) for p, i, q, j in terms]
        start = to_single(x, c[index], "f16") if half else c[index]
        results.append(_float_sum(x, pairs, exponents, start, half))
    return results


def _integer_sum(x: Lanes, pairs: Sequence[tuple[Value, Value]], c: Value, saturate: bool) -> Value:
    total = x.resize(c, "i64", signed=True)
    products = x.const("i32", 0)
    for p, q in pairs:
        products = x.add(products, x.mul(p, q))
    total = x.add(total, x.resize(products, "i64", signed=True))
    if saturate:
        total = x.smax(x.smin(total, x.const("i64", (1 << 31) - 1)), x.const("i64", -(1 << 31)))
    return x.resize(total, "i32")


def _power(x: Lanes, exponent: Value) -> Value:
    """2^exponent as a double, for an i32 exponent in the normal range."""
    biased = x.resize(x.add(exponent, x.const("i32", 1023)), "i64")
    return x.bitcast(x.shl(biased, x.const("i64", 52)), "double")


def _float_sum(
    x: Lanes, pairs: Sequence[tuple[Value, Value]], exponents: Sequence[Value], c: Value, half: bool
) -> Value:
    top = _exponent(x, c, -14 if half else -126)
    for exponent in exponents:
        top = x.smax(top, exponent)
    # Where everything is zero any scale will do.
    top = x.smax(top, x.const("i32", -400))
    up, down = _power(x, x.sub(x.const("i32", _CUT), top)), _power(x, x.sub(top, x.const("i32", _CUT)))
    wide = x.cast(c, "fpext", "double")
    plain = wide  # only for infinities and NaNs
    total = x.call("llvm.trunc", x.binary("fmul", wide, up))
    for p, q in pairs:
        product = x.binary("fmul", x.cast(p, "fpext", "double"), x.cast(q, "fpext", "double"))  # exact
        plain = x.binary("fadd", plain, product)
        total = x.binary("fadd", total, x.call("llvm.trunc", x.binary("fmul", product, up)))  # exact: below 2³²
    finite = x.fcmp("olt", x.fabs(plain), x.const_bits("double", 0x7FF0000000000000))
    if half:
        return _positive_zero(x, from_double(x, x.select(finite, x.binary("fmul", total, down), plain), "f16"))
    # Cut to the float's 24 bits, then scaled: exact save where the result is subnormal.
    cut = x.bitcast(x.and_(x.bitcast(total, "i64"), x.const("i64", -(1 << 29))), "double")
    value = x.select(finite, x.binary("fmul", cut, down), plain)
    result = x.cast(value, "fptrunc", "float")
    residual = x.binary("fsub", value, x.cast(result, "fpext", "double"))
    overflow = x.fcmp("oeq", x.fabs(result), x.const_bits("float", 0x7F800000))
    toward_zero = x.nudge(result, x.select(overflow, x.const("double", 0.0), residual), "rz")
    return x.bitcast(_positive_zero(x, x.bitcast(x.canonical(toward_zero), "i32")), "float")


def _positive_zero(x: Lanes, bits: Value) -> Value:
    """−0 as +0."""
    sign = 1 << (bits.bits - 1)
    return x.select(x.icmp("eq", bits, x.const(bits.type, sign)), x.const(bits.type, 0), bits)


def double_tile(x: Lanes, a: Value, b: Value, c: Sequence[Value]) -> list[Value]:
    """The two values of D = A·B + C of each lane for the 8 × 8 × 4 shape of doubles."""
    results = []
    for column, total in enumerate(c):
        for k in range(4):
            p = _pick(x, a, [lane // 4 * 4 + k for lane in range(WARP)])
            q = _pick(x, b, [(lane % 4 * 2 + column) * 4 + k for lane in range(WARP)])
            total = x.fma(p, q, total)
        results.append(total)
    return results
