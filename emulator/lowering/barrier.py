"""Barriers: the gang saves its live registers in its frame, returns, and resumes when the block has arrived."""

from __future__ import annotations

from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.emitter import Emitter
from emulator.lowering.registers import RegisterFile, Slot
from emulator.syntax.nodes import Instruction, Operand


class BarrierLowering:
    def __init__(self, emitter: Emitter, registers: RegisterFile, first: int) -> None:
        """`first`: where in the frame registers may lie."""
        self.emitter = emitter
        self.lanes = emitter.lanes
        self.registers = registers
        self.first = self.frame_bytes = first
        self.resumes: list[str] = []  # label of the code behind suspension k + 1
        self.uses_frame = False
        self.uses_cluster = False

    def field(self, base: str, offset: int) -> str:
        return self.emitter.put(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _indexed(self, base: str, offset: int, index: Value) -> str:
        start = self.field(base, offset)
        return self.emitter.put(f"getelementptr i32, ptr {start}, {index}")

    def _add(self, pointer: str, amount: Value) -> None:
        old = self.emitter.value(f"load i32, ptr {pointer}", "i32")
        self.emitter.emit(f"store {self.lanes.add(old, amount)}, ptr {pointer}")

    def _note_use(self, number: Value) -> None:
        """Tells the scheduler which barriers it has to look at."""
        used = self.field("%tls", abi.WORKER_BARRIERS)
        old = self.emitter.value(f"load i32, ptr {used}", "i32")
        bit = self.lanes.binary("shl", self.lanes.const("i32", 1), number)
        self.emitter.emit(f"store {self.lanes.or_(old, bit)}, ptr {used}")

    def number_and_count(self, instruction: Instruction) -> tuple[Value, Value]:
        """The barrier's number (0 to 15) and how many threads it waits for (0: the whole block)."""
        operands = list(instruction.operands[1:] if "red" in instruction.modifiers else instruction.operands)
        if "red" in instruction.modifiers:
            operands.pop()  # the predicate
        number = self._scalar(operands[0]) if operands else self.lanes.const("i32", 0)
        count = self._scalar(operands[1]) if len(operands) > 1 else self.lanes.const("i32", 0)
        return self.lanes.and_(number, self.lanes.const("i32", 15)), count

    def _scalar(self, operand: Operand) -> Value:
        return self.lanes.extract(self.registers.typed(operand, "i32"), 0)

    def arrive(self, instruction: Instruction, mask: str) -> None:
        """bar.arrive: counts without waiting."""
        if "cluster" in instruction.modifiers:
            self._mark(abi.FRAME_CLUSTER_ARRIVED, mask)
            return
        number, count = self.number_and_count(instruction)
        self.uses_frame = True
        self._note_use(number)
        self._add(self._indexed("%tls", abi.WORKER_ARRIVALS, number), self._population(mask))
        self.emitter.emit(f"store {count}, ptr {self._indexed('%frame', abi.FRAME_NEEDED, number)}")

    def _population(self, mask: str) -> Value:
        return self.lanes.call("llvm.ctpop", Value(mask, "i32", 0))

    def _mark(self, offset: int, mask: str) -> None:
        """Adds lanes to a mask of the frame that concerns the cluster's barrier."""
        emitter = self.emitter
        self.uses_frame = self.uses_cluster = True
        place = self.field("%frame", offset)
        old = emitter.put(f"load i32, ptr {place}")
        emitter.emit(f"store i32 {emitter.put(f'or i32 {old}, {mask}')}, ptr {place}")

    def _wait_for_cluster(self, mask: str) -> None:
        """Lanes whose arrival has been answered do not wait: the barrier has opened since."""
        arrived = self.emitter.put(f"load i32, ptr {self.field('%frame', abi.FRAME_CLUSTER_ARRIVED)}")
        self._mark(abi.FRAME_CLUSTER_WAITING, self.emitter.put(f"and i32 {arrived}, {mask}"))

    def wait(self, instruction: Instruction, mask: str) -> None:
        """Marks the lanes as waiting; the caller suspends the gang once none can go on."""
        emitter = self.emitter
        if "cluster" in instruction.modifiers:
            self._wait_for_cluster(mask)
            return
        number, count = self.number_and_count(instruction)
        self._note_use(number)
        if "red" in instruction.modifiers:
            predicate = self.lanes.splat(self.registers.typed(instruction.operands[-1], "i1"))
            bits = emitter.put(f"bitcast {predicate} to i{emitter.width}")
            held = emitter.put(f"and i{emitter.width} {bits}, {mask}")
            self._add(self._indexed("%tls", abi.WORKER_VOTES, number), self._population(held))
        place = self._indexed("%frame", abi.FRAME_WAITING, number)
        others = emitter.put(f"load i32, ptr {place}")
        emitter.emit(f"store i32 {emitter.put(f'or i32 {others}, {mask}')}, ptr {place}")
        emitter.emit(f"store {count}, ptr {self._indexed('%frame', abi.FRAME_NEEDED, number)}")

    def suspend(self, saved: list[Slot], leave: str = f"ret i32 {abi.SUSPENDED}") -> str:
        """Saves the slots, leaves, and starts the code that restores them."""
        emitter = self.emitter
        places: list[tuple[Slot, int]] = []
        offset = self.first
        for slot in sorted(set(saved), key=lambda s: (-bytes_of(s[1]), s[0])):
            size = bytes_of(slot[1])
            offset = (offset + min(size, 64) - 1) // min(size, 64) * min(size, 64)
            places.append((slot, offset))
            offset += size
        self.frame_bytes = max(self.frame_bytes, (offset + 63) // 64 * 64)
        for (pointer, type), place in places:
            value = emitter.put(f"load {type}, ptr {pointer}")
            emitter.emit(f"store {type} {value}, ptr {self.field('%frame', place)}, align {alignment_of(type)}")
        label = emitter.new_label("restore")
        self.resumes.append(label)
        emitter.emit(f"store i32 {len(self.resumes)}, ptr {self.field('%frame', abi.FRAME_STATE)}")
        emitter.emit(leave)
        emitter.place(label)
        for (pointer, type), place in places:
            value = emitter.put(f"load {type}, ptr {self.field('%frame', place)}, align {alignment_of(type)}")
            emitter.emit(f"store {type} {value}, ptr {pointer}")
        return label

    def reduced(self, instruction: Instruction) -> Value:
        """The result of bar.red, behind its suspension."""
        number, _ = self.number_and_count(instruction)
        votes = self.emitter.value(f"load i32, ptr {self._indexed('%tls', abi.WORKER_RESULTS, number)}", "i32")
        if "popc" in instruction.modifiers:
            return votes
        if "or" in instruction.modifiers:
            return self.lanes.icmp("ne", votes, self.lanes.const("i32", 0))
        total = self.emitter.value(f"load i32, ptr {self._indexed('%tls', abi.WORKER_TOTALS, number)}", "i32")
        return self.lanes.icmp("eq", votes, total)


def bytes_of(type: str) -> int:
    """Bytes of an LLVM type in memory."""
    if type[0] == "<":
        count, _, element = type[1:-1].partition(" x ")
        return max(1, int(count) * _bits(element) // 8)
    return max(1, _bits(type) // 8)


def alignment_of(type: str) -> int:
    return min(64, 1 << (bytes_of(type).bit_length() - 1))


def _bits(element: str) -> int:
    return {"float": 32, "double": 64, "half": 16, "bfloat": 16}.get(element) or int(element[1:])
