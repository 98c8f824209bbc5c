"""ldmatrix and stmatrix: matrices of 8 × 8 halves whose rows of 16 bytes the lanes name.

Lane 8·i + r gives the address of row r of matrix i. A row is one access of that lane: it must be aligned and in
bounds, and a fault names the lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from emulator.analysis.flat import SHARED_TAG
from emulator.analysis.shapes import Shape
from emulator.isa.lanes import Value
from emulator.lowering.access import Access
from emulator.lowering.addresses import Addresses
from emulator.lowering.emitter import LIKELY, Emitter
from emulator.lowering.matrix import Observe, concatenated, fragment_registers
from emulator.lowering.memory import Mask, MemoryLowering
from emulator.syntax.nodes import Instruction

ROW = Access("shared", "b32", 4, False)
_ROWS = 8


class MatrixRowLowering:
    def __init__(self, emitter: Emitter, addresses: Addresses, memory: MemoryLowering) -> None:
        self.emitter = emitter
        self.lanes = emitter.lanes
        self.addresses = addresses
        self.memory = memory

    def _rows(self, instruction: Instruction, address: Shape, mask: Mask) -> tuple[Value, Mask, str]:
        """Each lane's address in shared memory, the lanes that name rows, and whether all of them are active."""
        emitter, lanes = self.emitter, self.lanes
        rows = self.addresses.vector(address)
        if not any(m.startswith("shared") for m in instruction.modifiers):
            rows = lanes.sub(rows, lanes.const("i64", SHARED_TAG))
        naming = (1 << _ROWS * fragment_registers(instruction)) - 1
        width = emitter.width
        word = emitter.put(f"and i{width} {mask.word}, {naming}")
        return lanes.splat(rows), Mask(emitter, word), emitter.put(f"icmp eq i{width} {word}, {naming}")

    def _either(
        self, rows: Value, naming: Mask, whole: str, site: int, near: Callable[[], list[Value]],
        far: Callable[[], list[Value]],
    ) -> list[Value]:  # fmt: skip
        emitter = self.emitter
        inside = self.addresses.lanes_in_bounds(ROW, rows, naming.word, site)
        labels = [emitter.new_label(name) for name in ("rows", "far", "moved")]
        emitter.branch_if(emitter.put(f"and i1 {inside}, {whole}"), labels[0], labels[1], LIKELY)
        emitter.place(labels[0])
        first = near()
        near_end = emitter.label
        emitter.branch(labels[2])
        emitter.place(labels[1])
        second = far()
        far_end = emitter.label
        emitter.branch(labels[2])
        emitter.place(labels[2])
        return [
            Value(emitter.phi(a.llvm_type, (a.text, near_end), (b.text, far_end)), a.type, a.lanes)
            for a, b in zip(first, second, strict=True)
        ]

    def _pointer(self, rows: Value, lane: int) -> str:
        return self.addresses.pointer(ROW, self.lanes.extract(rows, lane).text)

    # A matrix by rows: its 32 words are those of the lanes, or of its transpose.

    def _transposed(self, matrix: Value) -> Value:
        """The words of the transposed matrix."""
        halves = self.emitter.value(f"bitcast {matrix} to <64 x i16>", "i16", 64)
        turned = self.lanes.shuffle(halves, [place % _ROWS * _ROWS + place // _ROWS for place in range(64)])
        return self.emitter.value(f"bitcast {turned} to <32 x i32>", "i32", 32)

    def load(self, instruction: Instruction, address: Shape, mask: Mask, site: int, observe: Observe) -> list[Value]:
        emitter, count = self.emitter, fragment_registers(instruction)
        rows, naming, whole = self._rows(instruction, address, mask)
        if observe is not None:
            observe(ROW, rows, [], naming)

        def near() -> list[Value]:
            return [
                concatenated(
                    self.lanes,
                    [
                        emitter.value(f"load <4 x i32>, ptr {self._pointer(rows, _ROWS * i + row)}, align 16", "i32", 4)
                        for row in range(_ROWS)
                    ],
                )
                for i in range(count)
            ]

        def far() -> list[Value]:
            buffer = self.memory.buffer(ROW)
            self.memory.slow_call("slow_load", ROW, rows, naming.word, site, 0, buffer)
            return [
                emitter.value(f"load <32 x i32>, ptr {self._matrix(buffer, i)}, align 64", "i32", 32)
                for i in range(count)
            ]

        found = self._either(rows, naming, whole, site, near, far)
        return [self._transposed(matrix) for matrix in found] if "trans" in instruction.modifiers else found

    def _words(self, matrices: Sequence[Value]) -> list[Value]:
        """The four words of each lane's row; lanes that name none have those of the first."""
        rows = range(self.emitter.width)
        whole = concatenated(self.lanes, matrices)
        places = [4 * row if 4 * row < whole.lanes else 0 for row in rows]
        return [self.lanes.shuffle(whole, [place + word for place in places]) for word in range(4)]

    def _matrix(self, buffer: str, index: int) -> str:
        return self.emitter.put(f"getelementptr i8, ptr {buffer}, i64 {_ROWS * ROW.size * index}")

    def store(
        self, instruction: Instruction, address: Shape, registers: Sequence[Value], mask: Mask, site: int,
        observe: Observe,
    ) -> None:  # fmt: skip
        emitter = self.emitter
        rows, naming, whole = self._rows(instruction, address, mask)
        matrices = [self.lanes.splat(register) for register in registers]
        if "trans" in instruction.modifiers:
            matrices = [self._transposed(matrix) for matrix in matrices]
        if observe is not None:
            observe(ROW, rows, self._words(matrices), naming)

        def near() -> list[Value]:
            for index, matrix in enumerate(matrices):
                for row in range(_ROWS):
                    piece = self.lanes.shuffle(matrix, range(4 * row, 4 * row + 4))
                    emitter.emit(f"store {piece}, ptr {self._pointer(rows, _ROWS * index + row)}, align 16")
            return []

        def far() -> list[Value]:
            buffer = self.memory.buffer(ROW)
            for index, matrix in enumerate(matrices):
                emitter.emit(f"store {matrix}, ptr {self._matrix(buffer, index)}, align 64")
            self.memory.slow_call("slow_store", ROW, rows, naming.word, site, 0, buffer)
            return []

        self._either(rows, naming, whole, site, near, far)
