"""Loads and stores of matrix fragments: wmma.load and wmma.store.

All lanes should give one address. Where they do, and the first and the last line lie in one allocation, and so all
between, whole lines are read or written. Elsewhere they are those of a tile on the stack, which the run time fills from
every lane's elements before, or stores from after; it faults at the first element that is outside.
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
from emulator.lowering.memory import Mask
from emulator.syntax.nodes import Instruction

_MEMORY_TYPES = {8: "b8", 16: "b16", 32: "b32", 64: "b64"}
# Copies the units of all lanes between memory and a tile; a table has each unit's lines, places and tile positions.
_FAR = """define internal i1 @fragment_{name}(ptr %ctx, ptr %tls, i32 %site, ptr %bases, i64 %pitch, i32 %mask,
    i32 %size, i32 %space, i32 %extra, ptr %tile, ptr %table, i64 %count) noinline nounwind {{
entry:
  %addresses = alloca <32 x i64>, align 64
  %size64 = zext i32 %size to i64
  %mask64 = zext i32 %mask to i64
  br label %unit
unit:
  %index = phi i64 [ 0, %entry ], [ %next, %served ]
  %start = mul i64 %index, 3
  %lines.p = getelementptr <32 x i16>, ptr %table, i64 %start
  %places.p = getelementptr <32 x i16>, ptr %lines.p, i64 1
  %positions.p = getelementptr <32 x i16>, ptr %lines.p, i64 2
  %lines16 = load <32 x i16>, ptr %lines.p, align 2
  %places16 = load <32 x i16>, ptr %places.p, align 2
  %lines = zext <32 x i16> %lines16 to <32 x i64>
  %places = zext <32 x i16> %places16 to <32 x i64>
  %pitch.1 = insertelement <32 x i64> poison, i64 %pitch, i64 0
  %pitch.all = shufflevector <32 x i64> %pitch.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %size.1 = insertelement <32 x i64> poison, i64 %size64, i64 0
  %size.all = shufflevector <32 x i64> %size.1, <32 x i64> poison, <32 x i32> zeroinitializer
  %base.all = load <32 x i64>, ptr %bases, align 64
  %down = mul <32 x i64> %lines, %pitch.all
  %along = mul <32 x i64> %places, %size.all
  %inside = add <32 x i64> %down, %along
  %address = add <32 x i64> %base.all, %inside
  store <32 x i64> %address, ptr %addresses, align 64
  %ok = call i1 @slow_{name}(ptr %ctx, ptr %tls, i32 %site, ptr %addresses, i64 %mask64, i32 %size, i32 %space,
                             i32 %extra, ptr %tile, ptr %positions.p)
  br i1 %ok, label %served, label %failed
served:
  %next = add i64 %index, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %unit, label %done
done:
  ret i1 true
failed:
  ret i1 false
}}"""
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
    """Where a fragment lies: the access of one unit, the first lane's address and all lanes' where these may differ,
    and the bytes from line to line."""

    def __init__(self, units: Units, space: str, base: Scalar, lanes: Value | None, pitch: Scalar, site: int) -> None:
        self.units = units
        self.access = Access(space, _MEMORY_TYPES[units.bits], 1, False)
        self.base = base
        self.lanes = lanes
        self.pitch = pitch
        self.site = site


class MatrixLowering:
    def __init__(self, emitter: Emitter, addresses: Addresses) -> None:
        self.emitter = emitter
        self.lanes = emitter.lanes
        self.addresses = addresses

    def _place(self, instruction: Instruction, space: str, address: Shape, stride: Value | None, site: int) -> _Place:
        modifiers = instruction.modifiers
        shape = next(m for m in modifiers if m in SHAPES)
        units = units_of(_role(instruction), shape, modifiers[-1], "row" in modifiers)
        scalars = self.addresses.scalars
        layout = self.addresses.layout(address) if address.kind == "uniform" else None
        own = self.addresses.vector(address) if layout is None else None
        base = layout.base if layout is not None else self.lanes.extract(self.addresses.vector(address), 0).text
        if stride is None:
            pitch: Scalar = units.stride * units.element_bits // 8
        elif stride.constant is not None:
            pitch = stride.constant * units.element_bits // 8
        else:
            bits = scalars.multiply(self.lanes.cast(stride, "sext", "i64").text, units.element_bits, 64)
            pitch = scalars.shift_right(bits, 3, True, 64)
        return _Place(units, space, base, own, pitch, site)

    # Where the lines are.

    def _near(self, place: _Place) -> tuple[str, str]:
        """The condition under which whole lines may be accessed, and the host pointer of the first."""
        emitter, scalars = self.emitter, self.addresses.scalars
        plain = self._lines_in_bounds(place.access, place.base, place)
        pointer = self.addresses.pointer(place.access, place.base)
        alike = "true"
        if place.lanes is not None:
            differ = self.lanes.icmp("ne", place.lanes, Value(str(place.base), "i64", 0))
            bits = emitter.put(f"bitcast {differ} to i{emitter.width}")
            alike = emitter.put(f"icmp eq i{emitter.width} {bits}, 0")
            plain = emitter.put(f"and i1 {plain}, {alike}")
        if place.access.space != "generic":
            return plain, pointer
        shared = Access("shared", place.access.type, 1, False)
        inside = scalars.subtract(place.base, SHARED_TAG, 64)
        tag = scalars.shift_right(place.base, 56, False, 64)
        is_shared = emitter.put(f"icmp eq i64 {tag}, {SHARED_TAG >> 56}")
        in_shared = emitter.put(f"and i1 {self._lines_in_bounds(shared, inside, place)}, {alike}")
        condition = emitter.put(f"select i1 {is_shared}, i1 {in_shared}, i1 {plain}")
        own = self.addresses.pointer(shared, inside)
        return condition, emitter.put(f"select i1 {is_shared}, ptr {own}, ptr {pointer}")

    def _lines_in_bounds(self, access: Access, base: Scalar, place: _Place) -> str:
        """Whether the first and the last line lie in one allocation; as their number is even, aligned ends mean
        that all lines are aligned."""
        extra = place.units.length - 1
        scalars = self.addresses.scalars
        last = scalars.add(base, scalars.multiply(place.pitch, place.units.lines - 1, 64), 64)
        ends = [self.addresses.in_bounds(access, end, place.site, extra) for end in (base, last)]
        return self.emitter.put(f"and i1 {ends[0]}, {ends[1]}")

    def _piece(self, place: _Place, origin: str, pitch: Scalar, line: int, unit: int) -> str:
        """A pointer to a unit of a line, given the first line's and the bytes from line to line."""
        scalars = self.addresses.scalars
        offset = scalars.add(scalars.multiply(pitch, line, 64), unit * place.access.size, 64)
        return origin if offset == 0 else self.emitter.put(f"getelementptr i8, ptr {origin}, i64 {offset}")

    # The run time's path.

    def _tile(self, place: _Place) -> tuple[str, int]:
        """A tile on the stack, and the bytes from line to line in it."""
        units = place.units
        tile = self.emitter.temporary(place.access.llvm_type, units.lines * units.length, tag=2)
        return tile, units.length * place.access.size

    def _copy_far(self, name: str, place: _Place, units: Sequence[Unit], mask: Mask, tile: str) -> None:
        """'load' fills the tile, 'store' stores it; comes back only where no lane is at fault."""
        emitter, length = self.emitter, place.units.length
        emitter.declare(_FAR.format(name=name))
        table = emitter.constant_table(
            [
                value
                for unit in units
                for values in (
                    unit.lines,
                    unit.places,
                    [line * length + spot for line, spot in zip(unit.lines, unit.places, strict=True)],
                )
                for value in values
            ]
        )
        bases = emitter.temporary("i64", emitter.width, tag=3)
        emitter.emit(f"store {self._bases(place)}, ptr {bases}, align 64")
        ok = emitter.put(
            f"call i1 @fragment_{name}(ptr %ctx, ptr %tls, i32 {place.site}, ptr {bases}, i64 {place.pitch}, "
            f"i{emitter.width} {mask.word}, i32 {place.access.size}, i32 {place.access.space_code}, "
            f"i32 {length - 1}, ptr {tile}, ptr {table}, i64 {len(units)})"
        )
        served = emitter.new_label("served")
        emitter.branch_if(ok, served, "faulted", LIKELY)
        emitter.place(served)

    def _bases(self, place: _Place) -> Value:
        return self.lanes.splat(Value(str(place.base), "i64", 0)) if place.lanes is None else place.lanes

    def _addresses(self, place: _Place, unit: Unit) -> Value:
        """Each lane's own address, for instruments."""
        lanes = self.lanes
        line = lanes.binary("mul", lanes.lane_constants("i64", unit.lines), Value(str(place.pitch), "i64", 0))
        inside = lanes.lane_constants("i64", [n * place.access.size for n in unit.places])
        return lanes.splat(lanes.add(lanes.add(self._bases(place), line), inside))

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
        condition, pointer = self._near(place)
        tile, tile_pitch = self._tile(place)
        start, far, after = emitter.label, emitter.new_label("far"), emitter.new_label("lines")
        emitter.branch_if(condition, after, far, LIKELY)
        emitter.place(far)
        self._copy_far("load", place, units, mask, tile)
        end = emitter.label
        emitter.branch(after)
        emitter.place(after)
        origin = emitter.phi("ptr", (pointer, start), (tile, end))
        pitch = emitter.phi("i64", (str(place.pitch), start), (str(tile_pitch), end))
        loaded = self._load_lines(place, units, origin, pitch)
        registers: dict[int, Value] = {}
        for unit in place.units.units:
            self._insert(registers, unit, loaded[unit.lines, unit.places])
        return [registers[index] for index in sorted(registers)]

    def _load_lines(
        self, place: _Place, units: Sequence[Unit], origin: str, pitch: str
    ) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Value]:
        """The values of each unit, by its lines and places."""
        found = {}
        blocks: dict[Block, Value] = {}
        type = place.access.llvm_type
        for unit, block in zip(units, blocks_of(units), strict=True):
            if block not in blocks:
                pieces = [self._piece(place, origin, pitch, line, block.first) for line in block.lines]
                text = f"load <{block.count} x {type}>, ptr "
                loads = [self.emitter.value(f"{text}{p}, align {place.access.size}", type, block.count) for p in pieces]
                blocks[block] = concatenated(self.lanes, loads)
            index, whole = block.index(unit), blocks[block]
            in_order = index == list(range(whole.lanes))
            found[unit.lines, unit.places] = whole if in_order else self.lanes.shuffle(whole, index)
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
        inside, pointer = self._near(place)
        full = emitter.put(f"icmp eq i{emitter.width} {mask.word}, -1")
        condition = emitter.put(f"and i1 {inside}, {full}")
        tile, tile_pitch = self._tile(place)
        origin = emitter.put(f"select i1 {condition}, ptr {pointer}, ptr {tile}")
        pitch = emitter.put(f"select i1 {condition}, i64 {place.pitch}, i64 {tile_pitch}")
        for line in range(place.units.lines):
            for first, holders in runs_of_line(units, line, place.units.length):
                piece = arrange(self.lanes, values, holders)
                at = self._piece(place, origin, pitch, line, first)
                emitter.emit(f"store {piece}, ptr {at}, align {place.access.size}")
        far, after = emitter.new_label("far"), emitter.new_label("stored")
        emitter.branch_if(condition, after, far, LIKELY)
        emitter.place(far)
        self._copy_far("store", place, units, mask, tile)
        emitter.branch(after)
        emitter.place(after)

    def _part(self, register: Value, unit: Unit) -> Value:
        if unit.bits >= 32:
            return register
        shifted = self.lanes.binary("lshr", register, self.lanes.const("i32", unit.shift)) if unit.shift else register
        return self.lanes.cast(shifted, "trunc", f"i{unit.bits}")
