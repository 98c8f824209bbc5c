"""The fixpoint that finds each register's shape, the divergent branches, and what must be blended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emulator.analysis.affected import affected
from emulator.analysis.cfg import Graph
from emulator.analysis.flat import FlatKernel
from emulator.analysis.gang import Gang
from emulator.analysis.liveness import Liveness
from emulator.analysis.operands import CARRY, definitions, destination_count, registers_of, uses
from emulator.analysis.rules import REGISTER_TYPES, evaluate
from emulator.analysis.shapes import AbstractScalars, Shape, affine, join, uniform, varying
from emulator.analysis.spans import Span, analyse_spans, special_span
from emulator.analysis.waiting import Waiting, analyse_waiting, waiting_anywhere
from emulator.isa.form import LLVM_TYPES
from emulator.isa.special import SPECIAL_REGISTERS
from emulator.syntax.nodes import (
    AddressOperand,
    ImmediateOperand,
    Instruction,
    Operand,
    PairOperand,
    RegisterOperand,
    SymbolOperand,
    VectorOperand,
)

_AXES = {"x": 0, "y": 1, "z": 2}
# Their results differ between lanes whatever the operands are.
_VARYING_OPCODES = frozenset({"atom", "shfl", "match", "elect", "call", "mma", "wmma", "ldmatrix", "redux", "vote",
                              "activemask", "movmatrix", "tex", "suld"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Classes:
    """`shapes` of registers at block boundaries; `blend[b]` are the registers whose old value waiting lanes need."""

    shapes: dict[str, Shape]
    divergent: set[int]
    waiting: Waiting
    blend: dict[int, set[str]]
    spans: dict[str, Span]


def register_type(flat: FlatKernel, name: str) -> str:
    return "i1" if name == CARRY else REGISTER_TYPES[flat.registers[name]]


def lane_numbers(gang: Gang) -> tuple[int, ...]:
    """Of the lanes of a gang, each in its warp."""
    return tuple(lane % 32 for lane in range(gang.width))


def special_shape(name: str, gang: Gang) -> Shape:
    """The abstract shape of a special register for the block's layout."""
    root, _, axis = name.partition(".")
    if root == "%ntid":
        return uniform("i32", gang.block[_AXES[axis]])
    if root == "%tid":
        layout = gang.layout(_AXES[axis])
        if layout.pattern is None:
            return varying("i32")
        same = len(set(layout.bases)) == 1
        base = layout.bases[0] if same else "?"
        return affine(base, layout.pattern, layout.align, AbstractScalars())
    if name == "%laneid":
        return affine(0, lane_numbers(gang), 31, AbstractScalars())
    register = SPECIAL_REGISTERS[name]
    type = LLVM_TYPES[register.type]
    return varying(type) if register.extent == "lane" else uniform(type)


class Classifier:
    """Runs the fixpoint over shapes, divergence, waiting sets and blends until nothing changes."""

    def __init__(
        self, flat: FlatKernel, graph: Graph, liveness: Liveness, gang: Gang, dispatched: bool = False
    ) -> None:
        self.flat = flat
        self.graph = graph
        self.liveness = liveness
        self.gang = gang
        self.dispatched = dispatched
        self.shapes: dict[str, Shape] = {}
        self.forced: set[str] = set()
        self.scalars = AbstractScalars()
        self.spans = analyse_spans(flat, graph, gang)
        self._defined: set[str] = set().union(*liveness.defined.values())
        self._defining = [item for item in graph.instructions() if definitions(item)]
        self._affected = affected(self._defining)

    def run(self) -> Classes:
        while True:
            self._settle_shapes()
            divergent = self._divergent_blocks()
            waiting = (waiting_anywhere if self.dispatched else analyse_waiting)(self.graph, divergent)
            blend = self._blended(waiting)
            fresh = {
                name for names in blend.values() for name in names if self._shape(name).kind != "varying"
            } - self.forced
            if not fresh:
                for name in self.flat.registers:
                    self.shapes.setdefault(name, uniform(register_type(self.flat, name)))
                return Classes(self.shapes, divergent, waiting, blend, self.spans)
            self.forced |= fresh
            for name in self.forced:
                self.shapes[name] = varying(register_type(self.flat, name))

    def _shape(self, name: str) -> Shape:
        return self.shapes.get(name) or uniform(register_type(self.flat, name))

    def _blended(self, waiting: Waiting) -> dict[int, set[str]]:
        blend: dict[int, set[str]] = {}
        for block in self.graph.order:
            needed: set[str] = set()
            for other in waiting[block]:
                needed |= self.liveness.live_in[other] & self.liveness.defined[block]
            blend[block] = needed
        return blend

    def _divergent_blocks(self) -> set[int]:
        found: set[int] = set()
        for block in self.graph.order:
            last = self.graph.blocks[block].terminator
            if last is None:
                continue
            if last.guard is not None and self._shape(last.guard.register).kind != "uniform":
                found.add(block)
            if last.opcode == "brx" and self.read(last.operands[0], "i32").kind != "uniform":
                found.add(block)
        return found

    def _settle_shapes(self) -> None:
        """Evaluates each definition, and again where a register that it reads has changed, until none changes."""
        stale = bytearray(b"\1" * len(self._defining))
        while True:
            place = stale.find(1)
            while place >= 0:
                stale[place] = 0
                self._settle(self._defining[place], stale)
                place = stale.find(1, place + 1)
            if 1 in stale:
                continue
            unset = self._read_unset()
            if unset is None:
                return
            self.shapes[unset] = uniform(register_type(self.flat, unset))
            self._mark(unset, stale)

    def _settle(self, instruction: Instruction, stale: bytearray) -> None:
        for name in definitions(instruction):
            if name in self.forced:
                continue
            result = self._result(instruction, name)
            known = self.shapes.get(name)
            merged = join(known, result)
            if merged is not None and merged != known:
                self.shapes[name] = merged
                self._mark(name, stale)

    def _mark(self, name: str, stale: bytearray) -> None:
        for place in self._affected[name]:
            stale[place] = 1

    def _read_unset(self) -> str | None:
        """A register that is read though all its definitions depend on that: it has no value yet, in any lane."""
        for instruction in self.graph.instructions():
            for name in uses(instruction):
                if name in self._defined and name not in self.shapes and name in self.flat.registers:
                    return name
        return None

    def _result(self, instruction: Instruction, name: str) -> Shape | None:
        type = register_type(self.flat, name)
        sources = instruction.operands[destination_count(instruction) :]
        if self._is_unset(sources):
            return None
        result: Shape | None = None
        if len(definitions(instruction)) == 1:
            result = evaluate(instruction, self.read, self.scalars)
        if result is None:
            result = self._generic(instruction, sources, type)
        result = result.bounded(None)
        if result.type != type or (type == "i1" and result.kind not in ("uniform", "varying")):
            result = Shape("uniform" if result.kind == "uniform" else "varying", type)
        guard = instruction.guard
        if guard is not None:
            if self._shape(guard.register).kind != "uniform":
                return varying(type)
            return join(result, self.shapes.get(name))
        return result

    def _is_unset(self, operands: Sequence[Operand]) -> bool:
        """Whether a source has a definition that the fixpoint has not reached yet."""
        return any(
            name in self._defined and name not in self.shapes for operand in operands for name in registers_of(operand)
        )

    def _generic(self, instruction: Instruction, sources: Sequence[Operand], type: str) -> Shape:
        opcode = instruction.opcode
        if opcode == "mbarrier" and not {"test_wait", "try_wait", "pending_count"} & set(instruction.modifiers):
            return varying(type)  # each lane's state is another
        if opcode in _VARYING_OPCODES or (opcode == "ld" and self._is_private(instruction)):
            return varying(type)
        kinds = {self._operand_kind(operand) for operand in sources}
        if opcode in ("addc", "subc", "madc"):
            kinds.add(self._shape(CARRY).kind)
        return uniform(type) if kinds <= {"uniform"} else varying(type)

    def _is_private(self, instruction: Instruction) -> bool:
        """Whether a load may read local memory, where one address is another place in every lane."""
        spaces = {m.split("::")[0] for m in instruction.modifiers} & {"global", "shared", "const", "param", "local"}
        return "local" in spaces or (not spaces and self.flat.local_bytes > 0)

    def _operand_kind(self, operand: Operand) -> str:
        if isinstance(operand, VectorOperand):
            kinds = {self._operand_kind(element) for element in operand.elements}
            return "uniform" if kinds <= {"uniform"} else "varying"
        if isinstance(operand, AddressOperand):
            if operand.base is None or operand.base not in self.flat.registers:
                return "uniform"
            return self._shape(operand.base).kind
        if isinstance(operand, PairOperand):
            return "varying"
        return self.read(operand, "i32").kind

    def read(self, operand: Operand, type: str) -> Shape:
        if isinstance(operand, RegisterOperand):
            if operand.name in self.flat.registers:
                return self._shape(operand.name).bounded(self.spans.get(operand.name))
            return special_shape(operand.name, self.gang).bounded(special_span(operand.name, self.gang))
        if isinstance(operand, ImmediateOperand):
            return uniform(type, operand.value) if operand.float_bits is None else uniform(type)
        if isinstance(operand, SymbolOperand):
            known = symbol_value(self.flat, operand)
            return uniform(type) if known is None else uniform(type, known)
        return varying(type)


def symbol_value(flat: FlatKernel, operand: SymbolOperand) -> int | None:
    """The value of a symbol where it is known before the launch: offsets of shared and local variables, code."""
    for table in (flat.shared, flat.local, flat.code_addresses):
        if operand.name in table:
            return table[operand.name] + operand.offset
    if operand.name in flat.dynamic:
        aligned = (flat.shared_bytes + flat.dynamic_alignment - 1) // flat.dynamic_alignment * flat.dynamic_alignment
        return aligned + operand.offset
    return None
