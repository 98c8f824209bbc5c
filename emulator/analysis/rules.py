"""Which instructions keep a value symbolic, written once for the analysis and the lowering."""

from __future__ import annotations

from collections.abc import Callable

from emulator.analysis import shapes
from emulator.analysis.flat import LOCAL_TAG, SHARED_TAG
from emulator.analysis.shapes import Scalars, Shape, uniform, wrap
from emulator.syntax.nodes import Instruction, Operand, VectorOperand

# LLVM's element type of a register of each PTX type.
REGISTER_TYPES = {
    "pred": "i1", "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16", "f16": "i16",
    "bf16": "i16", "b32": "i32", "u32": "i32", "s32": "i32", "f32": "float", "f16x2": "i32", "bf16x2": "i32",
    "b64": "i64", "u64": "i64", "s64": "i64", "f64": "double", "b128": "i128", "tf32": "i32", "f32x2": "i64",
    "u16x2": "i32", "s16x2": "i32", "e4m3x2": "i16", "e5m2x2": "i16",
    "e2m1x2": "i8", "e2m3x2": "i16", "e3m2x2": "i16", "ue8m0x2": "i16",
}  # fmt: skip
_INTEGERS = {"s32": "i32", "u32": "i32", "b32": "i32", "s64": "i64", "u64": "i64", "b64": "i64"}
Read = Callable[[Operand, str], Shape]  # operand and LLVM type → shape


def evaluate(instruction: Instruction, read: Read, scalars: Scalars) -> Shape | None:
    """The symbolic result of an instruction with one destination, or None where it has to be computed."""
    modifiers = instruction.modifiers
    type_name = modifiers[-1] if modifiers else ""
    type = _INTEGERS.get(type_name)
    handler = _HANDLERS.get(instruction.opcode)
    if handler is None or type is None or "cc" in modifiers or "sat" in modifiers:
        return None
    return handler(instruction, type, type_name[0] == "s", read, scalars)


def _move(instruction: Instruction, type: str, signed: bool, read: Read, scalars: Scalars) -> Shape | None:
    if any(isinstance(operand, VectorOperand) for operand in instruction.operands):
        return None
    source = read(instruction.operands[1], type)
    return source if source.type == type and source.kind != "varying" else None


def _cvta(instruction: Instruction, type: str, signed: bool, read: Read, scalars: Scalars) -> Shape | None:
    """Generic addresses of shared and local memory carry a tag; global and constant ones are plain."""
    source = read(instruction.operands[1], type)
    tag = tag_of(instruction)
    if tag == 0:
        return source if source.kind != "varying" else None
    if type != "i64":
        return None
    return shapes.add(source, uniform("i64", tag), scalars, -1 if "to" in instruction.modifiers else 1)


def tag_of(instruction: Instruction) -> int:
    """The tag of generic addresses of the space that a cvta names."""
    spaces = {modifier.split("::")[0] for modifier in instruction.modifiers}
    return SHARED_TAG if "shared" in spaces else LOCAL_TAG if "local" in spaces else 0


def _add(instruction: Instruction, type: str, signed: bool, read: Read, scalars: Scalars) -> Shape | None:
    a, b = (read(operand, type) for operand in instruction.operands[1:3])
    if "varying" in (a.kind, b.kind):
        return None
    return shapes.add(a, b, scalars, 1 if instruction.opcode == "add" else -1)


def _multiply(instruction: Instruction, type: str, signed: bool, read: Read, scalars: Scalars) -> Shape | None:
    a, b = (read(operand, type) for operand in instruction.operands[1:3])
    if "varying" in (a.kind, b.kind):
        return None
    if "wide" in instruction.modifiers:
        result = _multiply_wide(a, b, type, signed, scalars)
        wide_type = "i64"
    elif "lo" in instruction.modifiers:
        result = shapes.multiply(a, b, scalars)
        wide_type = type
    else:
        return None
    if result is None or instruction.opcode == "mul":
        return result
    addend = read(instruction.operands[3], wide_type)
    return None if addend.kind == "varying" else shapes.add(result, addend, scalars)


def _multiply_wide(a: Shape, b: Shape, type: str, signed: bool, scalars: Scalars) -> Shape | None:
    if a.kind == "uniform":
        a, b = b, a
    factor = b.constant
    if type != "i32" or factor is None:
        return None
    if not signed:
        factor &= 0xFFFFFFFF
    if a.constant is not None:
        value = a.constant if signed else a.constant & 0xFFFFFFFF
        return uniform("i64", wrap(value * factor, 64))
    return shapes.widen(a, signed, scalars, factor)


def _shift_left(instruction: Instruction, type: str, signed: bool, read: Read, scalars: Scalars) -> Shape | None:
    a, count = read(instruction.operands[1], type), read(instruction.operands[2], "i32").constant
    if count is None or not 0 <= count < (64 if type == "i64" else 31) or a.kind == "varying":
        return None
    if a.kind == "wide" and count > 30:
        return None
    return shapes.multiply(a, uniform(type, wrap(1 << count, 64 if type == "i64" else 32)), scalars)


def _shift_right(instruction: Instruction, type: str, signed: bool, read: Read, scalars: Scalars) -> Shape | None:
    a, count = read(instruction.operands[1], type), read(instruction.operands[2], "i32").constant
    if count is None or type != "i32" or not 0 <= count < 32:
        return None
    if a.constant is not None:
        return uniform(type, scalars.shift_right(a.constant, count, signed, 32))
    return shapes.shift_right(a, count, signed, scalars)


def _bitwise(instruction: Instruction, type: str, signed: bool, read: Read, scalars: Scalars) -> Shape | None:
    if type != "i32":
        return None
    a, b = (read(operand, type) for operand in instruction.operands[1:3])
    if instruction.opcode == "and":
        if a.constant is not None and b.constant is not None:
            return uniform(type, scalars.and_(a.constant, b.constant, 32))
        return shapes.bitwise_and(a, b, scalars)
    return shapes.bitwise_or(a, b, scalars)


def _convert(instruction: Instruction, type: str, signed: bool, read: Read, scalars: Scalars) -> Shape | None:
    types = instruction.types
    if len(types) != 2:
        return None
    target, source = _INTEGERS.get(types[0]), _INTEGERS.get(types[1])
    if target is None or source is None:
        return None
    value = read(instruction.operands[1], source)
    if value.type != source:
        return None
    if target == source:
        return value if value.kind != "varying" else None
    if target == "i64":
        if value.constant is not None:
            return uniform("i64", value.constant if signed else value.constant & 0xFFFFFFFF)
        return shapes.widen(value, signed, scalars)
    if value.constant is not None:
        return uniform("i32", wrap(value.constant, 32))
    return shapes.narrow(value, scalars)


_HANDLERS: dict[str, Callable[[Instruction, str, bool, Read, Scalars], Shape | None]] = {
    "mov": _move, "copy": _move, "cvta": _cvta, "add": _add, "sub": _add, "mul": _multiply, "mad": _multiply,
    "shl": _shift_left, "shr": _shift_right, "and": _bitwise, "or": _bitwise, "cvt": _convert,
}  # fmt: skip
