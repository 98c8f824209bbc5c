"""The ground of the lane-wise builder: values, constants, splats, casts, comparisons and calls as LLVM IR text."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

BITS = {
    "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128,
    "half": 16, "bfloat": 16, "float": 32, "double": 64,
}  # fmt: skip
FLOATS = frozenset({"half", "bfloat", "float", "double"})
# LLVM's names of the element types inside an intrinsic's name: llvm.fma.v32f32.
MANGLED = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


@dataclass(frozen=True, slots=True)
class Value:
    """One operand: an LLVM text, its element type, and how many lanes it has (0 = one scalar for the gang)."""

    text: str
    type: str
    lanes: int

    @property
    def uniform(self) -> bool:
        return self.lanes == 0

    @property
    def bits(self) -> int:
        return BITS[self.type]

    @property
    def llvm_type(self) -> str:
        return f"<{self.lanes} x {self.type}>" if self.lanes else self.type

    def __str__(self) -> str:
        """The operand with its type, as LLVM writes arguments."""
        return f"{self.llvm_type} {self.text}"

    @property
    def constant(self) -> int | None:
        """The signed integer that a literal integer or predicate stands for; None where it is not a literal."""
        if self.type in FLOATS or self.text.startswith("%"):
            return None
        text = self.text.removeprefix(f"splat ({self.type} ").removesuffix(")")
        if text in {"true", "false"}:
            return int(text == "true")
        try:
            return int(text)
        except ValueError:
            return None


class Builder:
    """Emits LLVM IR for one operation on every lane of a gang of `width` lanes.

    Where all operands are uniform the result is uniform scalar code; otherwise they are splatted. `emit` appends
    a line to the current block, `fresh` returns a new `%name`, `declare` adds a module-level `declare` once.
    """

    def __init__(
        self,
        width: int,
        emit: Callable[[str], None],
        fresh: Callable[[], str],
        declare: Callable[[str], None],
    ) -> None:
        self.width = width
        self.emit = emit
        self.fresh = fresh
        self.declare = declare
        self.functions: dict[str, tuple[str, ...]] = {}
        """Of the module, the functions that long instructions have become (see `outline`), and their results' types."""

    # Constants and shapes.

    def const(self, type: str, value: int | float) -> Value:
        """A uniform constant. An int for a floating type is its value, not its bits (see `const_bits`)."""
        if type in FLOATS:
            return self.const_bits(type, _float_bits(type, float(value)))
        return _integer(type, int(value))

    def const_bits(self, type: str, bits: int) -> Value:
        """A uniform constant of the given bit pattern, NaN payloads included."""
        if type == "half":
            return Value(f"0xH{bits:04X}", type, 0)
        if type == "bfloat":
            return Value(f"0xR{bits:04X}", type, 0)
        if type == "double":
            return Value(f"0x{bits:016X}", type, 0)
        if type == "float":
            if bits & 0x7F800000 == 0x7F800000 and bits & 0x7FFFFF and not bits & 0x400000:
                # LLVM writes float literals as doubles, which cannot hold a signalling NaN of single precision.
                return self.cast(self.const("i32", bits), "bitcast", "float")
            return Value(f"0x{_single_as_double_bits(bits):016X}", type, 0)
        return self.const(type, bits)

    def splat(self, value: Value) -> Value:
        """The value in every lane."""
        if value.lanes:
            return value
        vector = f"<{self.width} x {value.type}>"
        if not value.text.startswith(("%", "@")) and "(" not in value.text:
            return Value(f"splat ({value})", value.type, self.width)
        one = self._put(f"insertelement {vector} poison, {value}, i64 0", value.type, self.width)
        return self._put(
            f"shufflevector {one}, {vector} poison, <{self.width} x i32> zeroinitializer", value.type, self.width
        )

    def alike(self, *values: Value) -> tuple[Value, ...]:
        """The values as they are where all are uniform, else each in every lane."""
        if all(value.lanes == 0 for value in values):
            return values
        return tuple(self.splat(value) for value in values)

    def lane_constants(self, type: str, values: Sequence[int]) -> Value:
        """A vector literal with one integer a lane."""
        return Value(_lane_literal(type, tuple(values)), type, self.width)

    def extract(self, value: Value, lane: int | Value) -> Value:
        """One lane of a vector, as a uniform value."""
        if not value.lanes:
            return value
        index = f"i64 {lane}" if isinstance(lane, int) else str(lane)
        return self._put(f"extractelement {value}, {index}", value.type, 0)

    def insert(self, vector: Value, element: Value, lane: int) -> Value:
        return self._put(f"insertelement {vector}, {element}, i64 {lane}", vector.type, vector.lanes)

    def shuffle(self, value: Value, indices: Sequence[int], other: Value | None = None) -> Value:
        """Lanes picked by constant indices; those from `value.lanes` on pick from `other`, negative ones nothing."""
        second = str(other) if other is not None else f"{value.llvm_type} poison"
        mask = ", ".join(f"i32 {index}" if index >= 0 else "i32 poison" for index in indices)
        return self._put(f"shufflevector {value}, {second}, <{len(indices)} x i32> <{mask}>", value.type, len(indices))

    # Generic instructions.

    def _put(self, instruction: str, type: str, lanes: int) -> Value:
        name = self.fresh()
        self.emit(f"{name} = {instruction}")
        return Value(name, type, lanes)

    def binary(self, operation: str, a: Value, b: Value) -> Value:
        a, b = self.alike(a, b)
        return self._put(f"{operation} {a}, {b.text}", a.type, a.lanes)

    def cast(self, value: Value, operation: str, type: str) -> Value:
        """One of LLVM's conversions: trunc zext sext bitcast fptrunc fpext fptosi fptoui sitofp uitofp."""
        if value.type == type:
            return value
        target = f"<{value.lanes} x {type}>" if value.lanes else type
        return self._put(f"{operation} {value} to {target}", type, value.lanes)

    def bitcast(self, value: Value, type: str) -> Value:
        return self.cast(value, "bitcast", type)

    def resize(self, value: Value, type: str, signed: bool = False) -> Value:
        """An integer made narrower or wider."""
        if BITS[type] == value.bits:
            return value
        if BITS[type] < value.bits:
            return self.cast(value, "trunc", type)
        return self.cast(value, "sext" if signed else "zext", type)

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        """Integer comparison (eq ne ult ule ugt uge slt sle sgt sge) as i1."""
        a, b = self.alike(a, b)
        return self._put(f"icmp {predicate} {a}, {b.text}", "i1", a.lanes)

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        """Floating comparison by LLVM's ordered and unordered predicates (oeq olt … une uno ord) as i1."""
        a, b = self.alike(a, b)
        return self._put(f"fcmp {predicate} {a}, {b.text}", "i1", a.lanes)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """`a` where the condition holds, else `b`."""
        if condition.lanes == 0 and (a.lanes or b.lanes):
            a, b = self.splat(a), self.splat(b)
        else:
            condition, a, b = self.alike(condition, a, b)
        return self._put(f"select {condition}, {a}, {b}", a.type, a.lanes)

    def call(self, intrinsic: str, *arguments: Value, type: str | None = None, overloads: int = 1) -> Value:
        """An LLVM intrinsic such as 'llvm.ctpop', mangled by its first `overloads` argument types.

        `type` is the element type of the result where it differs from the first argument's. Arguments of type i1
        that are uniform stay scalars (they are flags such as `is_zero_poison`).
        """
        varying = any(argument.lanes for argument in arguments)
        ready = [self.splat(a) if varying and a.type != "i1" else a for a in arguments]
        lanes = self.width if varying else 0
        result = type or ready[0].type
        prefix = f"v{lanes}" if lanes else ""
        names = [result] if overloads == 1 else [result, *(a.type for a in ready[: overloads - 1])]
        suffix = "".join(f".{prefix}{MANGLED.get(name, name)}" for name in names)
        result_type = f"<{lanes} x {result}>" if lanes else result
        types = ", ".join(a.llvm_type for a in ready)
        self.declare(f"declare {result_type} @{intrinsic}{suffix}({types})")
        inside = ", ".join(str(a) for a in ready)
        return self._put(f"call {result_type} @{intrinsic}{suffix}({inside})", result, lanes)


@lru_cache(maxsize=4096)
def _integer(type: str, value: int) -> Value:
    if type == "i1":
        return Value("true" if value else "false", type, 0)
    bits = BITS[type]
    wrapped = value & ((1 << bits) - 1)
    return Value(str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped), type, 0)


@lru_cache(maxsize=1024)
def _lane_literal(type: str, values: tuple[int, ...]) -> str:
    """Kernels use few patterns of lanes again and again."""
    return f"<{', '.join(str(_integer(type, value)) for value in values)}>"


def _float_bits(type: str, value: float) -> int:
    if type == "double":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if type == "half":
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    try:
        single = int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        single = 0x7F800000 | (0x80000000 if value < 0 else 0)
    if type == "float":
        return single
    if single & 0xFFFF:
        raise ValueError(f"{value} is not a bfloat16 number")
    return single >> 16


def _single_as_double_bits(bits: int) -> int:
    """The bits of the double that LLVM's text uses for a single: exact for numbers and quiet NaNs."""
    sign, exponent, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        return sign << 63 | 0x7FF << 52 | fraction << 29
    value = math.ldexp(fraction + (0x800000 if exponent else 0), max(exponent, 1) - 150)
    return _float_bits("double", -value if sign else value)
