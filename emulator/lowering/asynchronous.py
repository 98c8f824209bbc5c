"""Lowers asynchronous copies.

A copy is done at once, so that it is visible at its wait at the latest; commits and waits of groups have nothing left
to do. The bytes that an mbarrier tracks arrive at once, too: its transaction count goes below 0 until the
expectation comes, as the hardware allows.
"""

from __future__ import annotations

from emulator.analysis.shapes import Shape
from emulator.instruments.instrument import AccessKind, Probe
from emulator.isa.form import Form
from emulator.isa.lanes import Value
from emulator.isa.table import lookup
from emulator.lowering import abi
from emulator.lowering.access import Access, access_of
from emulator.lowering.emitter import LIKELY
from emulator.lowering.mbarriers import (
    ADDRESSES,
    MORE,
    RESULT,
    SIZES,
    SOURCES,
    TRANSACTIONS,
    MbarrierInstructions,
    space_of,
)
from emulator.lowering.memory import Mask
from emulator.lowering.memory_instructions import flatten, problem_of
from emulator.syntax.nodes import ImmediateOperand, Instruction, Operand, RegisterOperand

_GROUPS = frozenset({"commit_group", "wait_group", "wait_all", "prefetch"})


def operand_pattern(item: Instruction) -> str:
    """The operands of a form, in the notation of `validate`, without a cache policy."""
    parts = set(item.modifiers)
    if item.opcode == "mbarrier":
        if item.modifiers[:1] == ("inval",):
            return "A"
        if parts & {"arrive", "arrive_drop"}:
            return "MAR" if parts & {"expect_tx", "noComplete"} else "MAR?"
        if "pending_count" in parts:
            return "DR"
        return "QARR?" if "try_wait" in parts else "QAR" if "test_wait" in parts else "AR"
    if item.opcode in ("st", "red"):
        return "AVA" if "async" in parts else "ARR"
    if "mbarrier" in parts:
        return "A"
    if parts & {"commit_group", "wait_all"}:
        return ""
    if "wait_group" in parts:
        return "R"
    if "bulk" not in parts:
        return "AARX?"
    if "prefetch" in parts:
        return "AR"
    if "multicast::cluster" in parts:
        return "AARAR"
    return "AARA" if TRANSACTIONS in parts else "AARR" if "cp_mask" in parts else "AAR"


def is_asynchronous(item: Instruction) -> bool:
    """Whether an instruction is lowered here."""
    if item.opcode in ("st", "red"):
        return "async" in item.modifiers or "bulk" in item.modifiers
    return item.opcode in ("cp", "mbarrier")


class AsyncInstructions(MbarrierInstructions):
    """Lowers what `is_asynchronous` names."""

    def asynchronous(self, instruction: Instruction, mask: Mask) -> None:
        parts = set(instruction.modifiers)
        if instruction.opcode == "mbarrier":
            self._mbarrier(instruction, mask)
        elif instruction.opcode in ("st", "red"):
            if "bulk" in parts:
                self._bulk_zero(instruction, mask)
            else:
                self._store_async(instruction, mask)
        elif "mbarrier" in parts:
            self._observe_copies(instruction, mask)
            self._arrive_on_copies(instruction, mask)
        elif "reduce" in parts or "bulk" in parts:
            if parts & _GROUPS:
                return
            if "multicast::cluster" in parts:
                self._multicast(instruction, mask)
            else:
                self._bulk(instruction, mask)
        elif parts & _GROUPS:
            self._observe_copies(instruction, mask)
        else:
            self._copy_async(instruction, mask)

    def _observe_copies(self, instruction: Instruction, mask: Mask) -> None:
        for instrument in self.context.instruments:
            instrument.on_copies(Probe(self.emitter, mask), instruction)

    # cp.async.

    def _copy_async(self, instruction: Instruction, mask: Mask) -> None:
        operands = instruction.operands
        if "L2::cache_hint" in instruction.modifiers:
            operands = operands[:-1]
        size = operands[2].value if isinstance(operands[2], ImmediateOperand) else 0
        if size not in ((16,) if "cg" in instruction.modifiers else (4, 8, 16)):
            allowed = "16 bytes" if "cg" in instruction.modifiers else "4, 8 or 16 bytes"
            raise problem_of(instruction, f"{instruction.form} copies {allowed}")
        source = self._address(instruction, 1, "global")
        target = self._address(instruction, 0, "shared")
        given = self._given_bytes(operands[3], size) if len(operands) > 3 else self.lanes.const("i32", size)
        known = given.constant
        if known is not None and known >= size:
            self._copy_whole(instruction, size, source, target, mask)
            return
        emitter = self.emitter
        less = emitter.put(
            f"bitcast {self.lanes.splat(self.lanes.icmp('ult', given, self.lanes.const('i32', size)))} to i32"
        )
        fewer = emitter.put(f"and i32 {less}, {mask.word}")
        whole, part, after = (emitter.new_label(name) for name in ("whole", "part", "copied"))
        emitter.branch_if(emitter.put(f"icmp eq i32 {fewer}, 0"), whole, part, LIKELY)
        emitter.place(whole)
        self._copy_whole(instruction, size, source, target, mask)
        emitter.branch(after)
        emitter.place(part)
        self._copy_filled(instruction, size, source, target, given, mask)
        emitter.branch(after)
        emitter.place(after)

    def _given_bytes(self, operand: Operand, size: int) -> Value:
        """How many bytes come from the source: the source size, or none where a predicate ignores it."""
        if isinstance(operand, RegisterOperand) and self.registers.shape(operand.name).type == "i1":
            ignores = self.registers.typed(operand, "i1")
            return self.lanes.select(ignores, self.lanes.const("i32", 0), self.lanes.const("i32", size))
        return self._source(operand, "i32")

    def _copy_whole(self, instruction: Instruction, size: int, source: Shape, target: Shape, mask: Mask) -> None:
        read, write = (Access(space, "b32", size // 4, False) for space in ("global", "shared"))
        site = self.context.sites.add(instruction, "global", "read")
        self._observe("read", read, source, mask, site)
        values = self.memory.load(read, source, mask, site)
        site = self.context.sites.add(instruction, "shared", "write")
        self._observe("copy", write, target, mask, site, values)
        self.memory.store(write, target, values, mask, site)

    def _copy_filled(
        self, instruction: Instruction, size: int, source: Shape, target: Shape, given: Value, mask: Mask
    ) -> None:
        """Bytes from the source size on are 0 and are not read."""
        site = self.context.sites.add(instruction, "global", "read")
        sizes = self.lanes.umin(given, self.lanes.const("i32", size))
        self._observe_stretch("read", "global", source, sizes, mask, site)
        self._observe_stretch("copy", "shared", target, self.lanes.const("i32", size), mask, site)
        targets, sources = self._addresses_of(target, ADDRESSES), self._addresses_of(source, SOURCES)
        shared, plain = abi.SPACE_CODES["shared"], abi.SPACE_CODES["global"]
        self._served(
            "copy_filled", site, mask, f"i32 {shared}", f"ptr {targets}", f"i32 {plain}", f"ptr {sources}",
            f"i32 {size}", f"ptr {self._array(given, SIZES)}",
        )  # fmt: skip

    # Bulk copies.

    def _multicast(self, instruction: Instruction, mask: Mask) -> None:
        """The same copy for each rank that some lane names: target and mbarrier lie there at the same place."""
        emitter, lanes = self.emitter, self.lanes
        chosen = lanes.cast(self._source(instruction.operands[4], "i16"), "zext", "i32")
        before = emitter.label
        loop, copy, following, done = (emitter.new_label(name) for name in ("rank", "cast", "cast_on", "cast_done"))
        emitter.branch(loop)
        emitter.place(loop)
        rank, rank_next = emitter.fresh(), emitter.fresh()
        emitter.emit(f"{rank} = phi i32 [ 0, %{before} ], [ {rank_next}, %{following} ]")
        bit = lanes.and_(lanes.lshr(chosen, Value(rank, "i32", 0)), lanes.const("i32", 1))
        named = lanes.splat(lanes.icmp("ne", bit, lanes.const("i32", 0)))
        word = emitter.put(f"and i32 {emitter.put(f'bitcast {named} to i32')}, {mask.word}")
        emitter.branch_if(emitter.put(f"icmp ne i32 {word}, 0"), copy, following)
        emitter.place(copy)
        self._bulk(instruction, Mask(emitter, word), Value(rank, "i32", 0))
        emitter.branch(following)
        emitter.place(following)
        emitter.emit(f"{rank_next} = add i32 {rank}, 1")
        emitter.branch_if(emitter.put(f"icmp ult i32 {rank_next}, 16"), loop, done)
        emitter.place(done)

    def _bulk(self, instruction: Instruction, mask: Mask, rank: Value | None = None) -> None:
        emitter, width = self.emitter, self.lanes.width
        parts = instruction.modifiers
        spaces = [part.split("::")[0] for part in parts if part.split("::")[0] in ("shared", "global")]
        to, source_space = spaces[0], spaces[1]
        target = self._ranked(self._address(instruction, 0, to), rank)
        source = self._address(instruction, 1, source_space)
        sizes = self._source(instruction.operands[2], "i32")
        reduces = "reduce" in parts
        kind: AccessKind = "atomic" if reduces else "write"
        site = self.context.sites.add(instruction, to, kind)
        if (to, source_space) == ("shared", "shared"):
            self._need_clusters(mask, site)
        found = emitter.temporary("ptr", 2 * width, RESULT)
        size_array = self._array(sizes, SIZES)
        targets, sources = self._addresses_of(target, ADDRESSES), self._addresses_of(source, SOURCES)
        self._served(
            "bulk_ends", site, mask, f"i32 {abi.SPACE_CODES[to]}", f"ptr {targets}",
            f"i32 {abi.ATOMIC if reduces else abi.WRITE}", f"i32 {abi.SPACE_CODES[source_space]}", f"ptr {sources}",
            f"ptr {size_array}", f"ptr {found}",
        )  # fmt: skip
        self._observe_stretch("read", source_space, source, sizes, mask, site)
        self._observe_stretch(kind, to, target, sizes, mask, site)
        if reduces:
            self._reduce(instruction, to, size_array, found, mask)
        else:
            masks = "null"
            if "cp_mask" in parts:
                masks = self._array(self._source(instruction.operands[-1], "i32"), MORE)
            self._served("bulk_copy", site, mask, f"ptr {size_array}", f"ptr {found}", f"ptr {masks}")
        if TRANSACTIONS in parts:
            self._complete_bytes(instruction, 3, sizes, mask, rank)

    def _need_clusters(self, mask: Mask, site: int) -> None:
        """Copies between blocks end a launch without clusters, as on an H200."""
        emitter = self.emitter
        clustered, alone = emitter.new_label("clustered"), emitter.new_label("alone")
        explicit = self.registers.value(self.registers.special.read("%is_explicit_cluster"))
        emitter.branch_if(explicit.text, clustered, alone, LIKELY)
        emitter.place(alone)
        emitter.emit(f"call void @fault(ptr %ctx, ptr %tls, i32 {abi.NOT_CLUSTERED}, i32 {site}, i32 {mask.word})")
        emitter.branch("faulted")
        emitter.place(clustered)

    def _reduce(self, instruction: Instruction, to: str, sizes: str, found: str, mask: Mask) -> None:
        """For each active lane and each element: the atomic operation on the host's memory."""
        form = lookup(instruction)
        assert isinstance(form, Form)
        emitter, width = self.emitter, self.lanes.width
        # Unlike `red.global`, the engine of bulk copies keeps subnormal numbers of float32, as an H200 does.
        access = Access("generic" if to == "global" else to, instruction.types[-1], 1, False)
        start = emitter.label
        lane_label, first, done = (emitter.new_label(name) for name in ("lane", "reduce", "reduced"))
        emitter.branch(lane_label)
        emitter.place(lane_label)
        left, rest, at, following = (emitter.fresh() for _ in range(4))
        left_at = len(emitter.body)
        emitter.emit("")
        lane = emitter.put(f"call i32 @llvm.cttz.i32(i32 {left}, i1 true)")
        emitter.declare("declare i32 @llvm.cttz.i32(i32, i1)")
        size = emitter.put(f"load i32, ptr {emitter.put(f'getelementptr i32, ptr {sizes}, i32 {lane}')}")
        target = emitter.put(f"load ptr, ptr {emitter.put(f'getelementptr ptr, ptr {found}, i32 {lane}')}")
        behind = emitter.put(f"add i32 {lane}, {width}")
        source = emitter.put(f"load ptr, ptr {emitter.put(f'getelementptr ptr, ptr {found}, i32 {behind}')}")
        empty = emitter.put(f"icmp eq i32 {size}, 0")
        lane_end, following_lane = emitter.label, emitter.new_label("following")
        emitter.branch_if(empty, following_lane, first)
        emitter.place(first)
        at_at = len(emitter.body)
        emitter.emit("")
        type = access.llvm_type
        value = emitter.value(f"load {type}, ptr {emitter.put(f'getelementptr i8, ptr {source}, i32 {at}')}", type)
        self.atomics.update(form, access, emitter.put(f"getelementptr i8, ptr {target}, i32 {at}"), [value])
        emitter.emit(f"{following} = add i32 {at}, {access.size}")
        emitter.body[at_at] = f"  {at} = phi i32 [ 0, %{lane_end} ], [ {following}, %{emitter.label} ]"
        emitter.branch_if(emitter.put(f"icmp ult i32 {following}, {size}"), first, following_lane)
        emitter.place(following_lane)
        emitter.emit(f"{rest} = and i32 {left}, {emitter.put(f'sub i32 {left}, 1')}")
        emitter.body[left_at] = f"  {left} = phi i32 [ {mask.word}, %{start} ], [ {rest}, %{emitter.label} ]"
        emitter.branch_if(emitter.put(f"icmp ne i32 {rest}, 0"), lane_label, done)
        emitter.place(done)

    # Stores.

    def _store_async(self, instruction: Instruction, mask: Mask) -> None:
        """A store or an update, whose bytes are completed at an mbarrier."""
        access = access_of(instruction)
        access = Access("shared", access.type, access.count, True)
        shape = self._address(instruction, 0, "shared")
        values = [self._source(operand, access.llvm_type) for operand in flatten(instruction.operands[1:2])]
        if len(values) != access.count:
            raise problem_of(instruction, f"{instruction.form} needs {access.count} values")
        kind: AccessKind = "write" if instruction.opcode == "st" else "atomic"
        site = self.context.sites.add(instruction, "shared", kind)
        self._observe(kind, access, shape, mask, site, values)
        if kind == "write":
            self.memory.store(access, shape, values, mask, site)
        else:
            form = lookup(instruction)
            assert isinstance(form, Form)
            self.atomics.lower(form, access, shape, values, mask, site, False)
        self._complete_bytes(instruction, 2, self.lanes.const("i32", access.size), mask)

    def _bulk_zero(self, instruction: Instruction, mask: Mask) -> None:
        initial = instruction.operands[2]
        if not isinstance(initial, ImmediateOperand) or initial.value != 0:
            raise problem_of(instruction, f"{instruction.form} stores 0 only")
        space = space_of(instruction)
        target = self._address(instruction, 0, space)
        sizes = self.lanes.resize(self._source(instruction.operands[1], "i64"), "i32")
        site = self.context.sites.add(instruction, space, "write")
        self._observe_stretch("write", space, target, sizes, mask, site)
        targets, size_array = self._addresses_of(target, ADDRESSES), self._array(sizes, SIZES)
        self._served("bulk_zero", site, mask, f"i32 {abi.SPACE_CODES[space]}", f"ptr {targets}", f"ptr {size_array}")
