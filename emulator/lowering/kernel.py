"""Lowers a flat kernel to one LLVM function that runs a gang to its end or to its next suspension."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from emulator.analysis.cfg import Block, Graph, is_block_barrier, is_mbarrier_wait, is_warp_barrier
from emulator.analysis.classify import Classes
from emulator.analysis.flat import SHARED_TAG, FlatKernel
from emulator.analysis.gang import Gang
from emulator.analysis.liveness import Liveness
from emulator.analysis.operands import uses
from emulator.analysis.rules import tag_of
from emulator.instruments.instrument import Instrument, Probe
from emulator.isa.lanes import Value
from emulator.isa.table import lookup
from emulator.lowering import abi
from emulator.lowering.addresses import Addresses
from emulator.lowering.barrier import BarrierLowering
from emulator.lowering.control import Control
from emulator.lowering.emitter import Emitter
from emulator.lowering.instructions import InstructionLowering
from emulator.lowering.memory import Mask
from emulator.lowering.memory_instructions import Context, LoweringProblem
from emulator.lowering.nans import raw_registers
from emulator.lowering.registers import RegisterFile
from emulator.lowering.sites import Site, SiteTable
from emulator.lowering.special import SpecialRegisters
from emulator.syntax.nodes import Instruction, Problem

_METADATA = '!0 = !{!"branch_weights", i32 100000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 100000}\n!2 = !{}\n'
# What the support library provides; see `runtime.support`.
_SUPPORT = """
declare i1 @slow_load(ptr, ptr, i32, ptr, i64, i32, i32, i32, ptr, ptr)
declare i1 @slow_store(ptr, ptr, i32, ptr, i64, i32, i32, i32, ptr, ptr)
declare i1 @resolve(ptr, ptr, i32, ptr, i64, i32, i32, i32, ptr, ptr)
declare ptr @resolve_one(ptr, ptr, i32, i64, i64, i32, i32, i32, i32)
declare void @fault(ptr, ptr, i32, i32, i32)
"""


# Generic addresses and those of the cluster may mean the block's own shared memory too.
_SIGNATURE = (
    "define i32 @kernel(ptr noalias %ctx, ptr noalias %tls, ptr {alias}%shared, ptr noalias {frame}, "
    "ptr noalias {local}, i32 {gang}, i32 %bx, i32 %by, i32 %bz) nounwind {{"
)


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """`ir` defines `kernel`; `frame_bytes` is of one of the `gangs` of a block.

    `whole`: a call runs all gangs of a block to their end.
    """

    ir: str
    sites: list[Site]
    frame_bytes: int
    suspends: bool
    whole: bool
    gangs: int


class KernelLowering(ABC):
    whole = False

    def __init__(
        self, flat: FlatKernel, graph: Graph, liveness: Liveness, classes: Classes, gang: Gang,
        instruments: list[Instrument],
    ) -> None:  # fmt: skip
        self.flat = flat
        self.graph = graph
        self.liveness = liveness
        self.classes = classes
        self.gang = gang
        self.emitter = Emitter(gang.width)
        self.special = SpecialRegisters(self.emitter, flat, gang)
        self.registers = RegisterFile(self.emitter, flat, classes, gang, self.special)
        self.addresses = Addresses(
            self.emitter, self.registers, None if flat.dynamic else flat.shared_bytes, flat.local_bytes
        )
        self.barriers = BarrierLowering(
            self.emitter, self.registers, abi.FRAME_WHOLE_REGISTERS if self.whole else abi.FRAME_REGISTERS
        )
        self.control = self._make_control()
        self.sites = SiteTable()
        self.problems: list[Problem] = []
        items = [item for block in graph.order for item in _items(graph.blocks[block])]
        used = {name for item in items for name in uses(item)}
        raw = raw_registers(items)
        self.instruments = instruments
        context = Context(
            self.emitter, self.registers, self.addresses, self.barriers, self.sites, used, raw, instruments,
            lambda: self.control.others(self.current), lambda: self.control,
        )  # fmt: skip
        self.current = 0
        self.instructions = InstructionLowering(context)

    def run(self) -> LoweredKernel:
        """The function's text. Problems are left in `problems`; the text is of no use where there are any."""
        for number in self.graph.order:
            self._block(self.graph.blocks[number])
        text = self._assemble()
        return LoweredKernel(text, self.sites.sites, self.frame_bytes(), self.suspends(), self.whole, self.gang.count)

    # What chained and dispatched kernels do differently.

    @abstractmethod
    def _make_control(self) -> Control: ...

    @abstractmethod
    def _barrier(self, block: Block, last: Instruction, mask: Mask) -> None:
        """A barrier of the block at the end of a block of code."""

    @abstractmethod
    def _warp_barrier(self, block: Block, last: Instruction, mask: Mask) -> None:
        """A barrier of the warp at the end of a block of code."""

    @abstractmethod
    def _mbarrier_wait(self, block: Block, last: Instruction, mask: Mask) -> None:
        """A wait at an mbarrier at the end of a block of code."""

    @abstractmethod
    def _slots(self) -> list[str]:
        """Code that makes the pointers of the register slots."""

    @abstractmethod
    def _start(self) -> list[str]:
        """Code behind the prelude, up to the first block."""

    def _names(self) -> dict[str, str]:
        """What the function calls its parameters."""
        return {"frame": "%frame", "local": "%local", "gang": "%w"}

    def _end(self) -> list[str]:
        """Where a gang comes that is done."""
        return ["done:", f"  ret i32 {abi.DONE}"]

    @abstractmethod
    def frame_bytes(self) -> int:
        """Bytes of a gang's frame."""

    @abstractmethod
    def suspends(self) -> bool:
        """Whether gangs may return before they are done."""

    @abstractmethod
    def _note_activity(self, block: Block) -> None:
        """Code that tells the scheduler of what a block of code may change, where gangs can spin."""

    def mark_changed(self) -> None:
        place = self.emitter.put(f"getelementptr i8, ptr %tls, i64 {abi.WORKER_ACTIVITY}")
        self.emitter.emit(f"store i32 {abi.CHANGED}, ptr {place}")

    def _block(self, block: Block) -> None:
        mask = Mask(self.emitter, self.control.enter(block.id))
        self.current = block.id
        for instrument in self.instruments:
            instrument.on_block(Probe(self.emitter, mask), _items(block))
        self._note_activity(block)
        self.registers.begin_block()
        self.instructions.groups.begin_block(block.instructions)
        for instruction in block.instructions:
            self._attempt(partial(self.instructions.lower, instruction, mask))
        last = block.terminator
        if last is None:
            self._flush(block, mask)
            self.control.jump(block, mask.word)
        else:
            self._attempt(partial(self._terminator, block, last, mask))

    def _attempt(self, step: Callable[[], None]) -> None:
        """Collects the problem of an instruction, so that all are reported at once."""
        try:
            step()
        except LoweringProblem as problem:
            self.problems.append(problem.problem)

    def _flush(self, block: Block, mask: Mask) -> None:
        self.registers.flush(self.liveness.live_out[block.id], self.classes.blend[block.id], mask.vector)

    # Terminators.

    def _terminator(self, block: Block, last: Instruction, mask: Mask) -> None:
        if last.opcode == "trap":
            self.instructions.trap(last, mask)
            self.emitter.emit("unreachable")
            return
        if is_warp_barrier(last):
            self._warp_barrier(block, last, mask)
            return
        if is_mbarrier_wait(last):
            self._mbarrier_wait(block, last, mask)
            return
        problem = lookup(last)
        if isinstance(problem, Problem):
            raise LoweringProblem(problem)
        if is_block_barrier(last):
            for instrument in self.instruments:
                site = self.sites.add(last, "generic", "read")
                others = self.control.others(block.id)
                instrument.on_barrier(Probe(self.emitter, mask), last, others, site)
            self._barrier(block, last, mask)
            return
        guard: Value | None = None
        if last.guard is not None:
            guard = self.registers.value(self.registers.read(last.guard.register))
            if last.guard.negated:
                guard = self.emitter.lanes.not_(guard)
        if last.opcode == "brx":
            self._switch(block, last, mask)
            return
        if last.opcode == "bra":
            self._observe_branch(guard, mask)
        self._flush(block, mask)
        if last.opcode in ("ret", "exit"):
            self._exit(block, guard, mask)
        elif guard is None or len(block.successors) == 1:
            self.control.jump(block, mask.word)
        elif guard.lanes == 0:
            self.control.branch_uniform(block, guard, mask.word)
        else:
            self.control.branch_divergent(block, guard, mask.word)

    def _observe_branch(self, guard: Value | None, mask: Mask) -> None:
        for instrument in self.instruments:
            taken = None if guard is None or not guard.lanes else self.control.split(guard, mask.word)[0]
            instrument.on_branch(Probe(self.emitter, mask), taken)

    def _exit(self, block: Block, guard: Value | None, mask: Mask) -> None:
        if guard is None:
            self.control.finish(block.id)
            return
        leaving, staying = self.control.split(self.emitter.lanes.splat(guard), mask.word)
        self.control.exit_some(block, leaving, staying)

    def _switch(self, block: Block, last: Instruction, mask: Mask) -> None:
        index = self.registers.typed(last.operands[0], "i32")
        if index.lanes == 0:
            self._flush(block, mask)
            self.control.switch_uniform(block, index, mask.word)
            return
        masks: list[str] = []
        for number in range(len(block.successors)):
            chosen = self.emitter.lanes.icmp("eq", index, self.emitter.lanes.const("i32", number))
            masks.append(self.control.split(chosen, mask.word)[0])
        self._flush(block, mask)
        self.control.switch_divergent(block, masks)

    def _aliases_shared(self) -> bool:
        """Whether the kernel makes addresses of shared memory that are no plain offsets."""
        return any(
            item.opcode == "mapa"
            or (item.opcode == "cvta" and "to" not in item.modifiers and tag_of(item) == SHARED_TAG)
            for block in self.graph.order
            for item in _items(self.graph.blocks[block])
        )

    def _assemble(self) -> str:
        emitter = self.emitter
        start = self._start()
        head = [
            "entry:", *emitter.allocas, *self.control.allocas(), *self._slots(),
            f"  %sites.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_SITES}",
            "  %sites = load ptr, ptr %sites.p",
            f"  %counters.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_COUNTERS}",
            "  %counters = load ptr, ptr %counters.p",
            *emitter.prelude, *start,
        ]  # fmt: skip
        tail = [
            *self._end(),
            "stopped:", f"  ret i32 {abi.STOPPED}",
            "faulted:", f"  ret i32 {abi.FAULTED}",
        ]  # fmt: skip
        for instrument in self.instruments:
            for declaration in instrument.symbols.values():
                emitter.declare(declaration)
        lines = [
            *self.special.tables,
            *(f"{name} = private constant {body}" for body, name in emitter.constants.items()),
            _SIGNATURE.format(alias="" if self._aliases_shared() else "noalias ", **self._names()),
            *head, *emitter.body, *tail, "}",
            *emitter.declarations, _SUPPORT, _METADATA,
        ]  # fmt: skip
        return "\n".join(lines)


def _items(block: Block) -> list[Instruction]:
    return [*block.instructions, *([block.terminator] if block.terminator else [])]
