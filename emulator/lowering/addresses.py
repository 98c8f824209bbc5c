"""Turns address operands into layouts, and checks bounds: per site one cached allocation, exact to the byte."""

from __future__ import annotations

from emulator.analysis import shapes
from emulator.analysis.shapes import Scalar, Shape, uniform
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.access import Access, Layout, Window, extremes
from emulator.lowering.emitter import Emitter, IrScalars
from emulator.lowering.registers import RegisterFile
from emulator.syntax.nodes import AddressOperand, RegisterOperand, SymbolOperand


class Addresses:
    """Address arithmetic of one function. `shared_bytes` is None where dynamic shared memory may be added."""

    def __init__(self, emitter: Emitter, registers: RegisterFile, shared_bytes: int | None, local_bytes: int) -> None:
        self.emitter = emitter
        self.registers = registers
        self.scalars = IrScalars(emitter)
        self.shared_bytes = shared_bytes
        self.local_bytes = local_bytes

    def shape(self, operand: AddressOperand, space: str) -> Shape:
        """The address in symbolic form: 64 bits, or 32 where a register of 32 bits holds a shared address."""
        if operand.base is None:
            return uniform("i64", operand.offset)
        registers = self.registers
        base: Shape
        if operand.base[0] == "%":
            base = registers.read_operand(RegisterOperand(operand.base), "i64")
        else:
            base = registers.read_operand(SymbolOperand(operand.base), "i64")
        if base.type not in ("i32", "i64"):
            value = registers.value(base)
            base = registers.shape_of(registers.convert(value, f"i{value.bits}"))
        if operand.offset == 0:
            return base
        offset = uniform(base.type, operand.offset)
        if base.kind == "varying":
            total = self.emitter.lanes.add(registers.value(base), registers.value(offset))
            return registers.shape_of(total)
        result = shapes.add(base, offset, self.scalars)
        assert result is not None
        return result

    def layout(self, shape: Shape) -> Layout | None:
        """Base, offsets and step of an address that is not varying."""
        if shape.kind == "varying":
            return None
        if shape.kind == "uniform":
            base = shape.base if shape.type == "i64" else self.scalars.extend(shape.base, False)
            return Layout(base, (), 0, None)
        # A shared address of 32 bits: sign extension makes a negative index visibly wrong.
        signed = shape.signed if shape.kind == "wide" else True
        base = self.scalars.multiply(self.scalars.extend(shape.base, signed), shape.scale, 64)
        base = self.scalars.add(base, shape.rest, 64)
        step = self.scalars.multiply(self.scalars.extend(shape.step, True), shape.scale, 64)
        extra = shape.extra or (0,) * len(shape.pattern)
        offsets = tuple(p * shape.scale + e for p, e in zip(shape.pattern, extra, strict=True))
        return Layout(base, offsets, step, shape.axis)

    def no_wrap(self, shape: Shape) -> list[str]:
        """Conditions under which the 32-bit sums inside a wide address do not wrap."""
        if shape.kind != "wide":
            return []
        base = self.scalars.extend(shape.base, shape.signed)
        low, high = extremes(shape)
        corners: list[Scalar] = []
        if shape.axis is None:
            corners = [self.scalars.add(base, edge, 64) for edge in {low, high} - {0}]
        else:
            step = self.scalars.extend(shape.step, True)
            for factor in {min(shape.axis), max(shape.axis)}:
                moved = self.scalars.add(base, self.scalars.multiply(step, factor, 64), 64)
                corners += [self.scalars.add(moved, edge, 64) for edge in {low, high}]
        bias = 1 << 31 if shape.signed else 0
        conditions: list[str] = []
        for corner in corners:
            biased = self.scalars.add(corner, bias, 64)
            if isinstance(biased, int):
                if not 0 <= biased < 1 << 32:
                    conditions.append("false")
            else:
                conditions.append(self.emitter.put(f"icmp ult i64 {biased}, {1 << 32}"))
        return conditions

    # Bounds.

    def site_pointer(self, site: int) -> str:
        return self.emitter.put(f"getelementptr i8, ptr %sites, i64 {16 * site}")

    def limit(self, access: Access, site: int, extra: int) -> tuple[Scalar, Scalar]:
        """(first address, how many accesses that are followed by `extra` more fit) of where a site may go."""
        if access.space in ("shared", "local"):
            total = self.local_bytes if access.space == "local" else self.shared_bytes
            if total is not None:
                return 0, max(0, (total >> access.shift) - extra)
            size = self.registers.special.context("shared bytes", "i64", abi.CONTEXT_SHARED_BYTES)
            fits = self.emitter.put(f"lshr i64 {size}, {access.shift}")
            self.emitter.declare("declare i64 @llvm.usub.sat.i64(i64, i64)")
            return 0, self.emitter.put(f"call i64 @llvm.usub.sat.i64(i64 {fits}, i64 {extra})")
        pointer = self.site_pointer(site)
        first = self.emitter.put(f"load i64, ptr {pointer}")
        count = self.emitter.put(f"getelementptr i8, ptr {pointer}, i64 8")
        return first, self.emitter.put(f"load i64, ptr {count}")

    def in_bounds(self, access: Access, address: Scalar, site: int, extra: int) -> str:
        """Whether a scalar address is aligned and it and the `extra` accesses behind it lie in one allocation.

        Rotating the offset right by log2(size) makes both a misaligned and a negative one too large.
        """
        first, limit = self.limit(access, site, extra)
        offset = self.scalars.subtract(address, first, 64)
        index: Scalar = offset
        if access.shift:
            self.emitter.declare("declare i64 @llvm.fshr.i64(i64, i64, i64)")
            index = self.emitter.put(f"call i64 @llvm.fshr.i64(i64 {offset}, i64 {offset}, i64 {access.shift})")
        return self.emitter.put(f"icmp ult i64 {index}, {limit}")

    def lanes_in_bounds(self, access: Access, addresses: Value, mask: str, site: int) -> str:
        """Whether the addresses of all active lanes are aligned and in the site's allocation."""
        lanes = self.emitter.lanes
        first, limit = self.limit(access, site, 0)
        offset = addresses if first == 0 else lanes.binary("sub", addresses, Value(str(first), "i64", 0))
        index = offset
        if access.shift:
            index = lanes.call("llvm.fshr", offset, offset, lanes.const("i64", access.shift))
        outside = lanes.icmp("uge", index, Value(str(limit), "i64", 0))
        bits = self.emitter.put(f"bitcast {outside} to i{lanes.width}")
        active = self.emitter.put(f"and i{lanes.width} {bits}, {mask}")
        return self.emitter.put(f"icmp eq i{lanes.width} {active}, 0")

    def vector(self, shape: Shape) -> Value:
        """The address of every lane, 64 bits."""
        value = self.registers.vector(shape)
        return value if value.type == "i64" else self.emitter.lanes.cast(value, "zext", "i64")

    def listed(self, lanes: Value | Shape) -> str:
        """A pointer to the address of every lane, in memory. What has a shape is put there by the run time."""
        emitter, width = self.emitter, self.emitter.width
        place = emitter.temporary("i64", width)
        if isinstance(lanes, Value) or lanes.kind in ("uniform", "varying"):
            vector = lanes if isinstance(lanes, Value) else self.vector(lanes)
            emitter.emit(f"store {vector}, ptr {place}, align 64")
            return place
        pattern = emitter.table("i32", lanes.pattern or (0,) * width)
        axis = emitter.table("i32", lanes.axis) if lanes.axis is not None else "null"
        extra = emitter.table("i64", lanes.extra) if lanes.extra else "null"
        base = 0 if lanes.is_plain else lanes.base
        scale, rest = (lanes.scale, lanes.rest) if lanes.kind == "wide" else (1, 0)
        emitter.declare("declare void @list_addresses(ptr, i64, ptr, ptr, ptr, i32, i32, i64, i64, i1)")
        emitter.emit(
            f"call void @list_addresses(ptr {place}, i64 {width}, ptr {pattern}, ptr {axis}, ptr {extra}, i32 {base}, "
            f"i32 {lanes.step}, i64 {scale}, i64 {rest}, i1 {str(lanes.kind == 'wide' and lanes.signed).lower()})"
        )
        return place

    def pointer(self, access: Access, address: Scalar) -> str:
        """A host pointer for a scalar address of plain or shared memory."""
        if access.space == "shared":
            return self.emitter.put(f"getelementptr i8, ptr %shared, i64 {address}")
        return self.emitter.put(f"inttoptr i64 {address} to ptr")

    def pointers(self, access: Access, addresses: Value, offset: int = 0) -> str:
        """Host pointers of all lanes."""
        width = addresses.lanes
        if access.space == "shared":
            base = "%shared" if not offset else self.emitter.put(f"getelementptr i8, ptr %shared, i64 {offset}")
            return self.emitter.put(f"getelementptr i8, ptr {base}, {addresses}")
        moved = addresses
        if offset:
            moved = self.emitter.lanes.add(addresses, self.emitter.lanes.const("i64", offset))
        return self.emitter.put(f"inttoptr {moved} to <{width} x ptr>")

    def window_base(self, layout: Layout, window: Window) -> Scalar:
        moved = self.scalars.multiply(layout.step, window.factor, 64)
        return self.scalars.add(self.scalars.add(layout.base, moved, 64), window.low, 64)
