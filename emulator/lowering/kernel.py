"""Lowers a flat kernel to one LLVM function that runs a gang to its end or to its next suspension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from emulator.analysis.cfg import Block, Graph, is_block_barrier
from emulator.analysis.classify import Classes
from emulator.analysis.flat import FlatKernel
from emulator.analysis.gang import Gang
from emulator.analysis.liveness import Liveness
from emulator.analysis.operands import registers_of, uses
from emulator.isa.builder import FLOATS
from emulator.isa.lanes import Value
from emulator.isa.table import lookup
from emulator.lowering import abi
from emulator.lowering.addresses import Addresses
from emulator.lowering.barrier import BarrierLowering
from emulator.lowering.control import ChainControl
from emulator.lowering.emitter import Emitter
from emulator.lowering.instructions import Context, InstructionLowering, LoweringProblem, problem_of
from emulator.lowering.memory import Mask
from emulator.lowering.nans import raw_registers
from emulator.lowering.registers import RegisterFile, Slot
from emulator.lowering.sites import Site, SiteTable
from emulator.lowering.special import SPECIAL_REGISTERS, SpecialRegisters
from emulator.syntax.nodes import Instruction, Problem, RegisterOperand

_METADATA = '!0 = !{!"branch_weights", i32 100000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 100000}\n!2 = !{}\n'
# What the support library provides; see `runtime.support`.
_SUPPORT = """
declare i1 @slow_load(ptr, ptr, i32, ptr, i32, i32, i32, i32, ptr)
declare i1 @slow_store(ptr, ptr, i32, ptr, i32, i32, i32, i32, ptr)
declare i1 @resolve(ptr, ptr, i32, ptr, i32, i32, i32, i32, ptr)
declare ptr @resolve_one(ptr, ptr, i32, i64, i32, i32, i32, i32)
declare void @fault(ptr, ptr, i32, i32, i32)
"""


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """`ir` defines `kernel`; `frame_bytes` is of one gang."""

    ir: str
    sites: list[Site]
    frame_bytes: int
    suspends: bool


class KernelLowering:
    def __init__(
        self, flat: FlatKernel, graph: Graph, liveness: Liveness, classes: Classes, gang: Gang, has_dynamic: bool
    ) -> None:
        self.flat = flat
        self.graph = graph
        self.liveness = liveness
        self.classes = classes
        self.gang = gang
        self.emitter = Emitter(gang.width)
        self.special = SpecialRegisters(self.emitter, flat, gang)
        self.registers = RegisterFile(self.emitter, flat, classes, gang, self.special)
        self.addresses = Addresses(
            self.emitter, self.registers, None if has_dynamic else flat.shared_bytes, flat.local_bytes
        )
        self.barriers = BarrierLowering(self.emitter, self.registers)
        self.control = ChainControl(self.emitter, graph, classes.waiting)
        self.sites = SiteTable()
        self.problems: list[Problem] = []
        items = [item for block in graph.order for item in _items(graph.blocks[block])]
        used = {name for item in items for name in uses(item)}
        raw = raw_registers(items)
        context = Context(self.emitter, self.registers, self.addresses, self.barriers, self.sites, used, raw)
        self.instructions = InstructionLowering(context)

    def run(self) -> LoweredKernel:
        """The function's text. Problems are left in `problems`; the text is of no use where there are any."""
        for number in self.graph.order:
            self._block(self.graph.blocks[number])
        return LoweredKernel(self._assemble(), self.sites.sites, self.barriers.frame_bytes, bool(self.barriers.resumes))

    def _block(self, block: Block) -> None:
        mask = Mask(self.emitter, self.control.enter(block.id))
        self.registers.begin_block()
        for instruction in block.instructions:
            self._attempt(partial(self._instruction, instruction, mask))
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

    def _instruction(self, instruction: Instruction, mask: Mask) -> None:
        self._check_registers(instruction)
        self.instructions.lower(instruction, mask)

    def _check_registers(self, instruction: Instruction) -> None:
        for operand in instruction.operands:
            for name in registers_of(operand):
                if name not in self.flat.registers and name not in SPECIAL_REGISTERS:
                    raise problem_of(instruction, f"the register {name} is not declared or not supported")
        if instruction.guard is not None and instruction.guard.register not in self.flat.registers:
            raise problem_of(instruction, f"the register {instruction.guard.register} is not declared")

    def _flush(self, block: Block, mask: Mask) -> None:
        self.registers.flush(self.liveness.live_out[block.id], self.classes.blend[block.id], mask.vector)

    # Terminators.

    def _terminator(self, block: Block, last: Instruction, mask: Mask) -> None:
        self._check_registers(last)
        if last.opcode == "trap":
            self.instructions.trap(last, mask)
            self.emitter.emit("unreachable")
            return
        problem = lookup(last)
        if isinstance(problem, Problem):
            raise LoweringProblem(problem)
        if is_block_barrier(last):
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
        self._flush(block, mask)
        if last.opcode in ("ret", "exit"):
            self._exit(block, guard, mask)
        elif guard is None or len(block.successors) == 1:
            self.control.jump(block, mask.word)
        elif guard.lanes == 0:
            self.control.branch_uniform(block, guard, mask.word)
        else:
            self.control.branch_divergent(block, guard, mask.word)

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

    def _barrier(self, block: Block, last: Instruction, mask: Mask) -> None:
        if self.classes.waiting[block.id]:
            raise problem_of(last, "a barrier that only some lanes of a warp reach is not supported")
        if last.guard is not None:
            raise problem_of(last, "a barrier under a predicate is not supported")
        (target,) = block.successors
        named = {name for name in uses(last) if name in self.flat.registers}
        names = self.liveness.live_in[target] | named
        self.registers.flush(self.liveness.live_out[block.id] | named, self.classes.blend[block.id], mask.vector)
        saved: list[Slot] = [slot for name in sorted(names) for _, slot in self.registers.slots(name)]
        self.barriers.wait(last, mask.word, [*saved, ("%M", f"i{self.gang.width}")])
        self.registers.begin_block()
        word = self.emitter.put(f"load i{self.gang.width}, ptr %M")
        if "red" in last.modifiers:
            result = last.operands[0]
            assert isinstance(result, RegisterOperand)
            self.registers.write_value(result.name, self.barriers.reduced(last))
            self.registers.flush(self.liveness.live_in[target], set(), None)
        self.control.edge(block.id, target, word)

    # The function.

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

    def _assemble(self) -> str:
        emitter = self.emitter
        head = ["entry:", *emitter.allocas, *self.control.allocas()]
        for pointer, type in self.registers.used_slots.values():
            head.append(f"  {pointer} = alloca {type}, align {_alignment(type)}")
            head.append(f"  store {type} {_zero(type)}, ptr {pointer}")
        head += [
            f"  %sites.p = getelementptr i8, ptr %tls, i64 {abi.WORKER_SITES}",
            "  %sites = load ptr, ptr %sites.p",
            *emitter.prelude,
            *self._initial_mask(),
        ]
        first = f"label %B{self.graph.order[0]}"
        if self.barriers.resumes:
            cases = " ".join(f"i32 {k + 1}, label %{label}" for k, label in enumerate(self.barriers.resumes))
            head += ["  %state = load i32, ptr %frame", f"  switch i32 %state, {first} [{cases}]"]
        else:
            head.append(f"  br {first}")
        tail = [
            "done:", f"  ret i32 {abi.DONE}",
            "stopped:", f"  ret i32 {abi.STOPPED}",
            "faulted:", f"  ret i32 {abi.FAULTED}",
        ]  # fmt: skip
        signature = (
            "define i32 @kernel(ptr noalias %ctx, ptr noalias %tls, ptr noalias %shared, ptr noalias %frame, "
            "ptr noalias %local, i32 %w, i32 %bx, i32 %by, i32 %bz) nounwind {"
        )
        lines = [
            *self.special.tables, signature, *head, *emitter.body, *tail, "}",
            *emitter.declarations, _SUPPORT, _METADATA,
        ]  # fmt: skip
        return "\n".join(lines)


def _items(block: Block) -> list[Instruction]:
    return [*block.instructions, *([block.terminator] if block.terminator else [])]


def _alignment(type: str) -> int:
    return 64 if type[0] == "<" else 8


def _zero(type: str) -> str:
    if type[0] == "<":
        return "zeroinitializer"
    return "0.0" if type in FLOATS else "false" if type == "i1" else "0"
