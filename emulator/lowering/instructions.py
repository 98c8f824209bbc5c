"""Lowers the straight-line instructions of a block: rows of the table, memory, atomics, and calls of the run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emulator.analysis.flat import LOCAL_TAG, SHARED_TAG
from emulator.analysis.operands import CARRY, destination_count, is_sink, registers_of
from emulator.analysis.rules import evaluate, tag_of
from emulator.analysis.shapes import Shape, uniform
from emulator.isa.form import LLVM_TYPES, Form
from emulator.isa.lanes import Value
from emulator.isa.table import lookup
from emulator.lowering import abi
from emulator.lowering.access import Access, access_of
from emulator.lowering.addresses import Addresses
from emulator.lowering.atomics import AtomicLowering
from emulator.lowering.barrier import BarrierLowering
from emulator.lowering.emitter import Emitter
from emulator.lowering.local import LocalLowering
from emulator.lowering.memory import Mask, MemoryLowering
from emulator.lowering.nans import is_lazy, passes, tolerates
from emulator.lowering.registers import RegisterFile
from emulator.lowering.service import ServiceLowering
from emulator.lowering.sites import SiteTable
from emulator.syntax.nodes import (
    AddressOperand,
    ImmediateOperand,
    Instruction,
    Operand,
    PairOperand,
    Problem,
    RegisterOperand,
    SymbolOperand,
    VectorOperand,
)

# Hints to the hardware, and orderings that hold anyway.
_NO_EFFECT = frozenset({
    "prefetch", "prefetchu", "discard", "applypriority", "nanosleep", "pmevent", "griddepcontrol", "setmaxnreg",
    "brkpt",
})  # fmt: skip


class LoweringProblem(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def problem_of(instruction: Instruction, message: str, help: str | None = None) -> LoweringProblem:
    return LoweringProblem(Problem(message, instruction.line, instruction.location, instruction.form, help))


@dataclass(slots=True)
class Context:
    """What the lowering of one function shares."""

    emitter: Emitter
    registers: RegisterFile
    addresses: Addresses
    barriers: BarrierLowering
    sites: SiteTable
    used: set[str]  # registers that some instruction reads
    raw: set[str]  # registers whose NaNs may not be canonical, see `nans`


class InstructionLowering:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.emitter = context.emitter
        self.lanes = context.emitter.lanes
        self.registers = context.registers
        self.addresses = context.addresses
        self.memory = MemoryLowering(self.emitter, self.registers, self.addresses)
        self.local = LocalLowering(self.emitter, self.addresses, self.memory)
        self.atomics = AtomicLowering(self.emitter, self.addresses, self.memory)
        self.service = ServiceLowering(self.emitter, self.registers, context.sites)
        self._special: dict[str, Callable[[Instruction, Mask], None]] = {
            "ld": self._load, "ldu": self._load, "st": self._store, "atom": self._atomic, "red": self._atomic,
            "copy": self._copy, "cvta": self._cvta, "isspacep": self._isspacep, "cp": self._copy_async,
            "membar": self._fence, "fence": self._fence, "bar": self._warp_barrier, "barrier": self._warp_barrier,
            "trap": self.trap, "call": self._service_call,
        }  # fmt: skip

    def lower(self, instruction: Instruction, mask: Mask) -> None:
        """Emits one instruction under the block's mask. Raises LoweringProblem where it is not supported."""
        handler = self._special.get(instruction.opcode)
        if instruction.opcode not in ("copy", "call", "trap"):
            form = lookup(instruction)
            if isinstance(form, Problem):
                raise LoweringProblem(form)
            if instruction.opcode in _NO_EFFECT:
                return
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

    def _guarded(
        self, instruction: Instruction, mask: Mask, handler: Callable[[Instruction, Mask], None]
    ) -> None:
        """Runs an instruction with effects for the lanes whose guard holds, if there is one."""
        emitter = self.emitter
        guard = self.lanes.splat(self._guard(instruction))
        bits = emitter.put(f"bitcast {guard} to i{emitter.width}")
        word = emitter.put(f"and i{emitter.width} {bits}, {mask.word}")
        names = [name for operand in instruction.operands[: destination_count(instruction)] for name in _names(operand)]
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
            self.registers.write_value(name, self.lanes.select(self._guard(instruction), choice, held[name]))

    # Rows of the table.

    def _row(self, instruction: Instruction, form: Form, mask: Mask) -> None:
        symbolic = None
        careful = not tolerates(instruction, form) and self._has_raw_source(instruction)
        if instruction.guard is None and len(form.destinations) == 1 and not careful:
            symbolic = evaluate(instruction, self.registers.read_operand, self.registers.scalars)
        if symbolic is not None:
            (target,) = _flatten(instruction.operands[:1])
            if not is_sink(target):
                self._write_shape(target, symbolic)
            return
        count = destination_count(instruction)
        sources = _flatten(instruction.operands[count:])
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
            if instruction.guard is not None:
                active = self.lanes.and_(active, self.lanes.splat(self._guard(instruction)))
        self.lanes.lazy_nan = is_lazy(form)
        results = form.lower(self.lanes, values, active)
        self.lanes.lazy_nan = False
        targets = _flatten(instruction.operands[:count])
        if form.destinations[-1:] == ("cc",):
            targets.append(RegisterOperand(CARRY))
        for target, type, result in zip(targets, form.destinations, results, strict=True):
            if not is_sink(target):
                self._write(instruction, target, result, type[0] == "s")

    def _has_raw_source(self, instruction: Instruction) -> bool:
        return any(name in self.context.raw for o in instruction.operands for name in registers_of(o))

    def _raw_source(self, operand: Operand, type: str) -> Value:
        if is_sink(operand):
            return self.lanes.const(type, 0)
        return self.registers.typed(operand, type)

    def _source(self, operand: Operand, type: str) -> Value:
        """A source whose NaNs are the hardware's."""
        if not isinstance(operand, RegisterOperand) or operand.name not in self.context.raw:
            return self._raw_source(operand, type)
        single = self.lanes.canonical(self.registers.typed(operand, "float"))
        return self.registers.convert(single, type)

    def _write_shape(self, target: Operand, shape: Shape) -> None:
        assert isinstance(target, RegisterOperand)
        if self.registers.shape(target.name).type == shape.type:
            self.registers.write(target.name, shape)
        else:
            self.registers.write_value(target.name, self.registers.value(shape))

    def _write(self, instruction: Instruction, target: Operand, value: Value, signed: bool = False) -> None:
        """Writes a result; lanes whose guard is false keep their value."""
        assert isinstance(target, RegisterOperand)
        if instruction.guard is not None:
            type = self.registers.shape(target.name).type
            old = self.registers.value(self.registers.read(target.name))
            value = self.lanes.select(self._guard(instruction), self.registers.convert(value, type, signed), old)
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
            read = self._raw_source if passes(instruction) else self._source
            self.registers.write_value(target.name, read(source, type), instruction.types[-1][0] == "s")

    # Memory.

    def _address(self, instruction: Instruction, position: int, space: str) -> Shape:
        operand = instruction.operands[position]
        if not isinstance(operand, AddressOperand):
            raise problem_of(instruction, f"{instruction.form} needs an address in brackets")
        return self.addresses.shape(operand, space)

    def _load(self, instruction: Instruction, mask: Mask) -> None:
        access = access_of(instruction)
        targets = _flatten(instruction.operands[:1])
        address = instruction.operands[1]
        site = self.context.sites.add(instruction, access.space, "read")
        if len(targets) != access.count:
            raise problem_of(instruction, f"{instruction.form} needs {access.count} destinations")
        if (
            access.space == "param"
            and isinstance(address, AddressOperand)
            and address.base is not None
            and self.registers.special.is_parameter(address.base)
        ):
            values = self._parameter(instruction, access, address.base, address.offset)
        else:
            shape = self._address(instruction, 1, access.space)
            lowering = self.local if access.space == "local" else self.memory
            values = lowering.load(access, shape, mask, site)
        for target, value in zip(targets, values, strict=True):
            if not is_sink(target):
                assert isinstance(target, RegisterOperand)
                self.registers.write_value(target.name, value, access.signed)

    def _parameter(self, instruction: Instruction, access: Access, name: str, offset: int) -> list[Value]:
        special = self.registers.special
        if offset < 0 or offset + access.size > special.parameter_bytes(name):
            raise problem_of(instruction, f"{instruction.form} reads beyond the parameter '{name}'")
        return [
            Value(str(special.parameter(name, offset + part * access.element, access.llvm_type)), access.llvm_type, 0)
            for part in range(access.count)
        ]

    def _store(self, instruction: Instruction, mask: Mask) -> None:
        access = access_of(instruction)
        shape = self._address(instruction, 0, access.space)
        sources = _flatten(instruction.operands[1:2])
        if len(sources) != access.count:
            raise problem_of(instruction, f"{instruction.form} needs {access.count} values")
        values = [self._source(operand, access.llvm_type) for operand in sources]
        site = self.context.sites.add(instruction, access.space, "write")
        lowering = self.local if access.space == "local" else self.memory
        lowering.store(access, shape, values, mask, site)

    def _atomic(self, instruction: Instruction, mask: Mask) -> None:
        form = lookup(instruction)
        assert isinstance(form, Form)
        count = destination_count(instruction)
        access = access_of(instruction)
        shape = self._address(instruction, count, access.space)
        operands = [self._source(operand, access.llvm_type) for operand in instruction.operands[count + 1 :]]
        site = self.context.sites.add(instruction, access.space, "atomic")
        target = instruction.operands[0] if count else None
        used = isinstance(target, RegisterOperand) and target.name in self.context.used
        old = self.atomics.lower(form, access, shape, operands, mask, site, used)
        if old is not None and isinstance(target, RegisterOperand):
            self.registers.write_value(target.name, old, access.signed)

    def _copy_async(self, instruction: Instruction, mask: Mask) -> None:
        """cp.async copies at once: commit and wait groups have nothing left to do."""
        if {"commit_group", "wait_group", "wait_all"} & set(instruction.modifiers):
            return
        operands = instruction.operands
        size = operands[2].value if len(operands) > 2 and isinstance(operands[2], ImmediateOperand) else 0
        if size not in (4, 8, 16):
            raise problem_of(instruction, "cp.async copies 4, 8 or 16 bytes")
        count = size // 4
        source = self._address(instruction, 1, "global")
        target = self._address(instruction, 0, "shared")
        site = self.context.sites.add(instruction, "global", "read")
        values = self.memory.load(Access("global", "b32", count, False), source, mask, site)
        if len(operands) > 3:
            values = self._zero_filled(operands[3], values)
        site = self.context.sites.add(instruction, "shared", "write")
        self.memory.store(Access("shared", "b32", count, False), target, values, mask, site)

    def _zero_filled(self, operand: Operand, words: list[Value]) -> list[Value]:
        """Bytes from the source size on are 0."""
        lanes = self.lanes
        given = self.registers.typed(operand, "i32")
        filled: list[Value] = []
        for index, word in enumerate(words):
            beyond = lanes.smax(lanes.sub(given, lanes.const("i32", 4 * index)), lanes.const("i32", 0))
            bytes_here = lanes.smin(beyond, lanes.const("i32", 4))
            bits = lanes.binary("shl", lanes.cast(bytes_here, "zext", "i64"), lanes.const("i64", 3))
            keep = lanes.sub(lanes.binary("shl", lanes.const("i64", 1), bits), lanes.const("i64", 1))
            filled.append(lanes.and_(word, lanes.cast(keep, "trunc", "i32")))
        return filled

    def _cvta(self, instruction: Instruction, mask: Mask) -> None:
        symbolic = evaluate(instruction, self.registers.read_operand, self.registers.scalars)
        target = instruction.operands[0]
        if symbolic is None:
            value = self.registers.typed(instruction.operands[1], "i64")
            tag = tag_of(instruction)
            value = self.lanes.add(value, self.lanes.const("i64", -tag if "to" in instruction.modifiers else tag))
            symbolic = self.registers.shape_of(value)
        self._write_shape(target, symbolic)

    def _isspacep(self, instruction: Instruction, mask: Mask) -> None:
        target, source = instruction.operands
        tags = self.lanes.lshr(self.registers.typed(source, "i64"), self.lanes.const("i64", 56))
        space = instruction.modifiers[0].split("::")[0]
        wanted = {"shared": SHARED_TAG >> 56, "local": LOCAL_TAG >> 56}.get(space, 0)
        found = self.lanes.icmp("eq", tags, self.lanes.const("i64", wanted))
        if space in ("const", "param"):
            found = self.lanes.and_(found, self.lanes.const("i1", 0))
        assert isinstance(target, RegisterOperand)
        self.registers.write_value(target.name, found)

    # Everything else.

    def _fence(self, instruction: Instruction, mask: Mask) -> None:
        self.emitter.emit("fence seq_cst")

    def _warp_barrier(self, instruction: Instruction, mask: Mask) -> None:
        """The lanes of a gang are together already; bar.arrive only counts."""
        if "arrive" in instruction.modifiers:
            self.context.barriers.arrive(instruction, mask.word)

    def trap(self, instruction: Instruction, mask: Mask) -> None:
        kind = abi.BAD_CALLEE if "callee" in instruction.modifiers else abi.TRAP
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


def _flatten(operands: tuple[Operand, ...]) -> list[Operand]:
    found: list[Operand] = []
    for operand in operands:
        if isinstance(operand, VectorOperand):
            found += operand.elements
        elif isinstance(operand, PairOperand):
            found += [operand.first, operand.second]
        else:
            found.append(operand)
    return found


def _names(operand: Operand) -> list[str]:
    return [o.name for o in _flatten((operand,)) if isinstance(o, RegisterOperand)]


__all__ = ["Context", "InstructionLowering", "LoweringProblem", "SymbolOperand", "problem_of", "uniform"]
