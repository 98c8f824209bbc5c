"""How atomic operations combine the old value in memory with their operands; scalar, once a lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from emulator.isa.builder import Value
from emulator.isa.form import Atomic, Combine
from emulator.isa.half import from_single, halves, pack, to_single
from emulator.isa.lanes import Lanes
from emulator.isa.notation import TYPES

OPERATIONS = ("add", "and", "or", "xor", "min", "max", "exch", "cas", "inc", "dec")


def atomic_of(opcode: str, modifiers: tuple[str, ...]) -> Atomic | None:
    """The combining of an `atom` or `red` instruction or a bulk reduction, None for others."""
    if opcode not in ("atom", "red") and not (opcode == "cp" and "reduce" in modifiers):
        return None
    operation = next(part for part in modifiers if part in OPERATIONS)
    kind = next(part for part in modifiers if part in TYPES)
    if kind in _FLOATING:
        return _EXTREMES[operation, kind] if operation in ("min", "max") else _FLOATING[kind]
    if operation in ("min", "max"):
        return _INTEGER[("s" if kind[0] == "s" else "u") + operation]
    return _INTEGER[operation]


def _inc(x: Lanes, old: Value, operands: Sequence[Value]) -> Value:
    """Counts up and wraps to 0 behind the limit."""
    zero, one = x.const(old.type, 0), x.const(old.type, 1)
    return x.select(x.icmp("uge", old, operands[0]), zero, x.add(old, one))


def _dec(x: Lanes, old: Value, operands: Sequence[Value]) -> Value:
    """Counts down and wraps to the limit at 0, also from beyond the limit."""
    limit = operands[0]
    wraps = x.or_(x.icmp("eq", old, x.const(old.type, 0)), x.icmp("ugt", old, limit))
    return x.select(wraps, limit, x.sub(old, x.const(old.type, 1)))


def _cas(x: Lanes, old: Value, operands: Sequence[Value]) -> Value:
    return x.select(x.icmp("eq", old, operands[0]), operands[1], old)


def _add_float(ftz: bool) -> Combine:
    return lambda x, old, operands: x.fadd(old, operands[0], "rn", ftz)


def _add_double(x: Lanes, old: Value, operands: Sequence[Value]) -> Value:
    """The memory's adder passes NaNs on as they are, even signalling ones; that of the operand wins."""
    total = x.select(x.is_nan(old), old, x.fadd(old, operands[0]))
    return x.select(x.is_nan(operands[0]), operands[0], total)


def _add_half(kind: str) -> Combine:
    def combine(x: Lanes, old: Value, operands: Sequence[Value]) -> Value:
        total = x.binary("fadd", to_single(x, old, kind), to_single(x, operands[0], kind))
        return from_single(x, total, kind)

    return combine


def _extreme_half(kind: str, largest: bool) -> Combine:
    """min or max: −0 < +0, and one NaN loses to a number."""
    name = "llvm.maximumnum" if largest else "llvm.minimumnum"

    def combine(x: Lanes, old: Value, operands: Sequence[Value]) -> Value:
        return from_single(x, x.call(name, to_single(x, old, kind), to_single(x, operands[0], kind)), kind)

    return combine


def _pairwise(one: Combine) -> Combine:
    """The same on both halves of a word."""

    def combine(x: Lanes, old: Value, operands: Sequence[Value]) -> Value:
        (low, high), (a, b) = halves(x, old), halves(x, operands[0])
        return pack(x, one(x, low, [a]), one(x, high, [b]))

    return combine


_INTEGER = {
    "add": Atomic(lambda x, old, operands: x.add(old, operands[0]), "add"),
    "and": Atomic(lambda x, old, operands: x.and_(old, operands[0]), "and"),
    "or": Atomic(lambda x, old, operands: x.or_(old, operands[0]), "or"),
    "xor": Atomic(lambda x, old, operands: x.xor(old, operands[0]), "xor"),
    "exch": Atomic(lambda x, old, operands: operands[0], "xchg"),
    "umin": Atomic(lambda x, old, operands: x.umin(old, operands[0]), "umin"),
    "umax": Atomic(lambda x, old, operands: x.umax(old, operands[0]), "umax"),
    "smin": Atomic(lambda x, old, operands: x.smin(old, operands[0]), "min"),
    "smax": Atomic(lambda x, old, operands: x.smax(old, operands[0]), "max"),
    "inc": Atomic(_inc, "uinc_wrap"),
    "dec": Atomic(_dec, "udec_wrap"),
    "cas": Atomic(_cas, None),
}
_SINGLE = Atomic(_add_float(False), None)
_FLOATING = {
    # In global memory the hardware's single precision adder flushes subnormal numbers.
    "f32": replace(_SINGLE, combine_global=_add_float(True)),
    "f64": Atomic(_add_double, None),
    "f16": Atomic(_add_half("f16"), None),
    "bf16": Atomic(_add_half("bf16"), None),
    "f16x2": Atomic(_pairwise(_add_half("f16")), None),
    "bf16x2": Atomic(_pairwise(_add_half("bf16")), None),
}
_EXTREMES = {
    (name, kind + suffix): Atomic(wrap(_extreme_half(kind, name == "max")), None)
    for name in ("min", "max")
    for kind in ("f16", "bf16")
    for suffix, wrap in (("", lambda one: one), ("x2", _pairwise))
}
