"""Collects the LLVM IR text of one function: lines, fresh names, labels, and scalars that fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from emulator.analysis.shapes import Scalar, wrap
from emulator.isa.lanes import Lanes, Value

LIKELY, UNLIKELY = "!prof !0", "!prof !1"


class GangLanes(Lanes):
    """Lanes whose splats of one scalar are shared inside a stretch of code without labels."""

    def __init__(self, emitter: Emitter, width: int) -> None:
        super().__init__(width, emitter.emit, emitter.fresh, emitter.declare)
        self.emitter = emitter

    def splat(self, value: Value) -> Value:
        if value.lanes or not value.text.startswith("%"):
            return super().splat(value)
        known = self.emitter.shared_values
        key = (value.text, value.type)
        if key not in known:
            known[key] = super().splat(value)
        return known[key]


class Emitter:
    """The text of one function. Lines go to the body, or to one of the preludes, which dominate all of it.

    The prelude runs first. That of gangs follows; it knows the gang.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.body: list[str] = []
        self.prelude: list[str] = []
        self.gang_prelude: list[str] = []
        self.allocas: list[str] = []
        self.declarations: dict[str, None] = {}
        self.constants: dict[str, str] = {}  # definition → name, of the module
        self.label = "entry"
        self.shared_values: dict[tuple[str, str], Value] = {}
        self._lines = self.body
        self._names = 0
        self._temporaries: dict[tuple[str, int], str] = {}
        self.lanes = GangLanes(self, width)

    def emit(self, line: str) -> None:
        self._lines.append("  " + line)

    def fresh(self) -> str:
        self._names += 1
        return f"%t{self._names}"

    def declare(self, line: str) -> None:
        self.declarations[line] = None

    def put(self, instruction: str) -> str:
        """Emits an instruction and returns the name of its result."""
        name = self.fresh()
        self.emit(f"{name} = {instruction}")
        return name

    def constant_table(self, values: Sequence[int]) -> str:
        """The name of a constant array of 16-bit words."""
        return self.table("i16", values)

    def table(self, type: str, values: Sequence[int]) -> str:
        """The name of a constant array of integers."""
        return self.constants.setdefault(_array(type, tuple(values)), f"@table{len(self.constants)}")

    def value(self, instruction: str, type: str, lanes: int = 0) -> Value:
        return Value(self.put(instruction), type, lanes)

    def new_label(self, purpose: str) -> str:
        self._names += 1
        return f"{purpose}.{self._names}"

    def place(self, label: str) -> None:
        """Starts a block; splats made before it may not dominate it."""
        self._lines.append(f"{label}:")
        self.label = label
        self.shared_values = {}

    def branch(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def branch_if(self, condition: str, yes: str, no: str, weights: str = "") -> None:
        suffix = f", {weights}" if weights else ""
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}{suffix}")

    def phi(self, type: str, *incoming: tuple[str, str]) -> str:
        return self.put(f"phi {type} " + ", ".join(f"[ {value}, %{label} ]" for value, label in incoming))

    @contextmanager
    def in_prelude(self, of_gang: bool = False) -> Iterator[None]:
        """What is emitted inside goes to the prelude, or to that of gangs; each is a single block."""
        lines, shared = self._lines, self.shared_values
        self._lines, self.shared_values = self.gang_prelude if of_gang else self.prelude, {}
        try:
            yield
        finally:
            self._lines, self.shared_values = lines, shared

    def temporary(self, type: str, lanes: int, tag: int = 0) -> str:
        """An alloca for one vector, shared by all that use it between two of their instructions."""
        key = (type, lanes * 16 + tag)
        if key not in self._temporaries:
            name = f"%temporary{len(self._temporaries)}"
            self._temporaries[key] = name
            self.allocas.append(f"  {name} = alloca <{lanes} x {type}>, align 64")
        return self._temporaries[key]


class IrScalars:
    """Scalars of the lowering: ints that are known, else names of LLVM values. Folds like the analysis."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter

    def add(self, a: Scalar, b: Scalar, bits: int) -> Scalar:
        if isinstance(a, int) and isinstance(b, int):
            return wrap(a + b, bits)
        if a == 0:
            return b
        return a if b == 0 else self.emitter.put(f"add i{bits} {a}, {b}")

    def subtract(self, a: Scalar, b: Scalar, bits: int) -> Scalar:
        if isinstance(a, int) and isinstance(b, int):
            return wrap(a - b, bits)
        return a if b == 0 else self.emitter.put(f"sub i{bits} {a}, {b}")

    def multiply(self, a: Scalar, b: Scalar, bits: int) -> Scalar:
        if isinstance(a, int) and isinstance(b, int):
            return wrap(a * b, bits)
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        return a if b == 1 else self.emitter.put(f"mul i{bits} {a}, {b}")

    def and_(self, a: Scalar, b: Scalar, bits: int) -> Scalar:
        if isinstance(a, int) and isinstance(b, int):
            return wrap(a & b, bits)
        return self.emitter.put(f"and i{bits} {a}, {b}")

    def shift_right(self, a: Scalar, count: int, signed: bool, bits: int) -> Scalar:
        if isinstance(a, int):
            return wrap(a >> count if signed else (a & ((1 << bits) - 1)) >> count, bits)
        return a if count == 0 else self.emitter.put(f"{'ashr' if signed else 'lshr'} i{bits} {a}, {count}")

    def truncate(self, a: Scalar) -> Scalar:
        return wrap(a, 32) if isinstance(a, int) else self.emitter.put(f"trunc i64 {a} to i32")

    def extend(self, a: Scalar, signed: bool) -> Scalar:
        if isinstance(a, int):
            return a if signed else a & 0xFFFFFFFF
        return self.emitter.put(f"{'sext' if signed else 'zext'} i32 {a} to i64")


@lru_cache(maxsize=1024)
def _array(type: str, values: tuple[int, ...]) -> str:
    """Accesses ask for few tables again and again."""
    return f"[{len(values)} x {type}] [{', '.join(f'{type} {value}' for value in values)}]"
