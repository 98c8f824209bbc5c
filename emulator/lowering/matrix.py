"""Loads and stores of matrix fragments: wmma.load, wmma.store, ldmatrix and stmatrix."""

from __future__ import annotations

from emulator.analysis.shapes import Shape, varying
from emulator.isa.fragments import SHAPES, Element, Role, fragment
from emulator.isa.lanes import Value
from emulator.lowering.access import Access
from emulator.lowering.addresses import Addresses
from emulator.lowering.emitter import Emitter
from emulator.lowering.memory import Mask, MemoryLowering
from emulator.syntax.nodes import TYPE_SIZES, Instruction

_OPERAND_TYPES = ("f16", "bf16", "tf32", "s8", "u8", "f64")
_ACCUMULATOR_TYPES = ("f16", "f32", "s32", "f64")
_MEMORY_TYPES = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}
LEGAL = (
    "wmma.(load.(a|b|c)|store.d).sync.aligned.(row|col).(m16n16k16|m32n8k16|m8n32k16|m16n16k8|m8n8k4){space}.type; "
    "(ldmatrix|stmatrix).sync.aligned.m8n8.(x1|x2|x4){.trans}.shared.b16"
)


def is_matrix_access(instruction: Instruction) -> bool:
    if instruction.opcode == "wmma":
        return "mma" not in instruction.modifiers[:1]
    return instruction.opcode in ("ldmatrix", "stmatrix")


def is_legal(instruction: Instruction) -> bool:
    """Whether the fragment's shape and type are supported."""
    modifiers = instruction.modifiers
    if instruction.opcode != "wmma":
        return "m8n8" in modifiers and "b16" in modifiers and not {"x1", "x2", "x4"}.isdisjoint(modifiers)
    shape = next((m for m in modifiers if m in SHAPES or m == "m8n8k4"), None)
    role = modifiers[1] if len(modifiers) > 1 else ""
    types = _OPERAND_TYPES if role in ("a", "b") else _ACCUMULATOR_TYPES
    return shape is not None and role in ("a", "b", "c", "d") and modifiers[-1] in types


class MatrixLowering:
    def __init__(self, emitter: Emitter, addresses: Addresses, memory: MemoryLowering) -> None:
        self.emitter = emitter
        self.lanes = emitter.lanes
        self.addresses = addresses
        self.memory = memory

    # wmma.

    def fragment_of(self, instruction: Instruction) -> tuple[tuple[Element, ...], str]:
        """The elements of the fragment and the type of an element."""
        modifiers = instruction.modifiers
        shape = next(m for m in modifiers if m in SHAPES or m == "m8n8k4")
        role: Role = "c" if modifiers[1] in ("c", "d") else "a" if modifiers[1] == "a" else "b"
        return fragment(role, shape, modifiers[-1]), modifiers[-1]

    def load_fragment(
        self, instruction: Instruction, space: str, address: Shape, stride: Value | None, mask: Mask, site: int
    ) -> list[Value]:
        """The fragment's registers, as integers of 32 bits (64 for doubles)."""
        elements, kind = self.fragment_of(instruction)
        access = Access(space, _MEMORY_TYPES[TYPE_SIZES[kind]], 1, False)
        loaded: dict[tuple[tuple[int, ...], tuple[int, ...]], Value] = {}
        registers: dict[int, Value] = {}
        for element in elements:
            place = (element.rows, element.columns)
            if place not in loaded:
                shape = self._place(instruction, address, stride, element, access.size, elements)
                loaded[place] = self.lanes.splat(self.memory.load(access, shape, mask, site)[0])
            self._insert(registers, element, loaded[place], access.size)
        return [registers[index] for index in sorted(registers)]

    def _insert(self, registers: dict[int, Value], element: Element, value: Value, size: int) -> None:
        if size < 4:
            wide = self.lanes.cast(value, "zext", "i32")
            value = self.lanes.binary("shl", wide, self.lanes.const("i32", 8 * size * element.part))
        old = registers.get(element.register)
        registers[element.register] = value if old is None else self.lanes.or_(old, value)

    def store_fragment(
        self, instruction: Instruction, space: str, address: Shape, stride: Value | None, registers: list[Value],
        mask: Mask, site: int,
    ) -> None:  # fmt: skip
        """`registers` are integers of 32 bits (64 for doubles)."""
        elements, kind = self.fragment_of(instruction)
        size = TYPE_SIZES[kind]
        access = Access(space, _MEMORY_TYPES[size], 1, False)
        for element in elements:
            value = self.lanes.splat(registers[element.register])
            if size < 4:
                shifted = self.lanes.binary("lshr", value, self.lanes.const("i32", 8 * size * element.part))
                value = self.lanes.cast(shifted, "trunc", f"i{8 * size}")
            shape = self._place(instruction, address, stride, element, size, elements)
            self.memory.store(access, shape, [value], mask, site)

    def _place(
        self, instruction: Instruction, address: Shape, stride: Value | None, element: Element, size: int,
        elements: tuple[Element, ...],
    ) -> Shape:  # fmt: skip
        """The address of an element in each lane: major·stride + minor, in elements."""
        by_row = "row" in instruction.modifiers
        major, minor = (element.rows, element.columns) if by_row else (element.columns, element.rows)
        lanes = self.lanes
        if stride is None:
            extent = 1 + max(max(e.columns if by_row else e.rows) for e in elements)
            stride = lanes.const("i64", extent)
        base = self.addresses.vector(address)
        line = lanes.binary("mul", lanes.lane_constants("i64", major), lanes.cast(stride, "sext", "i64"))
        offset = lanes.binary("mul", lanes.add(line, lanes.lane_constants("i64", minor)), lanes.const("i64", size))
        return varying("i64", lanes.add(base, offset).text)

    # ldmatrix and stmatrix: lane 8·i + r gives the address of row r of matrix i.

    def matrix_count(self, instruction: Instruction) -> int:
        return next(int(m[1:]) for m in instruction.modifiers if m in ("x1", "x2", "x4"))

    def _pieces(self, instruction: Instruction, index: int) -> list[tuple[Access, list[int], list[int]]]:
        """For each piece of a register: its access, the lanes that give the row, and the byte in the row."""
        width = range(self.emitter.width)
        if "trans" not in instruction.modifiers:
            rows = [8 * index + lane // 4 for lane in width]
            return [(Access("shared", "b32", 1, False), rows, [4 * (lane % 4) for lane in width])]
        return [
            (
                Access("shared", "b16", 1, False),
                [8 * index + 2 * (lane % 4) + half for lane in width],
                [2 * (lane // 4) for lane in width],
            )
            for half in range(2)
        ]

    def _row(self, address: Shape, rows: list[int], bytes_in_row: list[int]) -> Shape:
        base = self.lanes.shuffle(self.addresses.vector(address), rows)
        return varying("i64", self.lanes.add(base, self.lanes.lane_constants("i64", bytes_in_row)).text)

    def load_matrices(self, instruction: Instruction, address: Shape, mask: Mask, site: int) -> list[Value]:
        found: list[Value] = []
        for index in range(self.matrix_count(instruction)):
            parts: list[Value] = []
            for access, rows, inside in self._pieces(instruction, index):
                parts.append(self.memory.load(access, self._row(address, rows, inside), mask, site)[0])
            if len(parts) == 1:
                found.append(parts[0])
            else:
                low, high = (self.lanes.cast(part, "zext", "i32") for part in parts)
                found.append(self.lanes.or_(low, self.lanes.binary("shl", high, self.lanes.const("i32", 16))))
        return found

    def store_matrices(
        self, instruction: Instruction, address: Shape, registers: list[Value], mask: Mask, site: int
    ) -> None:
        for index, register in enumerate(registers):
            value = self.lanes.splat(register)
            for half, (access, rows, inside) in enumerate(self._pieces(instruction, index)):
                piece = value
                if access.size == 2:
                    shifted = self.lanes.binary("lshr", value, self.lanes.const("i32", 16 * half))
                    piece = self.lanes.cast(shifted, "trunc", "i16")
                self.memory.store(access, self._row(address, rows, inside), [piece], mask, site)
