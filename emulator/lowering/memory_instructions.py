"""Lowers instructions that touch memory or make addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from emulator.analysis.flat import LOCAL_TAG, SHARED_TAG
from emulator.analysis.operands import destination_count, is_sink, registers_of
from emulator.analysis.rules import evaluate, tag_of
from emulator.analysis.shapes import Shape
from emulator.instruments.instrument import AccessKind, Instrument, Probe
from emulator.isa.form import Form
from emulator.isa.lanes import Value
from emulator.isa.table import lookup
from emulator.lowering import abi
from emulator.lowering.access import Access, access_of, space_of
from emulator.lowering.addresses import Addresses
from emulator.lowering.atomics import AtomicLowering
from emulator.lowering.barrier import BarrierLowering
from emulator.lowering.control import Control
from emulator.lowering.emitter import LIKELY, Emitter
from emulator.lowering.groups import Groups
from emulator.lowering.local import LocalLowering
from emulator.lowering.matrix import MatrixLowering, fragment_registers
from emulator.lowering.matrix_rows import MatrixRowLowering
from emulator.lowering.memory import Bound, Mask, MemoryLowering
from emulator.lowering.registers import RegisterFile
from emulator.lowering.sites import SiteTable
from emulator.syntax.nodes import (
    AddressOperand,
    Instruction,
    Operand,
    PairOperand,
    Problem,
    RegisterOperand,
    VectorOperand,
)


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
    raw: set[str]  # registers whose NaNs are not canonical yet, see `nans`
    instruments: list[Instrument]
    others: Callable[[], str | None]  # mask of the gang's lanes that wait elsewhere
    control: Callable[[], Control]


def flatten(operands: tuple[Operand, ...]) -> list[Operand]:
    found: list[Operand] = []
    for operand in operands:
        if isinstance(operand, VectorOperand):
            found += operand.elements
        elif isinstance(operand, PairOperand):
            found += [operand.first, operand.second]
        else:
            found.append(operand)
    return found


def names_of(operand: Operand) -> list[str]:
    return [o.name for o in flatten((operand,)) if isinstance(o, RegisterOperand)]


def without_policy(instruction: Instruction) -> tuple[Operand, ...]:
    """The operands without the cache policy that stands last where the form has a hint."""
    return instruction.operands[:-1] if "L2::cache_hint" in instruction.modifiers else instruction.operands


class MemoryInstructions:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.emitter = context.emitter
        self.lanes = context.emitter.lanes
        self.registers = context.registers
        self.addresses = context.addresses
        self.groups = Groups()
        self.memory = MemoryLowering(self.emitter, self.registers, self.addresses)
        self.local = LocalLowering(self.emitter, self.addresses, self.memory)
        self.matrices = MatrixLowering(self.emitter, self.addresses)
        self.matrix_rows = MatrixRowLowering(self.emitter, self.addresses, self.memory)
        self.atomics = AtomicLowering(self.emitter, self.addresses, self.memory, self._changed_shared)

    # Sources and destinations.

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

    # What the scheduler learns about gangs that spin.

    def _changed_shared(self, old: Value, new: Value) -> None:
        self.context.control().note_change(old, new)

    def _may_wait(self, access: Access, site: int, mask: Mask) -> None:
        """A flag or a lock in shared memory was looked at."""
        if access.space == "shared":
            self.context.control().note_wait(site, mask.word)

    # Memory.

    def _address(self, instruction: Instruction, position: int, space: str) -> Shape:
        operand = instruction.operands[position]
        if not isinstance(operand, AddressOperand):
            raise problem_of(instruction, f"{instruction.form} needs an address in brackets")
        return self.addresses.shape(operand, space)

    def _observe(
        self, kind: AccessKind, access: Access, shape: Shape, mask: Mask, site: int, values: Sequence[Value] = ()
    ) -> None:
        for instrument in self.context.instruments:
            addresses = self.addresses.vector(shape)
            instrument.on_access(Probe(self.emitter, mask), kind, access, addresses, values, site)

    def _bound(self, instruction: Instruction, position: int) -> Bound:
        group = self.groups.of(instruction)
        operand = instruction.operands[position]
        return (group, operand.offset) if group is not None and isinstance(operand, AddressOperand) else None

    def _load(self, instruction: Instruction, mask: Mask) -> None:
        access = access_of(instruction)
        targets = flatten(instruction.operands[:1])
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
            self._observe("read", access, shape, mask, site)
            if access.is_strong:
                self._may_wait(access, site, mask)
            if access.space == "local":
                values = self.local.load(access, shape, mask, site)
            else:
                values = self.memory.load(access, shape, mask, site, self._bound(instruction, 1))
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
        sources = flatten(instruction.operands[1:2])
        if len(sources) != access.count:
            raise problem_of(instruction, f"{instruction.form} needs {access.count} values")
        if any(is_sink(operand) for operand in sources):
            self._store_present(instruction, access, shape, sources, mask)
            return
        values = [self._source(operand, access.llvm_type) for operand in sources]
        site = self.context.sites.add(instruction, access.space, "write")
        self._observe("write", access, shape, mask, site, values)
        if access.space == "local":
            self.local.store(access, shape, values, mask, site)
        else:
            self.memory.store(access, shape, values, mask, site, self._bound(instruction, 0))

    def _store_present(
        self, instruction: Instruction, access: Access, shape: Shape, sources: list[Operand], mask: Mask
    ) -> None:
        """A store that leaves out the elements whose value is the sink; its address is aligned for all of them."""
        address = instruction.operands[0]
        assert isinstance(address, AddressOperand)
        emitter, lanes = self.emitter, self.lanes
        places = self.addresses.vector(shape)
        low = lanes.and_(places, lanes.const("i64", access.size - 1))
        odd = lanes.splat(lanes.icmp("ne", low, lanes.const("i64", 0)))
        whole = f"i{emitter.width}"
        word = emitter.put(f"and {whole} {emitter.put(f'bitcast {odd} to {whole}')}, {mask.word}")
        aligned, crooked = emitter.new_label("aligned"), emitter.new_label("crooked")
        emitter.branch_if(emitter.put(f"icmp eq {whole} {word}, 0"), aligned, crooked, LIKELY)
        emitter.place(crooked)
        site = self.context.sites.add(instruction, access.space, "write")
        self.memory.slow_call("slow_store", access, places, word, site, 0, self.memory.buffer(access))
        emitter.branch(aligned)
        emitter.place(aligned)
        modifiers = tuple(part for part in instruction.modifiers if part != f"v{access.count}")
        for index, source in enumerate(sources):
            if not is_sink(source):
                place = AddressOperand(address.base, address.offset + index * access.element)
                self._store(replace(instruction, modifiers=modifiers, operands=(place, source)), mask)

    def _atomic(self, instruction: Instruction, mask: Mask) -> None:
        form = lookup(instruction)
        assert isinstance(form, Form)
        count = destination_count(instruction)
        access = access_of(instruction)
        shape = self._address(instruction, count, access.space)
        sources = flatten(without_policy(instruction)[count + 1 :])
        targets = flatten(instruction.operands[:count])
        if access.count > 1 and not len(sources) == access.count == len(targets or sources):
            raise problem_of(instruction, f"{instruction.form} needs {access.count} values")
        operands = [self._source(operand, access.llvm_type) for operand in sources]
        site = self.context.sites.add(instruction, access.space, "atomic")
        self._observe("atomic", access, shape, mask, site, operands)
        used = any(isinstance(target, RegisterOperand) and target.name in self.context.used for target in targets)
        if used:
            self._may_wait(access, site, mask)
        old = self.atomics.lower(form, access, shape, operands, mask, site, used)
        for target, value in zip(targets, old, strict=False):
            if isinstance(target, RegisterOperand):
                self.registers.write_value(target.name, value, access.signed)

    def _matrix(self, instruction: Instruction, mask: Mask) -> None:
        """wmma.load, wmma.store, ldmatrix, stmatrix."""
        stores = destination_count(instruction) == 0
        is_wmma = instruction.opcode == "wmma"
        space = space_of(instruction) if is_wmma else "shared"
        address = self._address(instruction, 0 if stores else 1, space)
        fragment = flatten(instruction.operands[1:2] if stores else instruction.operands[:1])
        kind: AccessKind = "write" if stores else "read"
        site = self.context.sites.add(instruction, space, kind)
        stride: Value | None = None
        if len(instruction.operands) > 2:
            stride = self.lanes.extract(self._source(instruction.operands[2], "i32"), 0)
        count = fragment_registers(instruction)
        if len(fragment) != count:
            raise problem_of(instruction, f"{instruction.form} has {count} registers, not {len(fragment)}")

        def tell(access: Access, addresses: Value, values: Sequence[Value], lanes: Mask) -> None:
            for instrument in self.context.instruments:
                instrument.on_access(Probe(self.emitter, lanes), kind, access, addresses, values, site)

        observe = tell if self.context.instruments else None
        for instrument in self.context.instruments:
            instrument.on_warp(Probe(self.emitter, mask), instruction, None, self.context.others(), site)
        if stores:
            type = "i64" if instruction.modifiers[-1] == "f64" else "i32"
            sources = [self._source(operand, type) for operand in fragment]
            if is_wmma:
                self.matrices.store_fragment(instruction, space, address, stride, sources, mask, site, observe)
            else:
                self.matrix_rows.store(instruction, address, sources, mask, site, observe)
            return
        if is_wmma:
            results = self.matrices.load_fragment(instruction, space, address, stride, mask, site, observe)
        else:
            results = self.matrix_rows.load(instruction, address, mask, site, observe)
        for target, value in zip(fragment, results, strict=True):
            if isinstance(target, RegisterOperand):
                self.registers.write_value(target.name, value)

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
        lanes, special = self.lanes, self.registers.special
        address = self.registers.typed(source, "i64")
        space = instruction.modifiers[0].split("::")[0]
        if space in ("shared", "local"):
            tag = {"shared": SHARED_TAG, "local": LOCAL_TAG}[space] >> 56
            found = lanes.icmp("eq", lanes.lshr(address, lanes.const("i64", 56)), lanes.const("i64", tag))
            if instruction.modifiers[0] in ("shared", "shared::cta"):
                found = lanes.and_(found, self._is_own(address))
        else:
            # Constants and parameters lie in the same arena as global memory.
            found = lanes.const("i1", 0)
            for base, size in special.spans_of("const" if space == "global" else space):
                inside = lanes.icmp("ult", lanes.sub(address, base), lanes.const("i64", size))
                found = lanes.or_(found, inside)
            if space == "global":
                plain = lanes.icmp("ult", address, lanes.const("i64", 1 << 56))
                found = lanes.and_(plain, lanes.not_(found))
        assert isinstance(target, RegisterOperand)
        self.registers.write_value(target.name, found)

    # Shared memory of the cluster, see `abi` for the form of its addresses.

    def _rank(self) -> Value:
        return self.registers.value(self.registers.special.read("%cluster_ctarank"))

    def _named_rank(self, address: Value) -> Value:
        """The rank plus 1 that an address names, 0 for the block itself; 32 bits."""
        lanes = self.lanes
        shifted = lanes.lshr(address, lanes.const(address.type, abi.RANK_SHIFT))
        if address.type == "i64":
            shifted = lanes.cast(shifted, "trunc", "i32")
        return lanes.and_(shifted, lanes.const("i32", 0xFF))

    def _is_own(self, address: Value) -> Value:
        """Whether a shared address is of the block's own memory."""
        lanes, named = self.lanes, self._named_rank(address)
        mine = lanes.icmp("eq", named, lanes.add(self._rank(), lanes.const("i32", 1)))
        return lanes.or_(lanes.icmp("eq", named, lanes.const("i32", 0)), mine)

    def _mapa(self, instruction: Instruction, mask: Mask) -> None:
        target, source, rank = instruction.operands
        type = "i32" if instruction.types[-1] == "u32" else "i64"
        lanes = self.lanes
        kept = lanes.and_(self.registers.typed(source, type), lanes.const(type, ~(0xFF << abi.RANK_SHIFT)))
        number = lanes.add(self.registers.typed(rank, "i32"), lanes.const("i32", 1))
        # A rank that no cluster has stays one that is found out.
        number = lanes.umin(number, lanes.const("i32", 0xFF))
        moved = lanes.shl(
            number if type == "i32" else lanes.cast(number, "zext", "i64"), lanes.const(type, abi.RANK_SHIFT)
        )
        assert isinstance(target, RegisterOperand)
        self.registers.write_value(target.name, lanes.or_(kept, moved))

    def _rank_of(self, instruction: Instruction, mask: Mask) -> None:
        target, source = instruction.operands
        lanes = self.lanes
        named = self._named_rank(self.registers.typed(source, "i32" if instruction.types[-1] == "u32" else "i64"))
        other = lanes.sub(named, lanes.const("i32", 1))
        own = lanes.icmp("eq", named, lanes.const("i32", 0))
        assert isinstance(target, RegisterOperand)
        self.registers.write_value(target.name, lanes.select(own, self._rank(), other))
