"""Rows of shifts, logic, bit fields and byte permutation."""

from __future__ import annotations

from emulator.isa.form import Form, row
from emulator.isa.lanes import Lanes, Value

_BITS = "(b16|b32|b64)"
_LOGIC = "(pred|b16|b32|b64)"


def _shr(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.ashr(a, b) if f.type[0] == "s" else x.lshr(a, b)


def _shf(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    shifted = x.call("llvm.fshl" if f.has("l") else "llvm.fshr", b, a, c)
    if f.has("wrap"):
        return shifted
    # Clamped amounts of 32 and more leave the other word whole.
    return x.select(x.icmp("ult", c, x.const("i32", 32)), shifted, a if f.has("l") else b)


def _cnot(x: Lanes, f: Form, a: Value) -> Value:
    return x.resize(x.icmp("eq", a, x.const(a.type, 0)), a.type)


def _lop3_value(x: Lanes, a: Value, b: Value, c: Value, table: int) -> Value:
    """Any function of three bits, as a sum of products over its truth table; LLVM folds the rest."""
    result = x.const("i32", 0)
    for index in range(8):
        if table >> index & 1:
            term = a if index & 4 else x.not_(a)
            term = x.and_(term, b if index & 2 else x.not_(b))
            result = x.or_(result, x.and_(term, c if index & 1 else x.not_(c)))
    return result


def _lop3(x: Lanes, f: Form, a: Value, b: Value, c: Value, table: Value) -> Value:
    if table.constant is None:
        raise ValueError("the look-up table of lop3 is a constant")
    return _lop3_value(x, a, b, c, table.constant & 0xFF)


def _lop3_predicate(x: Lanes, f: Form, a: Value, b: Value, c: Value, table: Value, q: Value) -> tuple[Value, Value]:
    d = _lop3(x, f, a, b, c, table)
    set_ = x.icmp("ne", d, x.const("i32", 0))
    return d, x.or_(set_, q) if f.has("or") else x.and_(set_, q)


def _mask(x: Lanes, type: str, length: Value) -> Value:
    """The lowest `length` bits set."""
    return x.not_(x.shl(x.const(type, -1), length))


def _byte(x: Lanes, a: Value) -> Value:
    return x.and_(a, x.const("i32", 0xFF))


def _field_bounds(x: Lanes, a: Value, position: Value, length: Value) -> tuple[Value, Value]:
    """Position and length of a bit field: of a 32-bit word their low bytes count, of 64 bits the whole words."""
    return (_byte(x, position), _byte(x, length)) if a.bits == 32 else (position, length)


def _bfe(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    position, length = _field_bounds(x, a, b, c)
    if f.type[0] == "u":
        return x.and_(x.lshr(a, position), _mask(x, a.type, length))
    # The fill of the arithmetic shift is the sign of fields that reach beyond the top.
    spare = x.sub(x.const("i32", a.bits), x.umin(length, x.const("i32", a.bits)))
    return x.ashr(x.shl(x.ashr(a, position), spare), spare)


def _bfi(x: Lanes, f: Form, a: Value, b: Value, c: Value, d: Value) -> Value:
    position, length = _field_bounds(x, a, c, d)
    mask = x.shl(_mask(x, a.type, length), position)
    return x.or_(x.and_(x.shl(a, position), mask), x.and_(b, x.not_(mask)))


def _bounded(x: Lanes, f: Form, a: Value) -> Value:
    if f.has("wrap"):
        return x.and_(a, x.const("i32", 31))
    return x.umin(a, x.const("i32", 32))


def _bmsk(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    return x.shl(_mask(x, "i32", _bounded(x, f, b)), _bounded(x, f, a))


def _szext(x: Lanes, f: Form, a: Value, b: Value) -> Value:
    length = _bounded(x, f, b)
    if f.type == "u32":
        return x.and_(a, _mask(x, "i32", length))
    spare = x.sub(x.const("i32", 32), length)
    return x.ashr(x.shl(a, spare), spare)


def _bfind(x: Lanes, f: Form, a: Value) -> Value:
    position = x.resize(x.bfind(a, f.type[0] == "s"), "i32", signed=True)
    if not f.has("shiftamt"):
        return position
    none = x.icmp("eq", position, x.const("i32", -1))
    return x.select(none, position, x.sub(x.const("i32", a.bits - 1), position))


def _count(x: Lanes, f: Form, a: Value) -> Value:
    return x.resize(x.popc(a) if f.opcode == "popc" else x.clz(a), "i32")


def _fns(x: Lanes, f: Form, mask: Value, base: Value, offset: Value) -> Value:
    """The |offset|-th set bit from `base` on, upwards or (negative) downwards: a binary search by bit counts."""

    def word(value: int) -> Value:
        return x.const("i32", value)

    down = x.icmp("slt", offset, word(0))
    bits = x.select(down, x.brev(mask), mask)
    first = x.select(down, x.sub(word(31), base), base)
    bits = x.and_(bits, x.shl(word(-1), first))
    here = x.and_(x.shl(word(1), base), mask)
    order = x.abs(offset)
    left, position = order, word(0)
    for step in (16, 8, 4, 2, 1):
        window = x.and_(x.lshr(bits, position), word((1 << step) - 1))
        inside = x.popc(window)
        beyond = x.icmp("ugt", left, inside)
        left = x.select(beyond, x.sub(left, inside), left)
        position = x.select(beyond, x.add(position, word(step)), position)
    missing = x.icmp("ugt", order, x.popc(bits))
    position = x.select(down, x.sub(word(31), position), position)
    result = x.select(missing, word(-1), position)
    at_base = x.select(x.icmp("ne", here, word(0)), base, word(-1))
    result = x.select(x.icmp("eq", offset, word(0)), at_base, result)
    # The magnitude of the lowest offset is no number; the hardware answers 0.
    return x.select(x.icmp("eq", offset, word(1 << 31)), word(0), result)


# Which of the eight bytes {b, a} each result byte takes, for the values 0–3 of the selector's low bits.
_PRMT_MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def _prmt(x: Lanes, f: Form, a: Value, b: Value, c: Value) -> Value:
    mode = f.pick(*_PRMT_MODES)
    selector = c
    if mode:
        table = sum(word << 16 * index for index, word in enumerate(_PRMT_MODES[mode]))
        shift = x.mul(x.and_(c, x.const("i32", 3)), x.const("i32", 16))
        selector = x.cast(x.lshr(x.const("i64", table), shift), "trunc", "i32")
    if selector.constant is not None:
        return _prmt_constant(x, a, b, selector.constant & 0xFFFF)
    result = x.const("i32", 0)
    for index in range(4):
        nibble = x.lshr(selector, x.const("i32", 4 * index))
        word = x.select(_bit(x, nibble, 4), b, a)
        place = x.shl(x.and_(nibble, x.const("i32", 3)), x.const("i32", 3))
        byte = _byte(x, x.lshr(word, place))
        sign = x.select(_bit(x, byte, 0x80), x.const("i32", 0xFF), x.const("i32", 0))
        byte = x.select(_bit(x, nibble, 8), sign, byte)
        result = x.or_(result, x.shl(byte, x.const("i32", 8 * index)))
    return result


def _prmt_constant(x: Lanes, a: Value, b: Value, selector: int) -> Value:
    result = x.const("i32", 0)
    for index in range(4):
        nibble = selector >> 4 * index & 15
        word = b if nibble & 4 else a
        raised = x.shl(word, x.const("i32", 24 - 8 * (nibble & 3)))
        byte = x.lshr(x.ashr(raised, x.const("i32", 31)) if nibble & 8 else raised, x.const("i32", 24))
        result = x.or_(result, x.shl(byte, x.const("i32", 8 * index)))
    return result


def _bit(x: Lanes, a: Value, bit: int) -> Value:
    return x.icmp("ne", x.and_(a, x.const("i32", bit)), x.const("i32", 0))


ROWS = (
    row(
        f"shl.{_BITS} d, a, b:u32",
        "a shifted left, zeros in; amounts of the width and more give 0.",
        lambda x, f, a, b: x.shl(a, b),
    ),
    row(
        "shr.(b16|b32|b64|u16|u32|u64|s16|s32|s64) d, a, b:u32",
        "a shifted right, the sign (s) or zeros in; amounts of the width and more give the fill.",
        _shr,
    ),
    row("shf.(l|r).(clamp|wrap).b32 d, a, b, c:u32", "A word of the 64 bits {b, a} shifted left or right.", _shf),
    row(f"and.{_LOGIC} d, a, b", "Bitwise and.", lambda x, f, a, b: x.and_(a, b)),
    row(f"or.{_LOGIC} d, a, b", "Bitwise or.", lambda x, f, a, b: x.or_(a, b)),
    row(f"xor.{_LOGIC} d, a, b", "Bitwise exclusive or.", lambda x, f, a, b: x.xor(a, b)),
    row(f"not.{_LOGIC} d, a", "Bitwise complement.", lambda x, f, a: x.not_(a)),
    row(f"cnot.{_BITS} d, a", "1 where a is 0, else 0.", _cnot),
    row("lop3.b32 d, a, b, c, t:b32", "The bitwise function of a, b, c whose truth table is the constant t.", _lop3),
    row("lop3.(or|and).b32 d|p:pred, a, b, c, t:b32, q:pred", "lop3; p = (d ≠ 0) or/and q.", _lop3_predicate),
    row("bfe.(u32|u64|s32|s64) d, a, b:u32, c:u32", "The field of c bits from bit b, extended.", _bfe),
    row("bfi.(b32|b64) d, a, b, c:u32, d:u32", "b with its e bits from bit c replaced by those of a.", _bfi),
    row("bmsk.(clamp|wrap).b32 d, a:u32, b:u32", "b ones from bit a on.", _bmsk),
    row("szext.(clamp|wrap).(u32|s32) d, a, b:u32", "The lowest b bits, extended.", _szext),
    row("bfind{.shiftamt}.(u32|u64|s32|s64) d:u32, a", "Position of the highest non-sign bit, or −1.", _bfind),
    row("popc.(b32|b64) d:u32, a", "The number of ones.", _count),
    row("clz.(b32|b64) d:u32, a", "The number of leading zeros.", _count),
    row("brev.(b32|b64) d, a", "The bits in reverse order.", lambda x, f, a: x.brev(a)),
    row("fns.b32 d, a, b:b32, c:s32", "The position of the c-th set bit of a from bit b on, or −1.", _fns),
    row(
        "prmt.b32{.(f4e|b4e|rc8|ecl|ecr|rc16)} d, a, b, c:b32",
        "Four bytes of {b, a}, picked by the nibbles of c (bit 3: the byte's sign) or by a mode and c's two low bits.",
        _prmt,
    ),
)
