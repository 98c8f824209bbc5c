"""Registers between blocks (stack slots, promoted by LLVM, or the gang's frame) and symbolic values inside a block."""

from __future__ import annotations

import struct

from emulator.analysis.classify import Classes, register_type, symbol_value
from emulator.analysis.flat import FlatKernel
from emulator.analysis.gang import Gang
from emulator.analysis.shapes import UNKNOWN, Scalar, Shape, uniform, varying
from emulator.analysis.spans import special_span
from emulator.isa.builder import BITS, FLOATS
from emulator.isa.lanes import Value
from emulator.lowering.emitter import Emitter, IrScalars
from emulator.lowering.special import SpecialRegisters
from emulator.syntax.nodes import ImmediateOperand, Operand, RegisterOperand, SymbolOperand

Slot = tuple[str, str]  # name of the pointer and LLVM type


class RegisterFile:
    """Reads and writes registers as shapes; a block's new values reach their slots at its end (`flush`)."""

    def __init__(
        self, emitter: Emitter, flat: FlatKernel, classes: Classes, gang: Gang, special: SpecialRegisters
    ) -> None:
        self.emitter = emitter
        self.scalars = IrScalars(emitter)
        self.flat = flat
        self.classes = classes
        self.gang = gang
        self.special = special
        self.current: dict[str, Shape] = {}
        self.dirty: dict[str, None] = {}
        self.used_slots: dict[str, Slot] = {}

    def begin_block(self) -> None:
        self.current = {}
        self.dirty = {}

    # Slots.

    def shape(self, name: str) -> Shape:
        found = self.classes.shapes.get(name)
        return found if found is not None else uniform(register_type(self.flat, name))

    def slots(self, name: str) -> list[tuple[str, Slot]]:
        """The parts of a register that have to be stored: (field of Shape, slot)."""
        shape = self.shape(name)
        pointer = "%R." + "".join(c if c.isalnum() else f"_{ord(c):x}_" for c in name[1:])
        if shape.kind == "varying":
            return [("base", self._slot(pointer, f"<{self.gang.width} x {shape.type}>"))]
        found: list[tuple[str, Slot]] = []
        narrow = shape.type if shape.kind == "uniform" else "i32"
        for part, type in (("base", narrow), ("step", "i32"), ("rest", "i64")):
            if getattr(shape, part) == UNKNOWN:
                found.append((part, self._slot(f"{pointer}.{part}", type)))
        return found

    def _slot(self, pointer: str, type: str) -> Slot:
        self.used_slots[pointer] = (pointer, type)
        return pointer, type

    # Reading.

    def read(self, name: str) -> Shape:
        if name not in self.current:
            shape = self.shape(name)
            loaded: dict[str, Scalar] = {
                part: self.emitter.put(f"load {type}, ptr {pointer}") for part, (pointer, type) in self.slots(name)
            }
            self.current[name] = _with(shape, loaded)
        return self.current[name].bounded(self.classes.spans.get(name))

    def read_operand(self, operand: Operand, type: str) -> Shape:
        """The value of an operand in whatever type its register has; immediates take the type asked for."""
        if isinstance(operand, RegisterOperand):
            if operand.name in self.flat.registers or operand.name == "%cc":
                return self.read(operand.name)
            return self.special.read(operand.name).bounded(special_span(operand.name, self.gang))
        if isinstance(operand, ImmediateOperand):
            return self._immediate(operand, type)
        if isinstance(operand, SymbolOperand):
            known = symbol_value(self.flat, operand)
            if known is not None:
                return uniform(type, known)
            return uniform("i64", self.scalars.add(self.special.global_address(operand.name), operand.offset, 64))
        raise TypeError(f"not a value: {operand}")

    def _immediate(self, operand: ImmediateOperand, type: str) -> Shape:
        lanes = self.emitter.lanes
        if operand.float_bits is None and type not in FLOATS:
            if type == "i1":
                return uniform("i1", "true" if operand.value else "false")
            return uniform(type, lanes.const(type, operand.value).constant or 0)
        if operand.float_bits is None:
            return uniform(type, lanes.const_bits(type, operand.value & ((1 << BITS[type]) - 1)).text)
        source = "float" if operand.float_bits == 32 else "double"
        constant = lanes.const_bits(source, operand.value)
        if type == "float" and source == "double":
            constant = lanes.const("float", _double(operand.value))
        elif type not in FLOATS:
            bits = operand.value
            return uniform(type, lanes.const(type, bits).constant or 0)
        return uniform(constant.type, constant.text)

    # Values for instruction rows.

    def value(self, shape: Shape) -> Value:
        """The shape as an LLVM operand: a scalar where it is uniform, else a vector."""
        if shape.kind == "uniform":
            if isinstance(shape.base, int):
                return self.emitter.lanes.const(shape.type, shape.base)
            return Value(shape.base, shape.type, 0)
        return self.vector(shape)

    def vector(self, shape: Shape) -> Value:
        width = self.gang.width
        if shape.kind == "varying":
            return Value(str(shape.base), shape.type, width)
        if shape.kind == "uniform":
            return self.emitter.lanes.splat(self.value(shape))
        lanes = self.emitter.lanes
        rest = Value(str(shape.rest), "i64", 0)
        if shape.extra:
            moved = lanes.lane_constants("i64", shape.extra)
            rest = moved if shape.rest == 0 else lanes.binary("add", rest, moved)
            if shape.is_plain:
                return rest
        total = lanes.lane_constants("i32", shape.pattern)
        if shape.base != 0:
            total = lanes.binary("add", Value(str(shape.base), "i32", 0), total)
        if shape.axis is not None:
            term = lanes.binary("mul", Value(str(shape.step), "i32", 0), lanes.lane_constants("i32", shape.axis))
            total = lanes.binary("add", total, term)
        if shape.kind == "affine":
            return total
        wide = lanes.cast(total, "sext" if shape.signed else "zext", "i64")
        if shape.scale != 1:
            wide = lanes.binary("mul", wide, lanes.const("i64", shape.scale))
        return wide if shape.rest == 0 and not shape.extra else lanes.binary("add", wide, rest)

    def shape_of(self, value: Value) -> Shape:
        if value.lanes:
            return varying(value.type, value.text)
        constant = value.constant if value.type not in FLOATS and value.type != "i1" else None
        return uniform(value.type, value.text if constant is None else constant)

    def typed(self, operand: Operand, type: str) -> Value:
        """The operand's value in the LLVM type that an instruction works on, converted bit by bit."""
        shape = self.read_operand(operand, type)
        value = self.value(shape)
        if isinstance(operand, RegisterOperand) and operand.negated:
            value = self.emitter.lanes.not_(value)
        return self.convert(value, type)

    def convert(self, value: Value, type: str, signed: bool = False) -> Value:
        """The same bits in another type; integers of another width are cut or extended."""
        if value.type == type:
            return value
        lanes = self.emitter.lanes
        if BITS[value.type] == BITS[type]:
            return lanes.cast(value, "bitcast", type)
        integer = lanes.cast(value, "bitcast", f"i{BITS[value.type]}") if value.type in FLOATS else value
        resized = lanes.resize(integer, f"i{BITS[type]}", signed)
        return lanes.cast(resized, "bitcast", type) if type in FLOATS else resized

    # Writing.

    def write(self, name: str, shape: Shape) -> None:
        """Sets a register; constants that the analysis does not know are hidden, so that both fold alike."""
        target = self.shape(name)
        if target.kind == "uniform" and shape.kind == "varying":
            lane = self.emitter.lanes.extract(self.value(shape), 0)
            shape = uniform(shape.type, lane.text)
        self.current[name] = shape.with_scalars(
            _hidden(shape.base, target.base), _hidden(shape.step, target.step), _hidden(shape.rest, target.rest)
        )
        self.dirty[name] = None

    def write_value(self, name: str, value: Value, signed: bool = False) -> None:
        self.write(name, self.shape_of(self.convert(value, register_type(self.flat, name), signed)))

    def flush(self, live: set[str], blend: set[str], mask: Value | None) -> None:
        """Stores what the block wrote and others read; lanes that wait keep the value they had."""
        for name in self.dirty:
            if name not in live and name not in blend:
                continue
            shape = self.current[name]
            target = self.shape(name)
            if target.kind == "varying":
                ((_, (pointer, type)),) = self.slots(name)
                new = self.vector(shape).text
                if name in blend and mask is not None:
                    old = self.emitter.put(f"load {type}, ptr {pointer}")
                    new = self.emitter.put(f"select {mask}, {type} {new}, {type} {old}")
                self.emitter.emit(f"store {type} {new}, ptr {pointer}")
                continue
            if (shape.kind, shape.extra) != (target.kind, target.extra):
                raise AssertionError(f"{name}: {shape} does not fit {target}")
            for part, (pointer, type) in self.slots(name):
                self.emitter.emit(f"store {type} {self._scalar_text(getattr(shape, part), type)}, ptr {pointer}")
        self.dirty = {}

    def _scalar_text(self, scalar: Scalar, type: str) -> str:
        return self.emitter.lanes.const(type, scalar).text if isinstance(scalar, int) else scalar


def _with(shape: Shape, loaded: dict[str, Scalar]) -> Shape:
    return shape.with_scalars(
        loaded.get("base", shape.base), loaded.get("step", shape.step), loaded.get("rest", shape.rest)
    )


def _hidden(scalar: Scalar, known: Scalar) -> Scalar:
    return str(scalar) if isinstance(scalar, int) and known == UNKNOWN else scalar


def _double(bits: int) -> float:
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])
