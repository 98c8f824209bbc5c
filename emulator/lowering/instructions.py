"""Lowers the straight-line instructions of a block: rows of the table, memory, atomics, and calls of the run time."""

from __future__ import annotations

from collections.abc import Callable

from emulator.analysis.operands import CARRY, definitions, destination_count, is_sink
from emulator.analysis.rules import evaluate
from emulator.instruments.instrument import Probe
from emulator.isa.form import LLVM_TYPES, Form
from emulator.isa.lanes import Value
from emulator.isa.table import lookup
from emulator.lowering import abi
from emulator.lowering.asynchronous import AsyncInstructions, is_asynchronous
from emulator.lowering.matrix import is_matrix_access
from emulator.lowering.memory import Mask
from emulator.lowering.memory_instructions import (
    Context,
    LoweringProblem,
    flatten,
    names_of,
    problem_of,
)
from emulator.lowering.nans import is_lazy, passes, tolerates
from emulator.lowering.service import ServiceLowering
from emulator.syntax.nodes import (
    Instruction,
    Operand,
    Problem,
    RegisterOperand,
)

# Hints to the hardware, and orderings that hold anyway.
_NO_EFFECT = frozenset({
    "prefetch", "prefetchu", "discard", "applypriority", "nanosleep", "pmevent", "griddepcontrol", "setmaxnreg",
    "brkpt",
})  # fmt: skip
# Traps that this package itself puts into a kernel.
_TRAPS = {"callee": abi.BAD_CALLEE, "stack": abi.STACK_OVERFLOW, "beyond": abi.BEYOND_STACK}


class InstructionLowering(AsyncInstructions):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.service = ServiceLowering(self.emitter, self.registers, context.sites)
        self._special: dict[str, Callable[[Instruction, Mask], None]] = {
            "ld": self._load, "ldu": self._load, "st": self._store, "atom": self._atomic, "red": self._atomic,
            "copy": self._copy, "cvta": self._cvta, "isspacep": self._isspacep,
            "membar": self._fence, "fence": self._fence, "bar": self._warp_barrier, "barrier": self._warp_barrier,
            "trap": self.trap, "call": self._service_call, "mapa": self._mapa, "getctarank": self._rank_of,
        }  # fmt: skip

    def lower(self, instruction: Instruction, mask: Mask) -> None:
        """Emits one instruction under the block's mask. Raises LoweringProblem where it is not supported."""
        handler = self._special.get(instruction.opcode)
        if is_matrix_access(instruction):
            handler = self._matrix
        if instruction.opcode not in ("copy", "call", "trap"):
            form = lookup(instruction)
            if isinstance(form, Problem):
                raise LoweringProblem(form)
            if instruction.opcode == "nanosleep":
                self.context.control().tire()
            if instruction.opcode in _NO_EFFECT:
                return
            if is_asynchronous(instruction):
                handler = self.asynchronous
            if handler is None:
                self._row(instruction, form, mask)
                return
        assert handler is not None
        if instruction.guard is None:
            handler(instruction, mask)
        else:
            self._guarded(instruction, mask, handler)

    # Guards.

    def _guard(self, instruction: Instruction) -> Value:
        assert instruction.guard is not None
        value = self.registers.value(self.registers.read(instruction.guard.register))
        return self.lanes.not_(value) if instruction.guard.negated else value

    def _guarded(self, instruction: Instruction, mask: Mask, handler: Callable[[Instruction, Mask], None]) -> None:
        """Runs an instruction with effects for the lanes whose guard holds, if there is one."""
        emitter = self.emitter
        guard = self._guard(instruction)
        bits = emitter.put(f"bitcast {self.lanes.splat(guard)} to i{emitter.width}")
        word = emitter.put(f"and i{emitter.width} {bits}, {mask.word}")
        targets = instruction.operands[: destination_count(instruction)]
        names = [name for target in targets for name in names_of(target)]
        old = {name: self.registers.read(name) for name in names}
        some, after = emitter.new_label("guarded"), emitter.new_label("unguarded")
        start = emitter.label
        emitter.branch_if(emitter.put(f"icmp ne i{emitter.width} {word}, 0"), some, after)
        emitter.place(some)
        handler(instruction, Mask(emitter, word))
        new = {name: self.registers.value(self.registers.read(name)) for name in names}
        held = {name: self.registers.value(old[name]) for name in names}
        vectors = {name: new[name].lanes > 0 or held[name].lanes > 0 for name in names}
        ready = {name: self.lanes.splat(new[name]) if vectors[name] else new[name] for name in names}
        end = emitter.label
        emitter.branch(after)
        emitter.place(after)
        for name in names:
            value = ready[name]
            joined = emitter.phi(value.llvm_type, (value.text, end), ("zeroinitializer", start))
            choice = Value(joined, value.type, value.lanes)
            self.registers.write_value(name, self.lanes.select(guard, choice, held[name]))

    # Rows of the table.

    def _row(self, instruction: Instruction, form: Form, mask: Mask) -> None:
        symbolic = None
        careful = not tolerates(instruction, form, self.context.raw) and self._has_raw_source(instruction)
        if instruction.guard is None and len(form.destinations) == 1 and not careful:
            symbolic = evaluate(instruction, self.registers.read_operand, self.registers.scalars)
        if symbolic is not None:
            (target,) = flatten(instruction.operands[:1])
            if not is_sink(target):
                self._write_shape(target, symbolic)
            return
        count = destination_count(instruction)
        sources = flatten(instruction.operands[count:])
        types = [LLVM_TYPES[t] for t in form.sources]
        if form.sources[-1:] == ("cc",):
            sources.append(RegisterOperand(CARRY))
        if len(sources) != len(types):
            raise problem_of(instruction, f"{instruction.form} has a wrong number of operands")
        read = self._source if careful else self._raw_source
        values = [read(operand, type) for operand, type in zip(sources, types, strict=True)]
        active = None
        if form.kind == "warp":
            active = mask.vector
            self.observe_warp(instruction, mask, values)
            if instruction.guard is not None:
                active = self.lanes.and_(active, self.lanes.splat(self._guard(instruction)))
        self.lanes.lazy_nan = is_lazy(form) and self.context.raw.issuperset(definitions(instruction))
        results = form.lower(self.lanes, values, active)
        self.lanes.lazy_nan = False
        targets = flatten(instruction.operands[:count])
        if form.destinations[-1:] == ("cc",):
            targets.append(RegisterOperand(CARRY))
        # The guard may be among the destinations: it is what it was for all of them.
        guard = None if instruction.guard is None else self._guard(instruction)
        for target, type, result in zip(targets, form.destinations, results, strict=True):
            if not is_sink(target):
                self._write(guard, target, result, type[0] == "s")

    def _write(self, guard: Value | None, target: Operand, value: Value, signed: bool = False) -> None:
        """Writes a result; lanes whose guard is false keep their value."""
        assert isinstance(target, RegisterOperand)
        if guard is not None:
            type = self.registers.shape(target.name).type
            old = self.registers.value(self.registers.read(target.name))
            value = self.lanes.select(guard, self.registers.convert(value, type, signed), old)
        self.registers.write_value(target.name, value, signed)

    def _copy(self, instruction: Instruction, mask: Mask) -> None:
        """A move between registers of any width, made from parameters of calls."""
        target, source = instruction.operands
        if is_sink(target):
            return
        type = LLVM_TYPES[instruction.types[-1]]
        assert isinstance(target, RegisterOperand)
        symbolic = evaluate(instruction, self.registers.read_operand, self.registers.scalars)
        if symbolic is not None:
            self._write_shape(target, symbolic)
        else:
            read = self._raw_source if self._hands_on(instruction) else self._source
            self.registers.write_value(target.name, read(source, type), instruction.types[-1][0] == "s")

    def _hands_on(self, instruction: Instruction) -> bool:
        """Whether a move may pass a raw NaN on."""
        return passes(instruction) and self.context.raw.issuperset(definitions(instruction))

    # Everything else.

    def _fence(self, instruction: Instruction, mask: Mask) -> None:
        self.emitter.emit("fence seq_cst")

    def _warp_barrier(self, instruction: Instruction, mask: Mask) -> None:
        """The lanes of a gang are together already; bar.arrive only counts."""
        if "arrive" in instruction.modifiers:
            self.context.barriers.arrive(instruction, mask.word)
        else:
            self.observe_warp(instruction, mask, [self._source(o, "i32") for o in instruction.operands])

    def observe_warp(self, instruction: Instruction, mask: Mask, values: list[Value]) -> None:
        """Tells instruments of an instruction of the warp; its member mask is its last source, if it has one."""
        if not self.context.instruments:
            return
        site = self.context.sites.add(instruction, "generic", "read")
        has_members = "sync" in instruction.modifiers and "aligned" not in instruction.modifiers
        members = values[-1] if has_members and values else None
        for instrument in self.context.instruments:
            instrument.on_warp(Probe(self.emitter, mask), instruction, members, self.context.others(), site)

    def trap(self, instruction: Instruction, mask: Mask) -> None:
        kind = _TRAPS.get("".join(instruction.modifiers[:1]), abi.TRAP)
        site = self.context.sites.add(instruction, "generic", "read")
        self.emitter.emit(
            f"call void @fault(ptr %ctx, ptr %tls, i32 {kind}, i32 {site}, i{self.emitter.width} {mask.word})"
        )
        self.emitter.branch("faulted")
        self.emitter.place(self.emitter.new_label("unreachable"))

    def _service_call(self, instruction: Instruction, mask: Mask) -> None:
        assert instruction.call is not None
        result = self.service.call(instruction, mask)
        for name in instruction.call.results:
            if result is not None:
                self.registers.write_value(name, result)
