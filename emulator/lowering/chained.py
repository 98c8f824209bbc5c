"""Kernels whose lanes move together: registers in LLVM values, waiting lanes in pending masks.

Where `analysis.whole` allows it the function runs a whole block: the code of a gang stands in a loop over the gangs,
round after round from one barrier to the next, and what does not depend on the gang is computed once a block.
"""

from __future__ import annotations

from emulator.analysis.cfg import Block, Graph, is_mbarrier_wait
from emulator.analysis.classify import Classes
from emulator.analysis.flat import FlatKernel
from emulator.analysis.gang import Gang
from emulator.analysis.liveness import Liveness
from emulator.analysis.operands import uses
from emulator.analysis.progress import is_active
from emulator.analysis.together import meeting_blocks
from emulator.analysis.width import ONE_WARP
from emulator.instruments.instrument import Instrument
from emulator.isa.builder import FLOATS
from emulator.lowering import abi
from emulator.lowering.control import ChainControl, Control
from emulator.lowering.kernel import KernelLowering
from emulator.lowering.memory import Mask
from emulator.lowering.memory_instructions import problem_of
from emulator.lowering.registers import Slot
from emulator.syntax.nodes import Instruction, RegisterOperand


class ChainedKernel(KernelLowering):
    def __init__(
        self, flat: FlatKernel, graph: Graph, liveness: Liveness, classes: Classes, gang: Gang,
        instruments: list[Instrument], whole: bool,
    ) -> None:  # fmt: skip
        self.whole = whole
        super().__init__(flat, graph, liveness, classes, gang, instruments)

    def _make_control(self) -> Control:
        ends = (self.graph.blocks[block].terminator for block in self.graph.order)
        self._waits = any(last is not None and is_mbarrier_wait(last) for last in ends)
        classes, sizes = self.classes, set(self.gang.sizes)
        together: frozenset[int] = frozenset()
        if len(sizes) == 1:
            together = meeting_blocks(self.graph, classes.divergent, classes.waiting)
        self._known = dict.fromkeys(together, _first_lanes(min(sizes), self.gang.width))
        return ChainControl(self.emitter, self.graph, classes.waiting, self._known)

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
        known = self._known.get(target)
        kept = saved if known else [*saved, ("%M", f"i{self.gang.width}")]
        if self.whole:
            self.barriers.suspend(kept, "br label %next.gang")
        else:
            self.barriers.wait(last, mask.word)
            field = self.barriers.field("%frame", abi.FRAME_ALIVE)
            self.emitter.emit(f"store i{self.gang.width} {mask.word}, ptr {field}")
            self.barriers.suspend(kept)
        self.registers.begin_block()
        word = known or self.emitter.put(f"load i{self.gang.width}, ptr %M")
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
        slots = self.registers.used_slots.values()
        return [f"  {pointer} = alloca {type}, align {64 if type[0] == '<' else 8}" for pointer, type in slots]

    def _start(self) -> list[str]:
        resets = [
            f"  store {type} {_zero(type)}, ptr {pointer}" for pointer, type in self.registers.used_slots.values()
        ]
        begin = [*self.emitter.gang_prelude, *self.control.resets(), *resets, *self._initial_mask()]
        if self.whole:
            begin = [*self._first_gang(), *begin]
        first = f"label %B{self.graph.order[0]}"
        if not self.barriers.resumes:
            return [*begin, f"  br {first}"]
        cases = " ".join(f"i32 {k + 1}, label %{label}" for k, label in enumerate(self.barriers.resumes))
        if self.whole:
            cases += " i32 -1, label %next.gang"
        return [*begin, "  %state = load i32, ptr %frame", f"  switch i32 %state, {first} [{cases}]"]

    # Of a function that runs a whole block.

    def _names(self) -> dict[str, str]:
        return {"frame": "%frames", "local": "%locals", "gang": "%first.w"} if self.whole else super()._names()

    def _first_gang(self) -> list[str]:
        size, gangs = self.frame_bytes(), self.gang.count
        begin: list[str] = []
        if self.barriers.resumes:
            begin.append("  %living = alloca i32")
            begin.append(f"  store i32 {gangs}, ptr %living")
            for gang in range(gangs):
                begin.append(f"  %state.{gang} = getelementptr i8, ptr %frames, i64 {gang * size + abi.FRAME_STATE}")
                begin.append(f"  store i32 0, ptr %state.{gang}")
        return [
            *begin,
            "  %gang.p = alloca i32",
            "  store i32 0, ptr %gang.p",
            f"  %told.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_GANG}",
            "  br label %gang",
            "gang:",
            "  %w = load i32, ptr %gang.p",
            *self._tell_place(),
            "  %w64 = zext i32 %w to i64",
            f"  %frame.at = mul i64 %w64, {size}",
            "  %frame = getelementptr i8, ptr %frames, i64 %frame.at",
            f"  %local.at = mul i64 %w64, {self.flat.local_bytes * self.gang.width}",
            "  %local = getelementptr i8, ptr %locals, i64 %local.at",
        ]

    def _tell_place(self) -> list[str]:
        """Code that tells the run time, for its reports, which threads the gang has."""
        if not self.gang.by_rows:
            return [f"  %warp = mul i32 %w, {self.gang.width // ONE_WARP}", "  store i32 %warp, ptr %told.p"]
        starts = self.emitter.table("i32", self.gang.starts)
        return [
            f"  %start.p = getelementptr i32, ptr {starts}, i32 %w",
            "  %start = load i32, ptr %start.p",
            "  %warp = lshr i32 %start, 5",
            "  store i32 %warp, ptr %told.p",
            "  %first.lane = and i32 %start, 31",
            f"  %first.lane.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_FIRST_LANE}",
            "  store i32 %first.lane, ptr %first.lane.p",
        ]

    def _end(self) -> list[str]:
        if not self.whole:
            return super()._end()
        done, over = ["done:", "  br label %next.gang"], ["over:", f"  ret i32 {abi.DONE}"]
        if self.barriers.resumes:
            done = [
                "done:",
                "  store i32 -1, ptr %frame",
                "  %lived = load i32, ptr %living",
                "  %live = sub i32 %lived, 1",
                "  store i32 %live, ptr %living",
                "  br label %next.gang",
            ]
            over = [
                "over:",
                "  %left = load i32, ptr %living",
                "  %some = icmp ne i32 %left, 0",
                "  br i1 %some, label %round, label %block.done",
                "round:",
                "  store i32 0, ptr %gang.p",
                "  %flag = load volatile i32, ptr %ctx",
                "  %quiet = icmp eq i32 %flag, 0",
                "  br i1 %quiet, label %gang, label %stopped",
                "block.done:",
                f"  ret i32 {abi.DONE}",
            ]
        return [
            *done,
            "next.gang:",
            "  %w.next = add i32 %w, 1",
            "  store i32 %w.next, ptr %gang.p",
            f"  %more = icmp ult i32 %w.next, {self.gang.count}",
            "  br i1 %more, label %gang, label %over",
            *over,
        ]

    def _initial_mask(self) -> list[str]:
        width, sizes = self.gang.width, self.gang.sizes
        if len(set(sizes)) == 1:
            return [f"  store i{width} {_first_lanes(sizes[0], width)}, ptr %M"]
        masks = self.emitter.table(f"i{width}", [int(_first_lanes(size, width)) for size in sizes])
        return [
            f"  %initial.p = getelementptr i{width}, ptr {masks}, i32 %w",
            f"  %initial = load i{width}, ptr %initial.p",
            f"  store i{width} %initial, ptr %M",
        ]


def _first_lanes(count: int, width: int) -> str:
    """The mask of so many lanes, as a signed number."""
    return str((1 << count) - 1 if count < width else -1)


def _zero(type: str) -> str:
    if type[0] == "<":
        return "zeroinitializer"
    return "0.0" if type in FLOATS else "false" if type == "i1" else "0"
