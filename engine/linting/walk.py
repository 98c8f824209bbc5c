"""Walks a kernel once, for all threads of a few blocks of a launch, and notes what they access and where they wait.

Addresses, guards and indices are computed from the launch's own numbers, for whole vectors of threads; what comes out
of memory or of floating-point numbers stays unknown. Of each loop the first round is walked. What is noted as certain
is therefore what real threads do, and needs no run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from emulator.analysis.cfg import Graph, is_block_barrier
from emulator.analysis.classify import symbol_value
from emulator.analysis.flat import FlatKernel
from emulator.analysis.operands import definitions, destination_count
from emulator.syntax.nodes import (
    TYPE_SIZES,
    AddressOperand,
    ImmediateOperand,
    Instruction,
    Operand,
    RegisterOperand,
    SymbolOperand,
    VectorOperand,
)
from engine.linting.arithmetic import Known, Number, Wrapped, bits_of, blended, compute, known
from engine.linting.flow import Flow, Loop
from engine.linting.sample import Sample

Mask = npt.NDArray[np.bool_]
_SPACES = ("global", "shared")
_ACCESSES = ("ld", "ldu", "st", "atom", "red")


@dataclass(frozen=True, slots=True)
class Access:
    """An instruction on global or shared memory. Masks are over the sampled threads.

    `reached`: they surely execute it; `possible`: they may. `address` is in bytes, None where it is not known.
    """

    instruction: Instruction
    space: str
    address: Number | None
    bytes: int
    reached: Mask
    possible: Mask
    block: int
    """Of code."""
    looped: bool
    wrapped: Wrapped | None = None

    @property
    def writes(self) -> bool:
        return self.instruction.opcode == "st"

    @property
    def atomic(self) -> bool:
        return self.instruction.opcode in ("atom", "red")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A barrier of the block and the threads that surely come to it, or may, in the first round of its loops."""

    instruction: Instruction
    block: int
    reached: Mask
    possible: Mask


@dataclass(slots=True)
class Walk:
    """What a walk found, in the order of the code."""

    accesses: list[Access] = field(default_factory=list)
    barriers: list[Waiting] = field(default_factory=list)
    reached: dict[int, Mask] = field(default_factory=dict)
    """Of each block of code the threads that surely come to it."""
    decided: set[int] = field(default_factory=set)
    """Blocks of code at whose end every thread's way is known."""
    uneven: set[int] = field(default_factory=set)
    """Positions, in the graph's order, of loops that threads of one block leave after different numbers of rounds."""


class Walker:
    """One walk; `parameters` are the bytes of the launch's parameters."""

    def __init__(self, flat: FlatKernel, graph: Graph, flow: Flow, sample: Sample, parameters: bytes) -> None:
        self.flat, self.graph, self.flow, self.sample = flat, graph, flow, sample
        self.parameters = parameters
        self.offsets = {item.name: item.offset for item in flat.entry.parameters}
        self.found = Walk()
        self.registers: dict[str, Known | None] = {}
        self.everyone: Mask = np.ones(sample.threads, np.bool_)
        self.nobody: Mask = np.zeros(sample.threads, np.bool_)
        self.writers: dict[str, set[int]] = {}
        for number in graph.order:
            for item in graph.blocks[number].instructions:
                for name in definitions(item):
                    self.writers.setdefault(name, set()).add(number)

    def run(self) -> Walk:
        reached: dict[int, Mask] = {self.graph.order[0]: self.everyone}
        possible: dict[int, Mask] = dict(reached)
        for position, number in enumerate(self.graph.order):
            self._leave_loops(position)
            sure, may = reached.get(number, self.nobody), possible.get(number, self.nobody)
            self.found.reached[number] = sure
            self._walk(number, position, sure, may)
            join = self.flow.joins[number]
            if join is not None and self.graph.position[join] > position:
                reached[join] = reached.get(join, self.nobody) | sure
                possible[join] = possible.get(join, self.nobody) | may
            for other, (first, second) in self._edges(number, sure, may).items():
                if self.graph.position[other] > position:
                    reached[other] = reached.get(other, self.nobody) | first
                    possible[other] = possible.get(other, self.nobody) | second
        return self.found

    def _leave_loops(self, position: int) -> None:
        """What a loop computes has had other values since its first round."""
        for loop in self.flow.loops:
            if loop.last == position - 1:
                inside = set(self.graph.order[loop.first : loop.last + 1])
                for name, writers in self.writers.items():
                    if writers & inside:
                        self.registers[name] = None

    def _looped(self, position: int) -> bool:
        return any(loop.first <= position <= loop.last for loop in self.flow.loops)

    def _edges(self, number: int, sure: Mask, may: Mask) -> dict[int, tuple[Mask, Mask]]:
        block = self.graph.blocks[number]
        last, successors = block.terminator, block.successors
        if last is None or last.guard is None or last.opcode not in ("bra", "ret", "exit"):
            certain = len(successors) == 1
            return dict.fromkeys(successors, (sure if certain else self.nobody, may))
        taken = self._guard(last)
        if taken is not None:
            self.found.decided.add(number)
        if last.opcode != "bra":
            if taken is None:
                return dict.fromkeys(successors, (self.nobody, may))
            return dict.fromkeys(successors, (sure & ~taken, may & ~taken))
        if len(successors) < 2:
            return dict.fromkeys(successors, (sure, may))
        if taken is None:
            return dict.fromkeys(successors, (self.nobody, may))
        return {successors[0]: (sure & taken, may & taken), successors[1]: (sure & ~taken, may & ~taken)}

    def _guard(self, item: Instruction) -> Mask | None:
        """The threads for which an instruction's guard holds; None where that is not known."""
        assert item.guard is not None
        found = self.registers.get(item.guard.register)
        if found is None:
            return None
        holds = np.broadcast_to(np.asarray(found.value, np.int64) != 0, (self.sample.threads,))
        return ~holds if item.guard.negated else holds

    def _walk(self, number: int, position: int, sure: Mask, may: Mask) -> None:
        block = self.graph.blocks[number]
        looped = self._looped(position)
        for item in block.instructions:
            here, perhaps, fully = sure, may, True
            if item.guard is not None:
                holds = self._guard(item)
                here = self.nobody if holds is None else sure & holds
                perhaps = may if holds is None else may & holds
                fully = False
            if item.opcode in _ACCESSES:
                self._access(item, here, perhaps, number, looped)
            self._assign(item, number, perhaps, fully)
        last = block.terminator
        if last is not None and last.guard is not None and looped:
            self._rounds(number, position, last)
        if last is not None and is_block_barrier(last):
            self.found.barriers.append(Waiting(last, number, sure, may))

    def _assign(self, item: Instruction, number: int, may: Mask, fully: bool) -> None:
        names = definitions(item)
        if not names:
            return
        value = self._result(item) if len(names) == 1 else None
        for name in names:
            once = fully and len(self.writers.get(name, ())) <= 1
            if once or name not in self.registers or (fully and may.all()):
                self.registers[name] = value if fully else None
                continue
            old = self.registers[name]
            self.registers[name] = None if value is None or old is None else blended(may, value, old)

    def _result(self, item: Instruction) -> Known | None:
        if item.opcode == "ld" and any(part.split("::")[0] == "param" for part in item.modifiers):
            return self._parameter(item)
        sources: list[Known] = []
        for operand in item.operands[destination_count(item) :]:
            value = self._read(operand)
            if value is None:
                return None
            sources.append(value)
        return compute(item.opcode, item.modifiers, sources) if sources else None

    def _parameter(self, item: Instruction) -> Known | None:
        address = item.operands[1]
        bits = bits_of(item.types[-1]) if item.types else 0
        if not isinstance(address, AddressOperand) or address.base not in self.offsets or not bits:
            return None
        start = self.offsets[address.base] + address.offset
        data = self.parameters[start : start + bits // 8]
        unsigned = item.types[-1][0] == "u" and bits < 32
        return known(int.from_bytes(data, "little", signed=not unsigned)) if len(data) == bits // 8 else None

    def _read(self, operand: Operand) -> Known | None:
        if isinstance(operand, RegisterOperand):
            value = self.registers.get(operand.name)
            if operand.name not in self.flat.registers:
                special = self.sample.special(operand.name)
                value = None if special is None else known(special)
            if value is not None and operand.negated:
                return known(1 - value.value)
            return value
        if isinstance(operand, ImmediateOperand):
            return known(operand.value) if operand.float_bits is None and abs(operand.value) < 1 << 62 else None
        if isinstance(operand, SymbolOperand):
            offset = symbol_value(self.flat, operand)
            return None if offset is None else known(offset)
        return None

    def _rounds(self, number: int, position: int, last: Instruction) -> None:
        """Whether threads of one block leave a loop at this branch after different numbers of rounds."""
        loop = max(
            (item for item in self.flow.loops if item.first <= position <= item.last), key=lambda item: item.first
        )
        places = [self.graph.position[other] for other in self.graph.blocks[number].successors]
        if all(loop.first <= place <= loop.last for place in places):
            return
        test = next(
            (
                item
                for item in reversed(self.graph.blocks[number].instructions)
                if item.opcode == "setp" and last.guard is not None and last.guard.register in definitions(item)
            ),
            None,
        )
        if test is None or len(test.operands) != 3:
            return
        left, right = self._read(test.operands[1]), self._read(test.operands[2])
        step = self._step(test.operands[1], loop)
        if left is None or right is None or not step:
            return
        rounds = -((_vector(left.value - right.value, self.sample.threads)) // step)
        if self.sample.differs(np.maximum(rounds, 0), self.everyone):
            self.found.uneven.add(loop.first)

    def _step(self, operand: Operand, loop: Loop) -> int | None:
        """What a round adds to a register, where that is one known number."""
        if not isinstance(operand, RegisterOperand):
            return None
        for position in range(loop.first, loop.last + 1):
            for item in self.graph.blocks[self.graph.order[position]].instructions:
                if item.opcode == "add" and operand.name in definitions(item):
                    addends = [self._read(other) for other in item.operands[1:]]
                    own = item.operands[1] == operand or self.writers.get(operand.name, set()) & {
                        self.graph.order[position]
                    }
                    if own and addends[1] is not None and isinstance(addends[1].value, int):
                        return addends[1].value
        return None

    def _access(self, item: Instruction, sure: Mask, may: Mask, number: int, looped: bool) -> None:
        space = next((part.split("::")[0] for part in item.modifiers if part.split("::")[0] in _SPACES), None)
        if space is None or not item.types:
            return
        position = 0 if item.opcode in ("st", "red") else 1
        operand = item.operands[position] if position < len(item.operands) else None
        if not isinstance(operand, AddressOperand):
            return
        value = item.operands[1 - position]
        count = len(value.elements) if isinstance(value, VectorOperand) else 1
        base = self._base(operand)
        address = None if base is None else base.value + operand.offset
        wrapped = base.wrapped if base else None
        size = TYPE_SIZES[item.types[-1]] * count
        self.found.accesses.append(Access(item, space, address, size, sure, may, number, looped, wrapped))

    def _base(self, operand: AddressOperand) -> Known | None:
        if operand.base is None:
            return known(0)
        if operand.base in self.flat.registers:
            return self.registers.get(operand.base)
        return self._read(SymbolOperand(operand.base))


def _vector(value: Number, threads: int) -> npt.NDArray[np.int64]:
    return np.broadcast_to(np.asarray(value, np.int64), (threads,))


def walked(flat: FlatKernel, graph: Graph, flow: Flow, sample: Sample, parameters: Mapping[str, bytes]) -> Walk:
    """`parameters` by the name that the PTX gives them."""
    size = max((item.offset + item.size for item in flat.entry.parameters), default=0)
    block = bytearray(size)
    for item in flat.entry.parameters:
        data = parameters.get(item.name, b"")
        block[item.offset : item.offset + len(data)] = data
    return Walker(flat, graph, flow, sample, bytes(block)).run()
