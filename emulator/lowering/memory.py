"""Loads and stores: one scalar access, a contiguous vector, shuffled windows, or a gather; always within bounds.

Each access first tries its fast path under one check against the site's cached allocation. Where the check fails the
run time looks every active lane up (`@slow_load`, `@slow_store`, `@resolve`): it refills the cache or reports a fault.
"""

from __future__ import annotations

from collections.abc import Callable

from emulator.analysis.shapes import Scalar, Shape
from emulator.isa.builder import MANGLED
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.access import Access, Layout, Window, windows_of
from emulator.lowering.addresses import Addresses
from emulator.lowering.emitter import LIKELY, Emitter
from emulator.lowering.groups import Group
from emulator.lowering.registers import RegisterFile
from emulator.lowering.vectors import deinterleave, interleave, pick, positions_of, runs_of

# An access's group and its own offset, where its bounds are checked with others'.
Bound = tuple[Group, int] | None


class Mask:
    """The active lanes of a block of code: the word, and the vector of predicates."""

    def __init__(self, emitter: Emitter, word: str) -> None:
        self.word = word
        self.vector = emitter.value(f"bitcast i{emitter.width} {word} to <{emitter.width} x i1>", "i1", emitter.width)


class MemoryLowering:
    def __init__(self, emitter: Emitter, registers: RegisterFile, addresses: Addresses) -> None:
        self.emitter = emitter
        self.lanes = emitter.lanes
        self.registers = registers
        self.addresses = addresses
        self.width = emitter.width

    # Entry points.

    def load(self, access: Access, shape: Shape, mask: Mask, site: int, bound: Bound = None) -> list[Value]:
        """The elements at an address: uniform scalars where the address is uniform, else vectors."""
        layout = self._layout(access, shape)
        if layout is not None and shape.kind == "uniform":
            return self._load_uniform(access, layout, mask, site, bound)
        if layout is not None and layout.axis is not None and self._is_run_time_stride(layout):
            return self._by_stride(access, shape, layout, mask, site)
        windows = None if layout is None else windows_of(layout, access.size)
        if layout is None or windows is None:
            return self._gather(access, shape, mask, site)
        return self._load_windows(access, shape, layout, windows, mask, site, bound)

    def store(
        self, access: Access, shape: Shape, values: list[Value], mask: Mask, site: int, bound: Bound = None
    ) -> None:
        layout = self._layout(access, shape)
        if layout is not None and shape.kind == "uniform":
            self._store_uniform(access, layout, values, mask, site, bound)
            return
        vectors = [self.lanes.splat(value) for value in values]
        windows = None if layout is None else windows_of(layout, access.size)
        if layout is not None and windows is not None and (pieces := runs_of(windows)) is not None:
            self._store_windows(access, shape, layout, windows, pieces, vectors, mask, site, bound)
        else:
            self._scatter(access, shape, vectors, mask, site)

    def _layout(self, access: Access, shape: Shape) -> Layout | None:
        """A generic address may point into local memory, where equal addresses are different places."""
        if access.space == "generic" and self.addresses.local_bytes:
            return None
        return self.addresses.layout(shape)

    # Pieces that all paths share.

    def slow_call(
        self, function: str, access: Access, lanes: Value | Shape, mask: str, site: int, extra: int, data: str,
        positions: str = "null",
    ) -> None:  # fmt: skip
        """Hands all active lanes to the run time; comes back only where no lane is at fault.

        `lanes` are their addresses, or the shape that these have. Lane l uses element positions[l] of `data` (a table
        of i16), l itself without a table.
        """
        emitter = self.emitter
        addresses = self.addresses.listed(lanes)
        ok = emitter.put(
            f"call i1 @{function}(ptr %ctx, ptr %tls, i32 {site}, ptr {addresses}, i64 {self._wide(mask)}, "
            f"i32 {access.size}, i32 {access.space_code}, i32 {extra}, ptr {data}, ptr {positions})"
        )
        after = emitter.new_label("served")
        emitter.branch_if(ok, after, "faulted", LIKELY)
        emitter.place(after)

    def _wide(self, mask: str) -> str:
        """A mask as the run time takes it."""
        return mask if self.width == 64 else self.emitter.put(f"zext i{self.width} {mask} to i64")

    def buffer(self, access: Access) -> str:
        return self.emitter.temporary(access.llvm_type, self.width * access.count, tag=1)

    def _merge(self, first: list[Value], first_label: str, second: list[Value], second_label: str) -> list[Value]:
        return [
            Value(self.emitter.phi(a.llvm_type, (a.text, first_label), (b.text, second_label)), a.type, a.lanes)
            for a, b in zip(first, second, strict=True)
        ]

    def _volatile(self, access: Access) -> str:
        return "volatile " if access.is_strong else ""

    # One address for all lanes.

    def _uniform_pointer(self, access: Access, layout: Layout, mask: Mask, site: int, kind: int, bound: Bound) -> str:
        """The host pointer of a uniform address that has been checked."""
        emitter = self.emitter
        ok, extra = self._in_bounds(access, [layout.base], [], site, 0, bound)
        start, slow, after = emitter.label, emitter.new_label("lookup"), emitter.new_label("found")
        fast = self.addresses.pointer(access, layout.base)
        emitter.branch_if(ok, after, slow, LIKELY)
        emitter.place(slow)
        resolved = emitter.put(
            f"call ptr @resolve_one(ptr %ctx, ptr %tls, i32 {site}, i64 {layout.base}, i64 {self._wide(mask.word)}, "
            f"i32 {access.size}, i32 {access.space_code}, i32 {kind}, i32 {extra})"
        )
        found = emitter.put(f"icmp ne ptr {resolved}, null")
        join = emitter.new_label("resolved")
        emitter.branch_if(found, join, "faulted", LIKELY)
        emitter.place(join)
        emitter.branch(after)
        emitter.place(after)
        return emitter.phi("ptr", (fast, start), (resolved, join))

    def _load_uniform(self, access: Access, layout: Layout, mask: Mask, site: int, bound: Bound) -> list[Value]:
        pointer = self._uniform_pointer(access, layout, mask, site, abi.READ, bound)
        found: list[Value] = []
        for part in range(access.count):
            place = pointer if part == 0 else self._offset(pointer, part * access.element)
            load = f"load {self._volatile(access)}{access.llvm_type}, ptr {place}, align {access.element}"
            found.append(self.emitter.value(load, access.llvm_type))
        return found

    def _offset(self, pointer: str, offset: int) -> str:
        return self.emitter.put(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def _store_uniform(
        self, access: Access, layout: Layout, values: list[Value], mask: Mask, site: int, bound: Bound
    ) -> None:
        """All lanes write one place: the last active lane's value stays."""
        emitter = self.emitter
        pointer = self._uniform_pointer(access, layout, mask, site, abi.WRITE, bound)
        last: Value | None = None
        for part, value in enumerate(values):
            if value.lanes:
                if last is None:
                    word = f"i{self.width}"
                    leading = self.lanes.call("llvm.ctlz", Value(mask.word, word, 0), Value("true", "i1", 0))
                    last = self.lanes.sub(self.lanes.const(word, self.width - 1), leading)
                value = self.lanes.extract(value, last)
            place = pointer if part == 0 else self._offset(pointer, part * access.element)
            emitter.emit(f"store {self._volatile(access)}{value}, ptr {place}, align {access.element}")

    # Windows.

    def _check(
        self, access: Access, shape: Shape, layout: Layout, windows: list[Window], site: int, bound: Bound
    ) -> tuple[str, int]:
        """One condition for all windows, and how many accesses follow the first of the longest."""
        extra = max(window.length for window in windows) - 1
        if bound is not None and bound[0].condition is not None:
            return bound[0].condition, extra
        bases = [self.addresses.window_base(layout, window) for window in windows]
        return self._in_bounds(access, bases, self.addresses.no_wrap(shape), site, extra, bound)

    def _in_bounds(
        self, access: Access, bases: list[Scalar], conditions: list[str], site: int, extra: int, bound: Bound
    ) -> tuple[str, int]:
        """The condition that stretches of `extra` + 1 accesses are in bounds, with the rest of their group."""
        shift = 0
        if bound is not None:
            group, offset = bound
            if group.condition is not None:
                return group.condition, extra
            shift = group.low - offset
            extra += group.extra
        for base in bases:
            moved = self.addresses.scalars.add(base, shift, 64)
            conditions.append(self.addresses.in_bounds(access, moved, site, extra))
        total = conditions[0]
        for condition in conditions[1:]:
            total = self.emitter.put(f"and i1 {total}, {condition}")
        if bound is not None:
            bound[0].condition = total
        return total, extra

    def _load_windows(
        self, access: Access, shape: Shape, layout: Layout, windows: list[Window], mask: Mask, site: int,
        bound: Bound = None,
    ) -> list[Value]:  # fmt: skip
        """Whole windows are read, inactive lanes included: they are in bounds.

        Where they are not, the run time puts the active lanes' elements into a buffer of the windows' layout, which
        is read instead: only pointers meet behind the branch, not vectors.
        """
        emitter = self.emitter
        ok, extra = self._check(access, shape, layout, windows, site, bound)
        near = [self.addresses.pointer(access, self.addresses.window_base(layout, window)) for window in windows]
        start, far, after = emitter.label, emitter.new_label("far"), emitter.new_label("loaded")
        emitter.branch_if(ok, after, far, LIKELY)
        emitter.place(far)
        starts, positions = positions_of(windows)
        total = sum(window.length for window in windows)
        buffer = emitter.temporary(access.llvm_type, max(total, self.width) * access.count, tag=1)
        table = "null" if positions == list(range(self.width)) else emitter.constant_table(positions)
        self.slow_call("slow_load", access, shape, mask.word, site, extra, buffer, table)
        elsewhere = [self._offset(buffer, first * access.size) for first in starts]
        end = emitter.label
        emitter.branch(after)
        emitter.place(after)
        pointers = [
            emitter.phi("ptr", (here, start), (there, end)) for here, there in zip(near, elsewhere, strict=True)
        ]
        return self._read_windows(access, windows, pointers)

    def _read_windows(self, access: Access, windows: list[Window], pointers: list[str]) -> list[Value]:
        result: list[Value] = []
        for window, pointer in zip(windows, pointers, strict=True):
            type = access.llvm_type
            total = window.length * access.count
            if total == 1:
                one = self.emitter.value(f"load {type}, ptr {pointer}, align {access.element}", type)
                parts = [self.lanes.splat(one)]
            else:
                load = f"load {self._volatile(access)}<{total} x {type}>, ptr {pointer}, align {access.element}"
                whole = self.emitter.value(load, type, total)
                parts = [pick(self.lanes, whole, window, part, access.count) for part in range(access.count)]
            if not result:
                result = parts
            else:
                blend = [self.width + lane if i >= 0 else lane for lane, i in enumerate(window.index)]
                result = [self.lanes.shuffle(old, blend, new) for old, new in zip(result, parts, strict=True)]
        return result

    def _store_windows(
        self, access: Access, shape: Shape, layout: Layout, windows: list[Window], pieces: list[tuple[int, int]],
        vectors: list[Value], mask: Mask, site: int, bound: Bound,
    ) -> None:  # fmt: skip
        emitter = self.emitter
        ok, extra = self._check(access, shape, layout, windows, site, bound)
        fast, slow, after = (emitter.new_label(name) for name in ("near", "far", "stored"))
        whole = interleave(self.lanes, vectors)
        emitter.branch_if(ok, fast, slow, LIKELY)
        emitter.place(fast)
        full, part = emitter.new_label("full"), emitter.new_label("part")
        is_full = emitter.put(f"icmp eq i{self.width} {mask.word}, -1")
        emitter.branch_if(is_full, full, part)
        for label, masked in ((full, False), (part, True)):
            emitter.place(label)
            for window, (first, count) in zip(windows, pieces, strict=True):
                pointer = self.addresses.pointer(access, self.addresses.window_base(layout, window))
                self._store_piece(access, whole, first, count, pointer, mask.vector if masked else None)
            emitter.branch(after)
        emitter.place(slow)
        self._slow_store(access, shape, whole, mask, site, extra)
        emitter.branch(after)
        emitter.place(after)

    def _store_piece(
        self, access: Access, whole: Value, first: int, count: int, pointer: str, mask: Value | None
    ) -> None:
        length = count * access.count
        piece = whole
        if length != whole.lanes:
            piece = self.lanes.shuffle(whole, range(first * access.count, first * access.count + length))
        if mask is None:
            self.emitter.emit(f"store {self._volatile(access)}{piece}, ptr {pointer}, align {access.element}")
            return
        active = mask
        if access.count > 1 or length != mask.lanes:
            active = self.lanes.shuffle(mask, [first + index // access.count for index in range(length)])
        name = f"llvm.masked.store.v{length}{MANGLED.get(piece.type, piece.type)}.p0"
        self.emitter.declare(f"declare void @{name}({piece.llvm_type}, ptr, {active.llvm_type})")
        self.emitter.emit(f"call void @{name}({piece}, ptr align {access.element} {pointer}, {active})")

    def _slow_store(self, access: Access, shape: Shape, whole: Value, mask: Mask, site: int, extra: int) -> None:
        data = self.buffer(access)
        self.emitter.emit(f"store {whole}, ptr {data}, align 64")
        self.slow_call("slow_store", access, shape, mask.word, site, extra, data)

    # A stride that is known at run time only.

    def _is_run_time_stride(self, layout: Layout) -> bool:
        return layout.axis == tuple(range(self.width)) and len(set(layout.offsets)) == 1

    def _by_stride(self, access: Access, shape: Shape, layout: Layout, mask: Mask, site: int) -> list[Value]:
        """tid.x·n with n unknown: contiguous where n is the size of the access, else gathered."""
        emitter = self.emitter
        contiguous = Layout(layout.base, tuple(access.size * lane for lane in range(self.width)), 0, None)
        windows = windows_of(contiguous, access.size)
        assert windows is not None
        base = self.addresses.scalars.add(layout.base, layout.offsets[0], 64)
        contiguous = Layout(base, contiguous.offsets, 0, None)
        dense, sparse, after = (emitter.new_label(name) for name in ("dense", "sparse", "strided"))
        is_dense = emitter.put(f"icmp eq i64 {layout.step}, {access.size}")
        emitter.branch_if(is_dense, dense, sparse)
        emitter.place(dense)
        first = self._load_windows(access, shape, contiguous, windows, mask, site)
        first_end = emitter.label
        emitter.branch(after)
        emitter.place(sparse)
        second = self._gather(access, shape, mask, site)
        second_end = emitter.label
        emitter.branch(after)
        emitter.place(after)
        return self._merge(first, first_end, second, second_end)

    # Lane by lane.

    def _by_lanes(self, access: Access, vector: Value, mask: Mask, site: int, fast: Callable[[], list[Value]],
                  slow: Callable[[], list[Value]]) -> list[Value]:  # fmt: skip
        emitter = self.emitter
        ok = self.addresses.lanes_in_bounds(access, vector, mask.word, site)
        near, far, after = (emitter.new_label(name) for name in ("near", "far", "done"))
        emitter.branch_if(ok, near, far, LIKELY)
        emitter.place(near)
        first = fast()
        near_end = emitter.label
        emitter.branch(after)
        emitter.place(far)
        second = slow()
        far_end = emitter.label
        emitter.branch(after)
        emitter.place(after)
        return self._merge(first, near_end, second, far_end)

    def _gather(self, access: Access, shape: Shape, mask: Mask, site: int) -> list[Value]:
        vector = self.addresses.vector(shape)

        def fast() -> list[Value]:
            return [self.gather(access, vector, part * access.element, mask) for part in range(access.count)]

        def slow() -> list[Value]:
            data = self.buffer(access)
            self.slow_call("slow_load", access, vector, mask.word, site, 0, data)
            return deinterleave(self.emitter, access, data)

        return self._by_lanes(access, vector, mask, site, fast, slow)

    def gather(self, access: Access, vector: Value, offset: int, mask: Mask) -> Value:
        pointers = self.addresses.pointers(access, vector, offset)
        type, width = access.llvm_type, self.width
        name = f"llvm.masked.gather.v{width}{MANGLED.get(type, type)}.v{width}p0"
        declared = f"declare <{width} x {type}> @{name}(<{width} x ptr>, <{width} x i1>, <{width} x {type}>)"
        self.emitter.declare(declared)
        return self.emitter.value(
            f"call <{width} x {type}> @{name}(<{width} x ptr> align {access.element} {pointers}, {mask.vector}, "
            f"<{width} x {type}> zeroinitializer)",
            type, width,
        )  # fmt: skip

    def scatter(self, access: Access, vector: Value, offset: int, value: Value, mask: Value) -> None:
        pointers = self.addresses.pointers(access, vector, offset)
        type, width = value.type, self.width
        name = f"llvm.masked.scatter.v{width}{MANGLED.get(type, type)}.v{width}p0"
        self.emitter.declare(f"declare void @{name}({value.llvm_type}, <{width} x ptr>, <{width} x i1>)")
        self.emitter.emit(f"call void @{name}({value}, <{width} x ptr> align {access.element} {pointers}, {mask})")

    def _scatter(self, access: Access, shape: Shape, vectors: list[Value], mask: Mask, site: int) -> None:
        vector = self.addresses.vector(shape)

        def fast() -> list[Value]:
            for part, value in enumerate(vectors):
                self.scatter(access, vector, part * access.element, value, mask.vector)
            return []

        def slow() -> list[Value]:
            data = self.buffer(access)
            self.emitter.emit(f"store {interleave(self.lanes, vectors)}, ptr {data}, align 64")
            self.slow_call("slow_store", access, vector, mask.word, site, 0, data)
            return []

        self._by_lanes(access, vector, mask, site, fast, slow)
