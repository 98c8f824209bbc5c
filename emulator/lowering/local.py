"""Local memory: interleaved by words, so that lanes with one offset use consecutive words (see `abi`)."""

from __future__ import annotations

from emulator.analysis.shapes import Shape
from emulator.isa.builder import BITS
from emulator.isa.lanes import Value
from emulator.lowering.access import Access
from emulator.lowering.addresses import Addresses
from emulator.lowering.emitter import LIKELY, Emitter
from emulator.lowering.memory import Mask, MemoryLowering

_WORD = Access("local", "b32", 1, False)


class LocalLowering:
    """Accesses are split into words of 4 bytes, or one piece of 1 or 2 bytes."""

    def __init__(self, emitter: Emitter, addresses: Addresses, memory: MemoryLowering) -> None:
        self.emitter = emitter
        self.lanes = emitter.lanes
        self.addresses = addresses
        self.memory = memory
        self.width = emitter.width

    def load(self, access: Access, shape: Shape, mask: Mask, site: int) -> list[Value]:
        vector = self._checked(access, shape, mask, site, "slow_load")
        if access.element < 4:
            return [self._small_load(access, vector, part * access.element, mask) for part in range(access.count)]
        words = [self._load_word(shape, vector, 4 * word, mask) for word in range(access.size // 4)]
        if access.element == 4:
            return [self.lanes.bitcast(word, access.llvm_type) for word in words]
        return [self._join(low, high, access.llvm_type) for low, high in zip(words[::2], words[1::2], strict=True)]

    def store(self, access: Access, shape: Shape, values: list[Value], mask: Mask, site: int) -> None:
        vector = self._checked(access, shape, mask, site, "slow_store")
        vectors = [self.lanes.splat(value) for value in values]
        if access.element < 4:
            for part, value in enumerate(vectors):
                places = self._places(vector, part * access.element)
                self._scatter(access, places, value, mask)
            return
        words: list[Value] = []
        for value in vectors:
            words += [self.lanes.bitcast(value, "i32")] if access.element == 4 else self._split(value)
        for index, word in enumerate(words):
            self._store_word(shape, vector, 4 * index, word, mask)

    def _checked(self, access: Access, shape: Shape, mask: Mask, site: int, function: str) -> Value:
        """The vector of offsets, all active ones aligned and inside the thread's local memory."""
        emitter = self.emitter
        vector = self.addresses.vector(shape)
        if shape.kind == "uniform":
            layout = self.addresses.layout(shape)
            assert layout is not None
            ok = self.addresses.in_bounds(access, layout.base, site, 0)
        else:
            ok = self.addresses.lanes_in_bounds(access, vector, mask.word, site)
        inside, outside = emitter.new_label("inside"), emitter.new_label("outside")
        emitter.branch_if(ok, inside, outside, LIKELY)
        emitter.place(outside)
        # The run time reports the lane at fault and never comes back with success.
        self.memory.slow_call(function, access, self.addresses.vector(shape), mask.word, site, 0,
                              self.memory.buffer(access))  # fmt: skip
        emitter.branch(inside)
        emitter.place(inside)
        return self.addresses.vector(shape) if vector.text.startswith("%") and shape.kind != "varying" else vector

    def _uniform_word(self, shape: Shape, offset: int) -> str | None:
        """Pointer to the row of words at a uniform offset."""
        if shape.kind != "uniform":
            return None
        layout = self.addresses.layout(shape)
        assert layout is not None
        scalars = self.addresses.scalars
        row = scalars.multiply(scalars.add(layout.base, offset, 64), self.width, 64)
        return self.emitter.put(f"getelementptr i8, ptr %local, i64 {row}")

    def _places(self, vector: Value, offset: int) -> Value:
        """Byte offsets, in the gang's local memory, of an offset in each lane."""
        lanes = self.lanes
        moved = lanes.add(vector, lanes.const("i64", offset)) if offset else vector
        inside = lanes.and_(moved, lanes.const("i64", 3))
        row = lanes.binary("mul", lanes.and_(moved, lanes.const("i64", -4)), lanes.const("i64", self.width))
        column = lanes.lane_constants("i64", [4 * lane for lane in range(self.width)])
        return lanes.add(lanes.add(row, column), inside)

    def _pointers(self, places: Value) -> Value:
        base = Value(self.emitter.put("ptrtoint ptr %local to i64"), "i64", 0)
        return self.lanes.add(places, base)

    def _load_word(self, shape: Shape, vector: Value, offset: int, mask: Mask) -> Value:
        row = self._uniform_word(shape, offset)
        if row is not None:
            return self.emitter.value(f"load <{self.width} x i32>, ptr {row}, align 4", "i32", self.width)
        return self.memory.gather(_WORD, self._pointers(self._places(vector, offset)), 0, mask)

    def _store_word(self, shape: Shape, vector: Value, offset: int, word: Value, mask: Mask) -> None:
        row = self._uniform_word(shape, offset)
        if row is None:
            self._scatter(_WORD, self._places(vector, offset), word, mask)
            return
        name = f"llvm.masked.store.v{self.width}i32.p0"
        self.emitter.declare(f"declare void @{name}({word.llvm_type}, ptr, {mask.vector.llvm_type})")
        self.emitter.emit(f"call void @{name}({word}, ptr align 4 {row}, {mask.vector})")

    def _scatter(self, access: Access, places: Value, value: Value, mask: Mask) -> None:
        self.memory.scatter(access, self._pointers(places), 0, value, mask.vector)

    def _small_load(self, access: Access, vector: Value, offset: int, mask: Mask) -> Value:
        return self.memory.gather(access, self._pointers(self._places(vector, offset)), 0, mask)

    def _join(self, low: Value, high: Value, type: str) -> Value:
        lanes = self.lanes
        upper = lanes.binary("shl", lanes.cast(high, "zext", "i64"), lanes.const("i64", 32))
        return lanes.bitcast(lanes.or_(upper, lanes.cast(low, "zext", "i64")), type)

    def _split(self, value: Value) -> list[Value]:
        lanes = self.lanes
        bits = lanes.bitcast(value, f"i{BITS[value.type]}")
        return [
            lanes.cast(bits, "trunc", "i32"),
            lanes.cast(lanes.binary("lshr", bits, lanes.const("i64", 32)), "trunc", "i32"),
        ]
