"""Loads and stores of matrix fragments: wmma.load and wmma.store.

All lanes give one address. Where the first and the last line lie in one allocation, and so all between, whole lines
are read or written; elsewhere the run time looks at every lane's elements, and faults at the first that is outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.analysis.flat import SHARED_TAG
from emulator.analysis.shapes import Scalar, Shape
from emulator.isa.fragments import SHAPES, Role, registers_of
from emulator.isa.lanes import Lanes, Value
from emulator.isa.tensor_elements import arrange
from emulator.lowering.access import Access
from emulator.lowering.addresses import Addresses
from emulator.lowering.emitter import LIKELY, Emitter
from emulator.lowering.fragment_units import Block, Unit, Units, blocks_of, runs_of_line, units_of
from emulator.lowering.memory import Mask, MemoryLowering
from emulator.syntax.nodes import Instruction

_MEMORY_TYPES = {8: "b8", 16: "b16", 32: "b32", 64: "b64"}
# Tells instruments of an access, given each lane's address, what it stores, and the lanes; None without instruments.
Observe = Callable[[Access, Value, Sequence[Value], Mask], None] | None


def is_matrix_access(instruction: Instruction) -> bool:
    if instruction.opcode == "wmma":
        return "mma" not in instruction.modifiers[:1]
    return instruction.opcode in ("ldmatrix", "stmatrix")


def _role(instruction: Instruction) -> Role:
    part = instruction.modifiers[1]
    return "a" if part == "a" else "b" if part == "b" else "c"


def fragment_registers(instruction: Instruction) -> int:
    """How many registers wmma.load, wmma.store, ldmatrix or stmatrix fills or reads."""
    modifiers = instruction.modifiers
    if instruction.opcode != "wmma":
        return next(int(m[1:]) for m in modifiers if m in ("x1", "x2", "x4"))
    shape = next(m for m in modifiers if m in SHAPES)
    return registers_of(_role(instruction), shape, modifiers[-1])


def concatenated(lanes: Lanes, vectors: Sequence[Value]) -> Value:
    """Vectors of one length, a power of two of them, as one."""
    joined = list(vectors)
    while len(joined) > 1:
        n = joined[0].lanes
        joined = [lanes.shuffle(joined[i], range(2 * n), joined[i + 1]) for i in range(0, len(joined), 2)]
    return joined[0]


class _Place:
    """Where a fragment lies: the access of one unit, its address and the bytes from line to line."""

    def __init__(self, units: Units, space: str, base: Scalar, pitch: Scalar, site: int) -> None:
        self.units = units
        self.access = Access(space, _MEMORY_TYPES[units.bits], 1, False)
        self.base = base
        self.pitch = pitch
        self.site = site


class MatrixLowering:
    def __init__(self, emitter: Emitter, addresses: Addresses, memory: MemoryLowering) -> None:
        self.emitter = emitter
        self.lanes = emitter.lanes
        self.addresses = addresses
        self.memory = memory

    def _place(self, instruction: Instruction, space: str, address: Shape, stride: Value | None, site: int) -> _Place:
        modifiers = instruction.modifiers
        shape = next(m for m in modifiers if m in SHAPES)
        units = units_of(_role(instruction), shape, modifiers[-1], "row" in modifiers)
        scalars = self.addresses.scalars
        layout = self.addresses.layout(address) if address.kind == "uniform" else None
        base = self.lanes.extract(self.addresses.vector(address), 0).text if layout is None else layout.base
        if stride is None:
            pitch: Scalar = units.stride * units.element_bits // 8
        elif stride.constant is not None:
            pitch = stride.constant * units.element_bits // 8
        else:
            bits = scalars.multiply(self.lanes.cast(stride, "sext", "i64").text, units.element_bits, 64)
            pitch = scalars.shift_right(bits, 3, True, 64)
        return _Place(units, space, base, pitch, site)

    # The fast path.

    def _bounds(self, place: _Place) -> tuple[str, Callable[[Scalar], str]]:
        """The condition for whole lines, and the host pointer of an address."""
        plain = self._lines_in_bounds(place.access, place.base, place)
        if place.access.space != "generic":
            return plain, lambda address: self.addresses.pointer(place.access, address)
        shared = Access("shared", place.access.type, 1, False)
        inside = self.addresses.scalars.subtract(place.base, SHARED_TAG, 64)
        tag = self.addresses.scalars.shift_right(place.base, 56, False, 64)
        is_shared = self.emitter.put(f"icmp eq i64 {tag}, {SHARED_TAG >> 56}")
        in_shared = self._lines_in_bounds(shared, inside, place)
        condition = self.emitter.put(f"select i1 {is_shared}, i1 {in_shared}, i1 {plain}")

        def pointer(address: Scalar) -> str:
            moved = self.addresses.scalars.subtract(address, SHARED_TAG, 64)
            first, second = self.addresses.pointer(shared, moved), self.addresses.pointer(place.access, address)
            return self.emitter.put(f"select i1 {is_shared}, ptr {first}, ptr {second}")

        return condition, pointer

    def _lines_in_bounds(self, access: Access, base: Scalar, place: _Place) -> str:
        """Whether the first and the last line lie in one allocation; as their number is even, aligned ends mean
        that all lines are aligned."""
        extra = place.units.length - 1
        scalars = self.addresses.scalars
        last = scalars.add(base, scalars.multiply(place.pitch, place.units.lines - 1, 64), 64)
        ends = [self.addresses.in_bounds(access, end, place.site, extra) for end in (base, last)]
        return self.emitter.put(f"and i1 {ends[0]}, {ends[1]}")

    def _address(self, place: _Place, line: int, unit: int) -> Scalar:
        scalars = self.addresses.scalars
        start = scalars.add(place.base, scalars.multiply(place.pitch, line, 64), 64)
        return scalars.add(start, unit * place.access.size, 64)

    # The run time's path.

    def _addresses(self, place: _Place, unit: Unit) -> Value:
        """Each lane's own address."""
        lanes = self.lanes
        line = lanes.binary("mul", lanes.lane_constants("i64", unit.lines), Value(str(place.pitch), "i64", 0))
        inside = lanes.lane_constants("i64", [n * place.access.size for n in unit.places])
        return lanes.splat(lanes.add(lanes.add(Value(str(place.base), "i64", 0), line), inside))

    def _slow(self, function: str, place: _Place, unit: Unit, mask: Mask, buffer: str) -> None:
        vector = self._addresses(place, unit)
        extra = place.units.length - 1
        self.memory.slow_call(function, place.access, vector, mask.word, place.site, extra, buffer)

    # Loads.

    def load_fragment(
        self, instruction: Instruction, space: str, address: Shape, stride: Value | None, mask: Mask, site: int,
        observe: Observe,
    ) -> list[Value]:  # fmt: skip
        """The fragment's registers, as integers of 32 bits (64 for doubles)."""
        place = self._place(instruction, space, address, stride, site)
        # A float16 operand repeats its registers.
        units = list({(unit.lines, unit.places): unit for unit in reversed(place.units.units)}.values())[::-1]
        if observe is not None:
            for unit in units:
                observe(place.access, self._addresses(place, unit), [], mask)
        emitter = self.emitter
        condition, pointer = self._bounds(place)
        near, far, after = (emitter.new_label(name) for name in ("lines", "far", "loaded"))
        emitter.branch_if(condition, near, far, LIKELY)
        emitter.place(near)
        whole = self._load_lines(place, units, pointer)
        near_end = emitter.label
        emitter.branch(after)
        emitter.place(far)
        single = self._load_units(place, units, mask)
        far_end = emitter.label
        emitter.branch(after)
        emitter.place(after)
        loaded = {
            (unit.lines, unit.places): Value(
                emitter.phi(a.llvm_type, (a.text, near_end), (b.text, far_end)), a.type, a.lanes
            )
            for unit, a, b in zip(units, whole, single, strict=True)
        }
        registers: dict[int, Value] = {}
        for unit in place.units.units:
            self._insert(registers, unit, loaded[unit.lines, unit.places])
        return [registers[index] for index in sorted(registers)]

    def _load_lines(self, place: _Place, units: Sequence[Unit], pointer: Callable[[Scalar], str]) -> list[Value]:
        found: list[Value] = []
        blocks: dict[Block, Value] = {}
        for unit, block in zip(units, blocks_of(units), strict=True):
            if block not in blocks:
                pieces = [self._load_piece(place, line, block, pointer) for line in block.lines]
                blocks[block] = concatenated(self.lanes, pieces)
            index = block.index(unit)
            whole = blocks[block]
            found.append(whole if index == list(range(whole.lanes)) else self.lanes.shuffle(whole, index))
        return found

    def _load_piece(self, place: _Place, line: int, block: Block, pointer: Callable[[Scalar], str]) -> Value:
        type = place.access.llvm_type
        at = pointer(self._address(place, line, block.first))
        return self.emitter.value(
            f"load <{block.count} x {type}>, ptr {at}, align {place.access.size}", type, block.count
        )

    def _load_units(self, place: _Place, units: Sequence[Unit], mask: Mask) -> list[Value]:
        found: list[Value] = []
        for unit in units:
            buffer = self.memory.buffer(place.access)
            self._slow("slow_load", place, unit, mask, buffer)
            type, width = place.access.llvm_type, self.emitter.width
            found.append(self.emitter.value(f"load <{width} x {type}>, ptr {buffer}, align 64", type, width))
        return found

    def _insert(self, registers: dict[int, Value], unit: Unit, value: Value) -> None:
        if unit.bits < 32:
            wide = self.lanes.cast(value, "zext", "i32")
            value = self.lanes.binary("shl", wide, self.lanes.const("i32", unit.shift)) if unit.shift else wide
        old = registers.get(unit.register)
        registers[unit.register] = value if old is None else self.lanes.or_(old, value)

    # Stores.

    def store_fragment(
        self, instruction: Instruction, space: str, address: Shape, stride: Value | None, registers: list[Value],
        mask: Mask, site: int, observe: Observe,
    ) -> None:  # fmt: skip
        """`registers` are integers of 32 bits (64 for doubles)."""
        place = self._place(instruction, space, address, stride, site)
        units = place.units.units
        values = [self._part(self.lanes.splat(registers[unit.register]), unit) for unit in units]
        if observe is not None:
            for unit, value in zip(units, values, strict=True):
                observe(place.access, self._addresses(place, unit), [value], mask)
        emitter = self.emitter
        inside, pointer = self._bounds(place)
        full = emitter.put(f"icmp eq i{emitter.width} {mask.word}, -1")
        condition = emitter.put(f"and i1 {inside}, {full}")
        near, far, after = (emitter.new_label(name) for name in ("lines", "far", "stored"))
        emitter.branch_if(condition, near, far, LIKELY)
        emitter.place(near)
        for line in range(place.units.lines):
            for first, holders in runs_of_line(units, line, place.units.length):
                piece = arrange(self.lanes, values, holders)
                at = pointer(self._address(place, line, first))
                emitter.emit(f"store {piece}, ptr {at}, align {place.access.size}")
        emitter.branch(after)
        emitter.place(far)
        for unit, value in zip(units, values, strict=True):
            buffer = self.memory.buffer(place.access)
            emitter.emit(f"store {value}, ptr {buffer}, align 64")
            self._slow("slow_store", place, unit, mask, buffer)
        emitter.branch(after)
        emitter.place(after)

    def _part(self, register: Value, unit: Unit) -> Value:
        if unit.bits >= 32:
            return register
        shifted = self.lanes.binary("lshr", register, self.lanes.const("i32", unit.shift)) if unit.shift else register
        return self.lanes.cast(shifted, "trunc", f"i{unit.bits}")
