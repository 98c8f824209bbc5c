"""Special registers, addresses of module variables and kernel parameters: what the prelude of a gang loads."""

from __future__ import annotations

from collections.abc import Callable

from emulator.analysis.classify import lane_numbers, special_shape
from emulator.analysis.flat import FlatKernel
from emulator.analysis.gang import Gang
from emulator.analysis.shapes import Scalar, Shape, affine, uniform, varying
from emulator.isa.lanes import Value
from emulator.lowering import abi
from emulator.lowering.emitter import Emitter, IrScalars

_AXES = {"x": 0, "y": 1, "z": 2}
# What a kernel that runs alone on the emulated device sees; every other register of the table that is not read
# from the launch is 0.
_CONSTANTS = {
    "%nsmid": 132, "%gridid": 1, "%nwarpid": 64, "%reserved_smem_offset_end": 288, "%reserved_smem_offset_cap": 1024,
}  # fmt: skip
_LANE_MASKS: dict[str, Callable[[int], int]] = {
    "%lanemask_eq": lambda lane: 1 << lane,
    "%lanemask_le": lambda lane: (2 << lane) - 1,
    "%lanemask_lt": lambda lane: (1 << lane) - 1,
    "%lanemask_ge": lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1),
    "%lanemask_gt": lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1),
}


class SpecialRegisters:
    def __init__(self, emitter: Emitter, flat: FlatKernel, gang: Gang) -> None:
        self.emitter = emitter
        self.flat = flat
        self.gang = gang
        self.scalars = IrScalars(emitter)
        self.tables: list[str] = []  # module-level constants
        self._known: dict[str, Scalar] = {}
        self._parameters = {p.name: p for p in flat.entry.parameters}
        self._global_index = {name: index for index, name in enumerate(flat.globals)}

    def _once(self, key: str, instruction: str, of_gang: bool = False) -> Scalar:
        """A value that the prelude, or that of gangs, computes at the first use."""
        if key not in self._known:
            with self.emitter.in_prelude(of_gang):
                self._known[key] = self.emitter.put(instruction)
        return self._known[key]

    def _load_once(self, key: str, type: str, pointer: str, offset: int) -> Scalar:
        if key not in self._known:
            with self.emitter.in_prelude():
                address = self.emitter.put(f"getelementptr i8, ptr {pointer}, i64 {offset}")
                self._known[key] = self.emitter.put(f"load {type}, ptr {address}, !invariant.load !2")
        return self._known[key]

    def context(self, name: str, type: str, offset: int) -> Scalar:
        """A field of the launch context that never changes."""
        return self._load_once(f"context {name} {type}", type, "%ctx", offset)

    def global_address(self, name: str) -> Scalar:
        if name in self._parameters:
            block = self._once("parameters", f"ptrtoint ptr {self.parameter_block()} to i64")
            return self.scalars.add(block, self._parameters[name].offset, 64)
        index = self._global_index[name]
        table = str(self.context("globals", "ptr", abi.CONTEXT_GLOBALS))
        return self._load_once(f"global {name}", "i64", table, 8 * index)

    def spans_of(self, space: str) -> list[tuple[Value, int]]:
        """Where constants ('const') or parameters ('param') lie in the arena: addresses and bytes."""
        if space == "param":
            end = max((p.offset + p.size for p in self.flat.entry.parameters), default=0)
            names = [(p.name, end) for p in self.flat.entry.parameters[:1]]
        else:
            names = [(name, v.size) for name, v in self.flat.globals.items() if v.space == "const"]
        return [(self._address_value(name), size) for name, size in names]

    def _address_value(self, name: str) -> Value:
        return Value(str(self.global_address(name)), "i64", 0)

    def is_parameter(self, name: str) -> bool:
        return name in self._parameters

    def parameter_block(self) -> str:
        return str(self.context("parameters", "ptr", abi.CONTEXT_PARAMETERS))

    def parameter(self, name: str, offset: int, type: str) -> Scalar:
        """The value of a kernel parameter, or of a piece of one."""
        position = self._parameters[name].offset + offset
        return self._load_once(f"parameter {position} {type}", type, self.parameter_block(), position)

    def parameter_bytes(self, name: str) -> int:
        return self._parameters[name].size

    def read(self, name: str) -> Shape:
        root, _, axis = name.partition(".")
        if root == "%tid":
            return self._thread_index(_AXES[axis])
        if root == "%ntid":
            return uniform("i32", self.gang.block[_AXES[axis]])
        if root == "%ctaid":
            return uniform("i32", f"%b{axis}")
        if root == "%nctaid":
            return uniform("i32", self.context(f"grid {axis}", "i32", abi.CONTEXT_GRID + 4 * _AXES[axis]))
        if name == "%laneid":
            return affine(0, lane_numbers(self.gang), 31, self.scalars)
        if name == "%warpid":
            return uniform("i32", "%w")
        if name in _LANE_MASKS:
            masks = [_LANE_MASKS[name](lane % 32) for lane in range(self.gang.width)]
            return varying("i32", self.emitter.lanes.lane_constants("i32", masks).text)
        if name in _CONSTANTS:
            return uniform(special_shape(name, self.gang).type, _CONSTANTS[name])
        if name.startswith(("%clock", "%globaltimer")):
            return self._clock(name)
        if name.endswith("_smem_size"):
            return self._shared_size(name)
        if "cluster" in root:
            return self._cluster(root, axis)
        if name in ("%envreg1", "%envreg2"):
            # The halves of an address, the upper one first.
            half = 4 if name == "%envreg1" else 0
            return uniform("i32", self.context(name, "i32", abi.CONTEXT_WORKSPACE + half))
        return uniform(special_shape(name, self.gang).type, 0)

    def _cluster(self, root: str, axis: str) -> Shape:
        """Where the block's cluster is in the grid, and the block in its cluster."""
        if root == "%is_explicit_cluster":
            flag = self.context("clustered", "i32", abi.CONTEXT_CLUSTERED)
            return uniform("i1", self._once("explicit cluster", f"icmp ne i32 {flag}, 0"))
        if root == "%cluster_nctarank":
            return uniform("i32", self.context("cluster blocks", "i32", abi.CONTEXT_CLUSTER_BLOCKS))
        if root == "%cluster_ctarank":
            plane = self._once("rank z", f"mul i32 {self._extent('y')}, {self._inner('z')}")
            rows = self._once("rank y", f"add i32 {plane}, {self._inner('y')}")
            before = self._once("rank x", f"mul i32 {rows}, {self._extent('x')}")
            return uniform("i32", self._once("rank", f"add i32 {before}, {self._inner('x')}"))
        if root == "%cluster_nctaid":
            return uniform("i32", self._extent(axis))
        if root == "%cluster_ctaid":
            return uniform("i32", self._inner(axis))
        index: Scalar = f"%b{axis}"
        if root == "%nclusterid":
            index = self.context(f"grid {axis}", "i32", abi.CONTEXT_GRID + 4 * _AXES[axis])
        return uniform("i32", self._once(f"{root} {axis}", f"udiv i32 {index}, {self._extent(axis)}"))

    def _extent(self, axis: str) -> Scalar:
        return self.context(f"cluster {axis}", "i32", abi.CONTEXT_CLUSTER + 4 * _AXES[axis])

    def _inner(self, axis: str) -> Scalar:
        return self._once(f"inner {axis}", f"urem i32 %b{axis}, {self._extent(axis)}")

    def _shared_size(self, name: str) -> Shape:
        """Bytes of shared memory: the dynamic ones, all in steps of allocation, or all with what is reserved."""
        dynamic = self.context("dynamic shared", "i32", abi.CONTEXT_DYNAMIC_SHARED)
        if name == "%dynamic_smem_size":
            return uniform("i32", dynamic)
        if name == "%aggr_smem_size":
            reserved = _CONSTANTS["%reserved_smem_offset_cap"] + self.flat.shared_bytes
            return uniform("i32", self._once(name, f"add i32 {dynamic}, {reserved}"))
        whole = self._once("shared size", f"add i32 {dynamic}, {self.flat.shared_bytes + 127}")
        return uniform("i32", self._once(name, f"and i32 {whole}, -128"))

    def _clock(self, name: str) -> Shape:
        """Cycles of the host, or nanoseconds."""
        if name.startswith("%globaltimer"):
            self.emitter.declare("declare i64 @global_time(ptr)")
            ticks = self.emitter.put("call i64 @global_time(ptr %tls)")
        else:
            self.emitter.declare("declare i64 @cycle_count(ptr)")
            ticks = self.emitter.put("call i64 @cycle_count(ptr %tls)")
        if name in ("%clock64", "%globaltimer"):
            return uniform("i64", ticks)
        if name.endswith("_hi"):
            ticks = self.emitter.put(f"lshr i64 {ticks}, 32")
        return uniform("i32", self.emitter.put(f"trunc i64 {ticks} to i32"))

    def _thread_index(self, axis: int) -> Shape:
        layout = self.gang.layout(axis)
        if layout.pattern is None:
            return self._computed_index(axis)
        bases = layout.bases
        if len(set(bases)) == 1:
            base: Scalar = bases[0]
        elif all(base == bases[1] * index for index, base in enumerate(bases)):
            base = self._once(f"tid base {axis}", f"mul i32 %w, {bases[1]}", of_gang=True)
        else:
            base = self._table_entry(axis, bases)
        return affine(base, layout.pattern, layout.align, self.scalars)

    def _table_entry(self, axis: int, bases: tuple[int, ...]) -> Scalar:
        """Irregular bases of gangs are looked up in a constant table."""
        key = f"tid base {axis}"
        if key not in self._known:
            elements = ", ".join(f"i32 {base}" for base in bases)
            self.tables.append(f"@tid{axis} = private constant [{len(bases)} x i32] [{elements}]")
            with self.emitter.in_prelude(of_gang=True):
                pointer = self.emitter.put(f"getelementptr i32, ptr @tid{axis}, i32 %w")
                self._known[key] = self.emitter.put(f"load i32, ptr {pointer}, !invariant.load !2")
        return self._known[key]

    def _computed_index(self, axis: int) -> Shape:
        """A block shape whose rows do not fit the gang: divide the thread's number."""
        key = f"tid {axis}"
        if key not in self._known:
            x, y, _ = self.gang.block
            with self.emitter.in_prelude(of_gang=True):
                lanes = self.emitter.lanes
                first = lanes.binary("mul", lanes.const("i32", self.gang.width), Value("%w", "i32", 0))
                thread = lanes.binary("add", first, lanes.lane_constants("i32", range(self.gang.width)))
                row = lanes.binary("udiv", thread, lanes.const("i32", (1, x, x * y)[axis]))
                self._known[key] = lanes.binary("urem", row, lanes.const("i32", self.gang.block[axis])).text
        return varying("i32", self._known[key])
