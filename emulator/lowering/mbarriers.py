"""Lowers mbarriers, and calls the part of the support library that serves asynchronous instructions.

A thread that waits at an mbarrier gives way to the others.
"""

from __future__ import annotations

from emulator.analysis.operands import is_sink
from emulator.analysis.shapes import Shape
from emulator.instruments.instrument import AccessKind, Probe
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.emitter import LIKELY
from emulator.lowering.memory import Mask
from emulator.lowering.memory_instructions import MemoryInstructions
from emulator.syntax.nodes import Instruction, RegisterOperand

TRANSACTIONS = "mbarrier::complete_tx::bytes"
# Functions of the support library: what stands behind context, worker, site and mask.
_SUPPORT = {
    "mbarrier_init": "i32, ptr, ptr",
    "mbarrier_invalidate": "i32, ptr",
    "mbarrier_update": "i32, ptr, ptr, ptr, i32, ptr",
    "mbarrier_test": "i32, ptr, ptr, ptr",
    "copy_filled": "i32, ptr, i32, ptr, i32, ptr",
    "bulk_ends": "i32, ptr, i32, i32, ptr, ptr, ptr",
    "bulk_copy": "ptr, ptr, ptr",
    "bulk_zero": "i32, ptr, ptr",
}
# Which temporary holds which argument of the support library, one element a lane.
ADDRESSES, SOURCES, SIZES, MORE, RESULT = 10, 11, 12, 13, 14


def space_of(instruction: Instruction) -> str:
    """Shared memory where it is named, else the generic space."""
    return "shared" if any(part.split("::")[0] == "shared" for part in instruction.modifiers) else "generic"


class MbarrierInstructions(MemoryInstructions):
    """Lowers `mbarrier` and the arrivals that copies make."""

    failed_wait = "false"  # of the wait lowered last: whether some lane's phase was not over

    # Calls of the support library.

    def _array(self, value: Value, tag: int) -> str:
        """A pointer to the value of each lane."""
        place = self.emitter.temporary(value.type, self.lanes.width, tag)
        self.emitter.emit(f"store {self.lanes.splat(value)}, ptr {place}, align 64")
        return place

    def _served(self, function: str, site: int, mask: Mask, *arguments: str) -> None:
        """Calls a function that does its work for all active lanes, or records a fault."""
        emitter = self.emitter
        emitter.declare(f"declare i1 @{function}(ptr, ptr, i32, i32, {_SUPPORT[function]})")
        given = ", ".join(("ptr %ctx", "ptr %tls", f"i32 {site}", f"i32 {mask.word}", *arguments))
        ok = emitter.put(f"call i1 @{function}({given})")
        after = emitter.new_label("served")
        emitter.branch_if(ok, after, "faulted", LIKELY)
        emitter.place(after)

    def _addresses_of(self, shape: Shape, tag: int) -> str:
        return self._array(self.addresses.vector(shape), tag)

    def _observe_stretch(self, kind: AccessKind, space: str, shape: Shape, sizes: Value, mask: Mask, site: int) -> None:
        for instrument in self.context.instruments:
            addresses = self.addresses.vector(shape)
            instrument.on_stretch(Probe(self.emitter, mask), kind, space, addresses, self.lanes.splat(sizes), site)

    # Mbarriers.

    def _mbarrier(self, instruction: Instruction, mask: Mask) -> None:
        operation, parts = instruction.modifiers[0], set(instruction.modifiers)
        operands = instruction.operands
        if operation == "pending_count":
            self._pending_count(instruction)
        elif operation in ("test_wait", "try_wait"):
            self._test(instruction, mask)
        elif operation == "inval":
            site, space, address = self._object(instruction, 0)
            self._served("mbarrier_invalidate", site, mask, space, f"ptr {self._addresses_of(address, ADDRESSES)}")
        elif operation == "init":
            site, space, address = self._object(instruction, 0)
            counts = self._array(self._source(operands[1], "i32"), SIZES)
            addresses = self._addresses_of(address, ADDRESSES)
            self._served("mbarrier_init", site, mask, space, f"ptr {addresses}", f"ptr {counts}")
        elif operation in ("expect_tx", "complete_tx"):
            change = self._source(operands[1], "i32")
            change = self.lanes.neg(change) if operation == "complete_tx" else change
            self._update(instruction, 0, self.lanes.const("i32", 0), change, 0, mask)
        else:
            given = self._source(operands[2], "i32") if len(operands) > 2 else self.lanes.const("i32", 1)
            expects = "expect_tx" in parts
            count = self.lanes.const("i32", 1) if expects else given
            change = given if expects else self.lanes.const("i32", 0)
            flags = abi.ARRIVES
            flags |= abi.DROPS if operation == "arrive_drop" else 0
            flags |= abi.MAY_NOT_COMPLETE if "noComplete" in parts else 0
            state = self._update(instruction, 1, count, change, flags, mask, not is_sink(operands[0]))
            if state is not None and isinstance(operands[0], RegisterOperand):
                self.registers.write_value(operands[0].name, state)

    def _object(self, instruction: Instruction, position: int) -> tuple[int, str, Shape]:
        """The site, the argument that names the space, and the address of an mbarrier."""
        tracked = TRANSACTIONS in instruction.modifiers or instruction.opcode not in ("mbarrier", "cp")
        space = "shared" if tracked else space_of(instruction)
        site = self.context.sites.add(instruction, space, "atomic")
        return site, f"i32 {abi.SPACE_CODES[space]}", self._address(instruction, position, space)

    def _update(
        self, instruction: Instruction, position: int, count: Value, change: Value, flags: int, mask: Mask,
        wanted: bool = False, rank: Value | None = None,
    ) -> Value | None:  # fmt: skip
        """Counts arrivals and bytes; the object before, one a lane, where it is wanted."""
        site, space, address = self._object(instruction, position)
        addresses = self._addresses_of(self._ranked(address, rank), ADDRESSES)
        counts, changes = self._array(count, SIZES), self._array(change, MORE)
        width = self.lanes.width
        states = self.emitter.temporary("i64", width, RESULT) if wanted else "null"
        self._served(
            "mbarrier_update", site, mask, space, f"ptr {addresses}", f"ptr {counts}", f"ptr {changes}",
            f"i32 {flags}", f"ptr {states}",
        )  # fmt: skip
        return self.emitter.value(f"load <{width} x i64>, ptr {states}, align 64", "i64", width) if wanted else None

    def _test(self, instruction: Instruction, mask: Mask) -> None:
        """Whether the phase is over; a lane that has to wait gives way at its next back edge."""
        emitter, lanes, width = self.emitter, self.lanes, self.lanes.width
        site, space, address = self._object(instruction, 1)
        if "parity" in instruction.modifiers:
            parity = lanes.cast(self._source(instruction.operands[2], "i32"), "zext", "i64")
            state = lanes.binary("shl", parity, lanes.const("i64", abi.MBARRIER_PHASE))
        else:
            state = self._source(instruction.operands[2], "i64")
        addresses, states = self._addresses_of(address, ADDRESSES), self._array(state, SOURCES)
        alike = address.kind == "uniform" and not state.lanes
        asked = mask
        if alike:
            # One object and one phase: the first lane asks for all.
            first = emitter.put(f"and i{width} {mask.word}, {emitter.put(f'sub i{width} 0, {mask.word}')}")
            asked = Mask(emitter, first)
        complete = emitter.temporary("i32", 1, RESULT)
        emitter.emit(f"store i32 0, ptr {complete}")
        self._served("mbarrier_test", site, asked, space, f"ptr {addresses}", f"ptr {states}", f"ptr {complete}")
        word = emitter.put(f"load i{width}, ptr {complete}")
        waits = self.failed_wait = emitter.put(f"icmp ne i{width} {word}, {asked.word}")
        waiting, after = emitter.new_label("waiting"), emitter.new_label("tested")
        emitter.branch_if(waits, waiting, after)
        emitter.place(waiting)
        self.context.control().tire()
        emitter.branch(after)
        emitter.place(after)
        result = instruction.operands[0]
        assert isinstance(result, RegisterOperand)
        if alike:
            value = lanes.icmp("ne", Value(word, f"i{width}", 0), lanes.const(f"i{width}", 0))
        else:
            value = emitter.value(f"bitcast i{width} {word} to <{width} x i1>", "i1", width)
        self.registers.write_value(result.name, value)

    def _pending_count(self, instruction: Instruction) -> None:
        lanes = self.lanes
        state = self._source(instruction.operands[1], "i64")
        above = lanes.binary("lshr", state, lanes.const("i64", abi.MBARRIER_COUNT_BITS))
        count = lanes.and_(above, lanes.const("i64", (1 << abi.MBARRIER_COUNT_BITS) - 1))
        target = instruction.operands[0]
        assert isinstance(target, RegisterOperand)
        self.registers.write_value(target.name, lanes.cast(count, "trunc", "i32"))

    def _arrive_on_copies(self, instruction: Instruction, mask: Mask) -> None:
        """The copies are done. Without .noinc the arrival was added to the pending ones before: nothing is left."""
        count = self.lanes.const("i32", int("noinc" in instruction.modifiers))
        flags = abi.ARRIVES if "noinc" in instruction.modifiers else 0
        self._update(instruction, 0, count, self.lanes.const("i32", 0), flags, mask)

    def _ranked(self, shape: Shape, rank: Value | None) -> Shape:
        """The place in the block of a rank that an address of shared memory has in its own block."""
        if rank is None:
            return shape
        lanes = self.lanes
        place = lanes.and_(self.addresses.vector(shape), lanes.const("i64", (1 << abi.RANK_SHIFT) - 1))
        number = lanes.cast(lanes.add(rank, lanes.const("i32", 1)), "zext", "i64")
        return self.registers.shape_of(lanes.or_(place, lanes.shl(number, lanes.const("i64", abi.RANK_SHIFT))))

    def _complete_bytes(
        self, instruction: Instruction, position: int, sizes: Value, mask: Mask, rank: Value | None = None
    ) -> None:
        zero = self.lanes.const("i32", 0)
        self._update(instruction, position, zero, self.lanes.neg(sizes), 0, mask, rank=rank)
