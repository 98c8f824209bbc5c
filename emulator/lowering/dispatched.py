"""Kernels whose lanes progress independently: registers in the gang's frame, see `dispatch`."""

from __future__ import annotations

from emulator.analysis.cfg import MEETING, Block
from emulator.analysis.operands import uses
from emulator.analysis.progress import is_active
from emulator.lowering import abi
from emulator.lowering.barrier import alignment_of, bytes_of
from emulator.lowering.control import Control
from emulator.lowering.dispatch import DispatchControl
from emulator.lowering.emitter import LIKELY
from emulator.lowering.kernel import KernelLowering
from emulator.lowering.memory import Mask
from emulator.lowering.memory_instructions import problem_of
from emulator.syntax.nodes import Instruction, RegisterOperand


class DispatchedKernel(KernelLowering):
    def _make_control(self) -> Control:
        self.dispatch = DispatchControl(self.emitter, self.graph)
        return self.dispatch

    def _note_activity(self, block: Block) -> None:
        if any(is_active(instruction) for instruction in block.instructions):
            self.mark_changed()

    def suspends(self) -> bool:
        return True

    def frame_bytes(self) -> int:
        return self._layout()[1]

    def _layout(self) -> tuple[dict[str, int], int]:
        """The offset of each slot in the frame, and the frame's size."""
        places: dict[str, int] = {}
        offset = abi.FRAME_DISPATCHED_REGISTERS
        for pointer, type in sorted(self.registers.used_slots.values(), key=lambda s: (-bytes_of(s[1]), s[0])):
            alignment = alignment_of(type)
            offset = (offset + alignment - 1) // alignment * alignment
            places[pointer] = offset
            offset += bytes_of(type)
        return places, (offset + 63) // 64 * 64

    def _slots(self) -> list[str]:
        return [f"  {pointer} = getelementptr i8, ptr %frame, i64 {at}" for pointer, at in self._layout()[0].items()]

    def _start(self) -> list[str]:
        for line in self.dispatch.declarations():
            self.emitter.declare(line)
        return [*self.emitter.gang_prelude, *self.dispatch.entry(self.barriers.uses_cluster, self.dispatch.meets)]

    def _barrier(self, block: Block, last: Instruction, mask: Mask) -> None:
        """The lanes wait, each with the code behind the barrier as its next block; others may go on."""
        (target,) = block.successors
        waiting = mask.word
        if last.guard is not None:
            guard = self.emitter.lanes.splat(self.registers.value(self.registers.read(last.guard.register)))
            holds, fails = self.control.split(guard, mask.word)
            waiting = fails if last.guard.negated else holds
        named = {name for name in uses(last) if name in self.flat.registers}
        self.registers.flush(self.liveness.live_out[block.id] | named, self.classes.blend[block.id], mask.vector)
        self.dispatch.set_next(mask.word, self.graph.position[target])
        self.barriers.wait(last, waiting)
        if "red" in last.modifiers:
            position, label = self.dispatch.new_position()
            self.dispatch.set_next(waiting, position)
            self.emitter.branch("dispatch")
            self._behind_reduction(block, last, target, label)
        else:
            self.emitter.branch("dispatch")

    def _warp_barrier(self, block: Block, last: Instruction, mask: Mask) -> None:
        """Goes on at once where all members are here; else the lanes wait until all of them have come."""
        emitter, lanes, width = self.emitter, self.emitter.lanes, self.gang.width
        (target,) = block.successors
        if MEETING not in last.modifiers:
            self.instructions.observe_warp(last, mask, [])
        waiting = mask.word
        if last.guard is not None:
            guard = lanes.splat(self.registers.value(self.registers.read(last.guard.register)))
            holds, fails = self.control.split(guard, mask.word)
            waiting = fails if last.guard.negated else holds
        members = lanes.splat(self.registers.typed(last.operands[0], "i32"))
        named = {name for name in uses(last) if name in self.flat.registers}
        self.registers.flush(self.liveness.live_out[block.id] | named, self.classes.blend[block.id], mask.vector)
        missing = self.dispatch.missing(members, waiting)
        here, apart = emitter.new_label("met"), emitter.new_label("apart")
        emitter.branch_if(emitter.put(f"icmp eq i{width} {missing}, 0"), here, apart, LIKELY)
        emitter.place(apart)
        self.dispatch.set_next(mask.word, self.graph.position[target])
        self.dispatch.wait_for(members, waiting)
        emitter.branch("dispatch")
        emitter.place(here)
        self.control.edge(block.id, target, mask.word)

    def _mbarrier_wait(self, block: Block, last: Instruction, mask: Mask) -> None:
        raise problem_of(last, "internal: lanes that progress apart wait apart")

    def _behind_reduction(self, block: Block, last: Instruction, target: int, label: str) -> None:
        self.emitter.place(label)
        mask = Mask(self.emitter, self.emitter.put(f"load i{self.gang.width}, ptr %M"))
        self.registers.begin_block()
        result = last.operands[0]
        assert isinstance(result, RegisterOperand)
        self.registers.write_value(result.name, self.barriers.reduced(last))
        self.registers.flush(self.liveness.live_in[target], self.classes.blend[block.id], mask.vector)
        self.control.edge(block.id, target, mask.word)
