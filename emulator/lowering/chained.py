"""Kernels whose lanes move together: registers in LLVM values, waiting lanes in pending masks."""

from __future__ import annotations

from emulator.analysis.cfg import Block, is_mbarrier_wait
from emulator.analysis.operands import uses
from emulator.analysis.progress import is_active
from emulator.isa.builder import FLOATS
from emulator.lowering import abi
from emulator.lowering.control import ChainControl, Control
from emulator.lowering.kernel import KernelLowering
from emulator.lowering.memory import Mask
from emulator.lowering.memory_instructions import problem_of
from emulator.lowering.registers import Slot
from emulator.syntax.nodes import Instruction, RegisterOperand


class ChainedKernel(KernelLowering):
    def _make_control(self) -> Control:
        ends = (self.graph.blocks[block].terminator for block in self.graph.order)
        self._waits = any(last is not None and is_mbarrier_wait(last) for last in ends)
        return ChainControl(self.emitter, self.graph, self.classes.waiting)

    def frame_bytes(self) -> int:
        return self.barriers.frame_bytes

    def _note_activity(self, block: Block) -> None:
        """Gangs spin at mbarriers only; each of the others comes to a barrier or to its end."""
        if self._waits and any(is_active(item) or item.opcode in ("atom", "red") for item in block.instructions):
            self.mark_changed()

    def suspends(self) -> bool:
        return bool(self.barriers.resumes) or self.barriers.uses_frame

    def _barrier(self, block: Block, last: Instruction, mask: Mask) -> None:
        if self.classes.waiting[block.id] or last.guard is not None:
            raise problem_of(last, "internal: a divergent barrier in a chained kernel")
        (target,) = block.successors
        named = {name for name in uses(last) if name in self.flat.registers}
        names = self.liveness.live_in[target] | named
        self.registers.flush(self.liveness.live_out[block.id] | named, self.classes.blend[block.id], mask.vector)
        saved: list[Slot] = [slot for name in sorted(names) for _, slot in self.registers.slots(name)]
        self.barriers.wait(last, mask.word)
        field = self.barriers.field("%frame", abi.FRAME_ALIVE)
        self.emitter.emit(f"store i{self.gang.width} {mask.word}, ptr {field}")
        self.barriers.suspend([*saved, ("%M", f"i{self.gang.width}")])
        self.registers.begin_block()
        word = self.emitter.put(f"load i{self.gang.width}, ptr %M")
        if "red" in last.modifiers:
            result = last.operands[0]
            assert isinstance(result, RegisterOperand)
            self.registers.write_value(result.name, self.barriers.reduced(last))
            self.registers.flush(self.liveness.live_in[target], set(), None)
        self.control.edge(block.id, target, word)

    def _mbarrier_wait(self, block: Block, last: Instruction, mask: Mask) -> None:
        """Where the phase is not over the gang lets the others go on once, and looks again."""
        (target,) = block.successors
        self.instructions.lower(last, mask)
        failed = self.instructions.failed_wait
        named = {name for name in uses(last) if name in self.flat.registers}
        self.registers.flush(self.liveness.live_out[block.id] | named, self.classes.blend[block.id], mask.vector)
        if self.classes.waiting[block.id]:
            # Lanes wait elsewhere, so this is no loop that waits: the program looks again where it wants to.
            self.control.edge(block.id, target, mask.word)
            return
        names = sorted(self.liveness.live_in[target] | named)
        saved = [slot for name in names for _, slot in self.registers.slots(name)]
        again, over = self.emitter.new_label("again"), self.emitter.new_label("over")
        self.emitter.branch_if(failed, again, over)
        self.emitter.place(again)
        alive = self.barriers.field("%frame", abi.FRAME_ALIVE)
        self.emitter.emit(f"store i{self.gang.width} {mask.word}, ptr {alive}")
        self.barriers.suspend([*saved, ("%M", f"i{self.gang.width}")])
        self.registers.begin_block()
        later = Mask(self.emitter, self.emitter.put(f"load i{self.gang.width}, ptr %M"))
        self.instructions.lower(last, later)
        self.registers.flush(self.liveness.live_in[target], set(), None)
        self.control.edge(block.id, target, later.word)
        self.emitter.place(over)
        self.control.edge(block.id, target, mask.word)

    def _warp_barrier(self, block: Block, last: Instruction, mask: Mask) -> None:
        raise problem_of(last, "internal: lanes that move together meet nowhere")

    def _slots(self) -> list[str]:
        lines: list[str] = []
        for pointer, type in self.registers.used_slots.values():
            lines.append(f"  {pointer} = alloca {type}, align {64 if type[0] == '<' else 8}")
            lines.append(f"  store {type} {_zero(type)}, ptr {pointer}")
        return lines

    def _start(self) -> list[str]:
        first = f"label %B{self.graph.order[0]}"
        if not self.barriers.resumes:
            return [*self._initial_mask(), f"  br {first}"]
        cases = " ".join(f"i32 {k + 1}, label %{label}" for k, label in enumerate(self.barriers.resumes))
        return [*self._initial_mask(), "  %state = load i32, ptr %frame", f"  switch i32 %state, {first} [{cases}]"]

    def _initial_mask(self) -> list[str]:
        width, threads = self.gang.width, self.gang.threads
        if threads % width == 0:
            return [f"  store i{width} -1, ptr %M"]
        return [
            f"  %first = mul i32 %w, {width}",
            f"  %left = sub i32 {threads}, %first",
            f"  %whole = icmp uge i32 %left, {width}",
            "  %left64 = zext i32 %left to i64",
            "  %bit = shl i64 1, %left64",
            "  %ones = sub i64 %bit, 1",
            f"  %some = trunc i64 %ones to i{width}",
            f"  %initial = select i1 %whole, i{width} -1, i{width} %some",
            f"  store i{width} %initial, ptr %M",
        ]


def _zero(type: str) -> str:
    if type[0] == "<":
        return "zeroinitializer"
    return "0.0" if type in FLOATS else "false" if type == "i1" else "0"
