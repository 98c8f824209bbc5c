"""The reference of each opcode and type; opcodes that are not here are checked against the GPU alone."""

from __future__ import annotations

from collections.abc import Callable

from emulator.isa import Form

from .reference_comparisons import selp, set_, setp, slct
from .reference_conversions import cvt
from .references import (
    Float,
    OneKind,
    Reference,
    floating,
    flushed,
    infinity,
    nan_of,
    number,
    pairwise,
    rounded,
    signed,
    width,
)

_ALL = (1 << 64) - 1


def _integer(f: Form, *bits: int) -> int:
    kind = f.type
    a, b, c = ([number(kind, v) for v in bits] + [0, 0])[:3]
    low, high = (-(1 << width(kind) - 1), (1 << width(kind) - 1) - 1) if kind[0] == "s" else (0, (1 << width(kind)) - 1)
    match f.opcode:
        case "add":
            value = a + b
        case "sub":
            value = a - b
        case "abs":
            value = abs(a)
        case "neg":
            value = -a
        case "min":
            value = max(min(a, b), 0) if f.has("relu") else min(a, b)
        case "max":
            value = max(a, b, 0) if f.has("relu") else max(a, b)
        case "sad":
            value = c + abs(a - b)
        case "div":
            value = -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case "rem":
            value = -1 if b == 0 else abs(a) % abs(b) * (1 if a >= 0 else -1)
        case "mul" | "mad":
            c = signed(bits[2], 2 * width(kind)) if f.has("wide") and len(bits) == 3 else c
            product = a * b
            if f.has("hi"):
                product >>= width(kind)
            elif f.has("lo"):
                product = signed(product, width(kind)) if kind[0] == "s" else product
            value = product + c
            if f.has("wide"):
                return value & (1 << 2 * width(kind)) - 1
        case "mul24" | "mad24":
            product = (signed(a, 24) * signed(b, 24)) if kind[0] == "s" else (a & 0xFFFFFF) * (b & 0xFFFFFF)
            product = product >> 16 if f.has("hi") else product
            value = signed(product, 32) + c if f.has("sat") else product + c
    if f.has("sat"):
        value = max(low, min(high, value))
    return value & (1 << width(kind)) - 1


def _carry(f: Form, *bits: int) -> tuple[int, ...] | int:
    kind = f.type
    span = 1 << width(kind)
    operands = list(bits)
    carry = operands.pop() if f.row.carry_in else 0
    if f.opcode.startswith("sub"):
        value = operands[0] - operands[1] - carry
    elif f.opcode.startswith("add"):
        value = operands[0] + operands[1] + carry
    else:
        a, b = number(kind, operands[0]), number(kind, operands[1])
        product = a * b >> (width(kind) if f.has("hi") else 0)
        value = product % span + operands[2] + carry
    result = value % span
    return (result, int(value < 0 or value >= span)) if f.row.carry_out else result


def _logic(f: Form, a: int, b: int = 0) -> int:
    value = {"and": a & b, "or": a | b, "xor": a ^ b, "not": ~a, "cnot": int(a == 0)}[f.opcode]
    return value & (1 if f.type == "pred" else (1 << width(f.type)) - 1)


def _shift(f: Form, a: int, b: int) -> int:
    bits = width(f.type)
    b = min(b, bits)
    value = a << b if f.opcode == "shl" else number(f.type, a) >> b
    return value & (1 << bits) - 1


def _funnel(f: Form, a: int, b: int, c: int) -> int:
    c = c & 31 if f.has("wrap") else min(c, 32)
    whole = b << 32 | a
    return (whole << c >> 32 if f.has("l") else whole >> c) & 0xFFFFFFFF


def _lop3(f: Form, a: int, b: int, c: int, table: int, q: int | None = None) -> tuple[int, ...] | int:
    value = 0
    for bit in range(32):
        index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
        value |= (table >> index & 1) << bit
    if q is None:
        return value
    return value, int(value != 0) | q if f.has("or") else int(value != 0) & q


def _bfe(f: Form, a: int, position: int, length: int) -> int:
    bits = width(f.type)
    if bits == 32:
        position, length = position & 255, length & 255
    if length == 0:
        return 0
    if position >= bits:
        return (_ALL if f.type[0] == "s" and a >> (bits - 1) else 0) & (1 << bits) - 1
    length = min(length, bits - position)
    field = a >> position & (1 << length) - 1
    return (signed(field, length) if f.type[0] == "s" else field) & (1 << bits) - 1


def _bfi(f: Form, a: int, b: int, position: int, length: int) -> int:
    bits = width(f.type)
    if bits == 32:
        position, length = position & 255, length & 255
    mask = ((1 << min(length, bits)) - 1) << min(position, bits) & (1 << bits) - 1
    return (a << min(position, bits) & mask) | (b & ~mask)


def _bounded(f: Form, value: int) -> int:
    return value & 31 if f.has("wrap") else min(value, 32)


def _bmsk(f: Form, a: int, b: int) -> int:
    return ((1 << _bounded(f, b)) - 1) << _bounded(f, a) & 0xFFFFFFFF


def _szext(f: Form, a: int, b: int) -> int:
    length = _bounded(f, b)
    if length == 0:
        return 0
    field = a & (1 << length) - 1
    return (signed(field, length) if f.type == "s32" else field) & 0xFFFFFFFF


def _count(f: Form, a: int) -> int:
    bits = width(f.type)
    if f.opcode == "popc":
        return a.bit_count()
    if f.opcode == "clz":
        return bits - a.bit_length()
    if f.opcode == "brev":
        return int(f"{a:0{bits}b}"[::-1], 2)
    value = ~a & (1 << bits) - 1 if f.type[0] == "s" and a >> (bits - 1) else a
    position = value.bit_length() - 1
    return (bits - 1 - position if f.has("shiftamt") and position >= 0 else position) & 0xFFFFFFFF


def _fns(f: Form, mask: int, base: int, offset: int) -> int:
    count = signed(offset, 32)
    if count == -(1 << 31):
        return 0
    if count == 0:
        return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
    step = 1 if count > 0 else -1
    left, position = abs(count), base if base < 32 else (32 if step > 0 else 0)
    if base >= 32:
        return 0xFFFFFFFF
    while 0 <= position < 32:
        left -= mask >> position & 1
        if left == 0:
            return position
        position += step
    return 0xFFFFFFFF


def _prmt(f: Form, a: int, b: int, c: int) -> int:
    source = [(b << 32 | a) >> 8 * i & 255 for i in range(8)]
    mode = f.pick("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    n = c & 3
    picks = {
        "f4e": [n, n + 1, n + 2, n + 3],
        "b4e": [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8],
        "rc8": [n] * 4,
        "ecl": [max(n, i) for i in range(4)],
        "ecr": [min(n, i) for i in range(4)],
        "rc16": [(n & 1) * 2, (n & 1) * 2 + 1] * 2,
        "": [c >> 4 * i & 15 for i in range(4)],
    }[mode]
    result = 0
    for i, pick in enumerate(picks):
        byte = source[pick & 7]
        result |= ((255 if byte >> 7 else 0) if pick & 8 else byte) << 8 * i
    return result


def _dot(f: Form, a: int, b: int, c: int) -> int:
    def part(word: int, index: int, size: int, kind: str) -> int:
        field = word >> size * index & (1 << size) - 1
        return signed(field, size) if kind[0] == "s" else field

    first, second = f.types
    if f.opcode == "dp4a":
        total = sum(part(a, i, 8, first) * part(b, i, 8, second) for i in range(4))
    else:
        shift = 0 if f.has("lo") else 2
        total = sum(part(a, i, 16, first) * part(b, i + shift, 8, second) for i in range(2))
    return (c + total) & 0xFFFFFFFF


def _extreme(f: Form, *bits: int) -> int:
    kind = f.type
    if f.has("abs") and not f.has("xorsign"):
        bits = tuple(v & ~(1 << width(kind) - 1) for v in bits)
    if len(bits) == 3:
        return _extreme(f, _extreme(f, bits[0], bits[1]), bits[2])
    a, b = (flushed(f, Float(kind, v)) for v in bits)
    sign_bit = 1 << width(kind) - 1
    sign = (a.bits ^ b.bits) & sign_bit
    if (a.nan and b.nan) or (f.has("NaN") and (a.nan or b.nan)):
        return nan_of(f, kind, [a, b])
    if a.nan or b.nan:
        chosen = (b if a.nan else a).bits
    else:
        magnitude = f.has("xorsign")
        order = sorted((a, b), key=lambda v: _rank(v, magnitude))
        chosen = order[0 if f.opcode == "min" else 1].bits
    return chosen & ~sign_bit | sign if f.has("xorsign") else chosen


def _mixed(f: Form, *bits: int) -> int:
    """Single precision arithmetic on half operands, which single precision holds exactly."""
    wide = []
    for a in (Float(f.type, v) for v in bits[:-1]):
        exact = 0x7FFFFFFF if a.nan else infinity("f32", a.negative) if a.infinite else None
        wide.append(rounded("f32", a.value, "rn", a.negative) if exact is None else exact)
    return floating(OneKind(f, "f32"), *wide, bits[-1])  # type: ignore[arg-type]


def _rank(a: Float, magnitude: bool) -> int:
    """The place of a number in the order of its format, −0 before +0."""
    size = a.bits & ~(1 << width(a.kind) - 1)
    return size if magnitude or not a.negative else -size - 1


def _sign(f: Form, bits: int) -> int:
    a = flushed(f, Float(f.type, bits))
    if a.nan:
        return nan_of(f, f.type, [a])
    sign_bit = 1 << width(f.type) - 1
    return a.bits & ~sign_bit if f.opcode == "abs" else a.bits ^ sign_bit


def _testp(f: Form, bits: int) -> int:
    a = Float(f.type, bits)
    return int(
        {
            "finite": not (a.nan or a.infinite),
            "infinite": a.infinite,
            "number": not a.nan,
            "notanumber": a.nan,
            "normal": not (a.nan or a.infinite or a.subnormal),
            "subnormal": a.subnormal,
        }[f.pick("finite", "infinite", "number", "notanumber", "normal", "subnormal")]
    )


def _copysign(f: Form, a: int, b: int) -> int:
    sign_bit = 1 << width(f.type) - 1
    return a & sign_bit | b & ~sign_bit


def _mov(f: Form, *bits: int) -> tuple[int, ...] | int:
    if len(f.destinations) > 1:
        part = width(f.type) // len(f.destinations)
        return tuple(bits[0] >> part * i & (1 << part) - 1 for i in range(len(f.destinations)))
    part = 0 if len(bits) == 1 else width(f.type) // len(bits)
    return sum(value << part * i for i, value in enumerate(bits))


_VIDEO: dict[str, Callable[[Form, int, int], int]] = {
    "add": lambda f, p, q: p + q,
    "sub": lambda f, p, q: p - q,
    "avrg": lambda f, p, q: (p + q + 1) // 2 if p + q >= 0 else (p + q) // 2,
    "absdiff": lambda f, p, q: abs(p - q),
    "min": lambda f, p, q: min(p, q),
    "max": lambda f, p, q: max(p, q),
    "set": lambda f, p, q: int(
        {"eq": p == q, "ne": p != q, "lt": p < q, "le": p <= q, "gt": p > q, "ge": p >= q}[f.modifiers[2]]
    ),
}


def _video(f: Form, a: int, b: int, c: int) -> int:
    size = 8 if f.opcode.endswith("4") else 16
    total = c if f.has("add") else 0
    for at in range(0, 32, size):
        p, q = (
            signed(v >> at, size) if kind[0] == "s" else v >> at & (1 << size) - 1
            for v, kind in zip((a, b), f.types[-2:], strict=True)
        )
        result = _VIDEO[f.opcode[1:-1]](f, p, q)
        if f.has("sat"):
            bits = size - int(f.types[0][0] == "s")
            result = max(min(result, (1 << bits) - 1), -(1 << bits) if bits < size else 0)
        total += result if f.has("add") else (result & (1 << size) - 1) << at
    return total & 0xFFFFFFFF


def _policy(f: Form, fraction: int = 0x3F800000) -> int:
    """A cache policy: 1, the first priority and the second, and sixteenths as ptxas makes them."""
    if f.has("cvt"):
        return fraction
    order = ("L2::evict_unchanged", "L2::evict_first", "L2::evict_last", "L2::evict_normal")
    first = 2 * order.index(f.modifiers[1]) + int(f.modifiers[2] == "L2::evict_first")
    share = Float("f32", fraction)
    if share.nan or share.negative:
        parts = 0
    elif share.infinite:
        parts = 15
    else:
        sixteenths = Float("f32", rounded("f32", share.value * Float("f32", 0x417FD70A).value, "rn"))
        parts = 15 if sixteenths.infinite else min(_ALL >> 32, int(sixteenths.value)) & 15
    return 1 << 60 | first << 56 | parts << 52


_INTEGERS = ("add", "sub", "mul", "mad", "mul24", "mad24", "sad", "div", "rem", "abs", "neg", "min", "max")
_FLOATS = ("add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt")
_BY_OPCODE: dict[str, Reference] = {
    **dict.fromkeys(("and", "or", "xor", "not", "cnot"), _logic),
    **dict.fromkeys(("shl", "shr"), _shift),
    **dict.fromkeys(("addc", "subc", "madc"), _carry),
    **dict.fromkeys(("popc", "clz", "brev", "bfind"), _count),
    **dict.fromkeys(("dp4a", "dp2a"), _dot),
    **dict.fromkeys([f"v{name}{n}" for name in _VIDEO for n in (2, 4)], _video),
    "shf": _funnel, "lop3": _lop3, "bfe": _bfe, "bfi": _bfi, "bmsk": _bmsk, "szext": _szext, "fns": _fns,
    "prmt": _prmt, "setp": setp, "set": set_, "selp": selp, "slct": slct, "testp": _testp,
    "copysign": _copysign, "createpolicy": _policy, "mov": _mov, "cvt": cvt,
}  # fmt: skip


def reference(form: Form) -> Reference | None:
    """The reference of a form, or None where only the GPU answers."""
    if form.has("approx") or form.has("full"):
        return None
    if form.opcode in _BY_OPCODE:
        return _BY_OPCODE[form.opcode]
    if form.has("cc"):
        return _carry
    kind = form.type
    element = kind.removesuffix("x2")
    if form.types[0] == "f32" and element in ("f16", "bf16"):
        return _mixed
    found: Reference | None = None
    if element in ("f16", "bf16", "f32", "f64"):
        if form.opcode in ("min", "max"):
            found = _extreme
        elif form.opcode in ("abs", "neg"):
            found = _sign
        elif form.opcode in _FLOATS:
            found = floating
    elif form.opcode in _INTEGERS:
        found = _integer
    return pairwise(found) if found is not None and element != kind else found
