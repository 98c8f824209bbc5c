"""Atomic operations: the active lanes one after the other, each on its own address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from emulator.analysis.shapes import Shape
from emulator.analysis.width import ONE_WARP
from emulator.isa.form import Form
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.access import Access
from emulator.lowering.addresses import Addresses
from emulator.lowering.emitter import LIKELY, Emitter
from emulator.lowering.memory import Mask, MemoryLowering

# Which temporaries hold operands and results; vectors have up to eight of each.
_OPERANDS, _RESULTS = 8, 16


class AtomicLowering:
    """`changed` is told of old and new values in shared memory."""

    def __init__(
        self, emitter: Emitter, addresses: Addresses, memory: MemoryLowering, changed: Callable[[Value, Value], None]
    ) -> None:
        self.changed = changed
        self.emitter = emitter
        self.lanes = emitter.lanes
        self.addresses = addresses
        self.memory = memory
        self.width = emitter.width

    def lower(
        self, form: Form, access: Access, shape: Shape, operands: list[Value], mask: Mask, site: int, used: bool
    ) -> list[Value]:
        """Updates memory, the elements of a vector one after the other; the old values where they are used.

        `operands` are one value an element, or for one element what stands behind the address.
        """
        emitter, width = self.emitter, self.width
        done = ""
        if not used and self._is_short(form, access, shape, operands):
            done = emitter.new_label("updated")
        pointers = self._host_pointers(form, access, shape, operands, mask, site, done)
        places = emitter.temporary("ptr", width)
        emitter.emit(f"store <{width} x ptr> {pointers}, ptr {places}, align 64")
        stored: list[str] = []
        for index, operand in enumerate(operands):
            memory = emitter.temporary(operand.type, width, tag=_OPERANDS + index)
            if operand.lanes:
                emitter.emit(f"store {operand}, ptr {memory}, align 64")
            stored.append(memory)
        results = [emitter.temporary(access.llvm_type, width, tag=_RESULTS + part) for part in range(access.count)]
        before, loop, after = emitter.label, emitter.new_label("atomic"), emitter.new_label("after_atomic")
        emitter.branch(loop)
        emitter.place(loop)
        left, rest = emitter.fresh(), emitter.fresh()
        # The phi's second edge comes from the end of this loop, whose label is known only after the body.
        phi_at = len(emitter.body)
        emitter.emit("")
        lane = emitter.put(f"call i{width} @llvm.cttz.i{width}(i{width} {left}, i1 true)")
        emitter.declare(f"declare i{width} @llvm.cttz.i{width}(i{width}, i1)")
        place = emitter.put(f"getelementptr ptr, ptr {places}, i{width} {lane}")
        pointer = emitter.put(f"load ptr, ptr {place}")
        scalars = [self._element(operand, memory, lane) for operand, memory in zip(operands, stored, strict=True)]
        for part, result in enumerate(results):
            place = pointer
            if part:
                place = emitter.put(f"getelementptr i8, ptr {pointer}, i64 {part * access.element}")
            mine = scalars if access.count == 1 else [scalars[part]]
            old = self.update(form, replace(access, count=1), place, mine)
            if used:
                target = emitter.put(f"getelementptr {old.type}, ptr {result}, i{width} {lane}")
                emitter.emit(f"store {old}, ptr {target}")
        less = emitter.put(f"sub i{width} {left}, 1")
        emitter.emit(f"{rest} = and i{width} {left}, {less}")
        more = emitter.put(f"icmp ne i{width} {rest}, 0")
        emitter.body[phi_at] = f"  {left} = phi i{width} [ {mask.word}, %{before} ], [ {rest}, %{emitter.label} ]"
        emitter.branch_if(more, loop, after)
        emitter.place(after)
        if done:
            emitter.branch(done)
            emitter.place(done)
        if not used:
            return []
        type = access.llvm_type
        return [emitter.value(f"load <{width} x {type}>, ptr {result}, align 64", type, width) for result in results]

    def _element(self, operand: Value, memory: str, lane: str) -> Value:
        if not operand.lanes:
            return operand
        place = self.emitter.put(f"getelementptr {operand.type}, ptr {memory}, i{self.width} {lane}")
        return self.emitter.value(f"load {operand.type}, ptr {place}", operand.type)

    def _is_short(self, form: Form, access: Access, shape: Shape, operands: list[Value]) -> bool:
        """Whether updates of all lanes in a row are little code: each a word of shared memory that one number meets."""
        assert form.atomic is not None
        word = access.space == "shared" and access.llvm_type == "i32" and access.count == 1
        alike = form.atomic.rmw is not None and not any(operand.lanes for operand in operands)
        return word and alike and shape.kind == "varying" and self.width == ONE_WARP

    def _in_a_row(self, form: Form, access: Access, addresses: Value, operands: list[Value], mask: Mask) -> None:
        """Updates the words of all lanes, which are in bounds; idle lanes have words of their own before the others.

        A test whether all lanes are active would keep the processor from working ahead, and so does each trip of a
        lane's address through memory: two addresses at a time leave the vector.
        """
        emitter, lanes, pairs = self.emitter, self.lanes, self.width // 2
        idle = ", ".join(f"i32 {4 * lane - abi.SHARED_SCRATCH}" for lane in range(self.width))
        aside = Value(f"<{idle}>", "i32", self.width)
        offsets = lanes.select(mask.vector, lanes.resize(addresses, "i32"), aside)
        both = emitter.put(f"bitcast {offsets} to <{pairs} x i64>")
        for index in range(pairs):
            pair = emitter.put(f"extractelement <{pairs} x i64> {both}, i64 {index}")
            low = emitter.put(f"sext i32 {emitter.put(f'trunc i64 {pair} to i32')} to i64")
            for offset in (low, emitter.put(f"ashr i64 {pair}, 32")):
                self.update(form, access, emitter.put(f"getelementptr i8, ptr %shared, i64 {offset}"), operands)

    def _host_pointers(
        self, form: Form, access: Access, shape: Shape, operands: list[Value], mask: Mask, site: int, done: str
    ) -> str:
        """A pointer for each lane. With a label `done`, all is updated at once and goes there if it is in bounds."""
        emitter = self.emitter
        vector = self.addresses.vector(shape)
        ok = self.addresses.lanes_in_bounds(access, vector, mask.word, site)
        near, far, after = (emitter.new_label(name) for name in ("near", "far", "located"))
        emitter.branch_if(ok, near, far, LIKELY)
        emitter.place(near)
        if done:
            self._in_a_row(form, access, vector, operands, mask)
            emitter.branch(done)
        else:
            first = self.addresses.pointers(access, vector)
            near_end = emitter.label
            emitter.branch(after)
        emitter.place(far)
        found = emitter.temporary("ptr", self.width, tag=6)
        self.memory.slow_call("resolve", access, vector, mask.word, site, 0, found)
        second = emitter.put(f"load <{self.width} x ptr>, ptr {found}, align 64")
        far_end = emitter.label
        emitter.branch(after)
        emitter.place(after)
        return second if done else emitter.phi(f"<{self.width} x ptr>", (first, near_end), (second, far_end))

    def update(self, form: Form, access: Access, pointer: str, operands: list[Value]) -> Value:
        assert form.atomic is not None
        emitter, type = self.emitter, access.llvm_type
        align = f"align {access.size}"
        if access.space == "shared":
            # The gangs of a block run on one thread, so nobody can come between.
            old = emitter.value(f"load {type}, ptr {pointer}, {align}", type)
            new = form.atomic.combine(self.lanes, old, operands)
            emitter.emit(f"store {new}, ptr {pointer}, {align}")
            self.changed(old, new)
            return old
        if form.atomic.rmw is not None:
            return emitter.value(f"atomicrmw {form.atomic.rmw} ptr {pointer}, {operands[0]} seq_cst, {align}", type)
        return self._compare_and_swap(form, access, pointer, operands)

    def _compare_and_swap(self, form: Form, access: Access, pointer: str, operands: list[Value]) -> Value:
        assert form.atomic is not None
        emitter, type = self.emitter, access.llvm_type
        bits = f"i{8 * access.size}"
        first = emitter.put(f"load atomic {bits}, ptr {pointer} monotonic, align {access.size}")
        before, loop, done = emitter.label, emitter.new_label("swap"), emitter.new_label("swapped")
        emitter.branch(loop)
        emitter.place(loop)
        seen, known = emitter.fresh(), emitter.fresh()
        phi_at = len(emitter.body)
        emitter.emit("")
        old = self.lanes.bitcast(Value(known, bits, 0), type)
        combine = form.atomic.combine_global if access.space == "global" else form.atomic.combine
        new = self.lanes.bitcast((combine or form.atomic.combine)(self.lanes, old, operands), bits)
        pair = emitter.put(f"cmpxchg ptr {pointer}, {bits} {known}, {new} seq_cst seq_cst, align {access.size}")
        emitter.emit(f"{seen} = extractvalue {{ {bits}, i1 }} {pair}, 0")
        ok = emitter.put(f"extractvalue {{ {bits}, i1 }} {pair}, 1")
        emitter.body[phi_at] = f"  {known} = phi {bits} [ {first}, %{before} ], [ {seen}, %{emitter.label} ]"
        emitter.branch_if(ok, done, loop)
        emitter.place(done)
        return self.lanes.bitcast(Value(known, bits, 0), type)


ACCESS_KIND = abi.ATOMIC
