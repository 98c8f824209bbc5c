"""The tensor core's product of two small matrices that lie in a warp's registers, as one routine a form.

The routine lays A, B and C out as matrices on its stack, computes D row by row (a row has eight columns, which are
the lanes of its code) and gives each lane its elements of D. It is defined once a module and called for each warp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from emulator.isa.builder import Value
from emulator.isa.fragments import LANES, PARTS, Element
from emulator.isa.half import halves, pack
from emulator.isa.lanes import Lanes
from emulator.isa.outline import outlined
from emulator.isa.rounding import Rounding
from emulator.isa.sparsity import Sparsity
from emulator.isa.tensor_elements import FLOATING, arrange, elements, exponent
from emulator.isa.tensor_sums import Term, bit_row, byte_row, double_row, float_row, integer_row, quad_row
from emulator.isa.warps import WARP, concatenate

_COLUMNS = 8
_CELLS = {"f16": "i16", "f32": "float", "f64": "double", "s32": "i32"}


@dataclass(frozen=True, slots=True)
class Product:
    """A form of D = A·B + C: the fragments of its operands, their kinds and how it sums.

    `operation` is 'satfinite', 'xor', 'and', a rounding of doubles, or empty. More than 16 rows are products of
    their own of eight rows each, with eight columns of B for each. `step` is how many k the hardware takes at a time.
    """

    name: str
    a: tuple[Element, ...]
    b: tuple[Element, ...]
    c: tuple[Element, ...]
    d: tuple[Element, ...]
    kinds: tuple[str, str]  # of A and B
    sums: tuple[str, str]  # of D and C
    operation: str = ""
    step: int = 256
    sparsity: Sparsity | None = None

    @property
    def rows(self) -> int:
        return 1 + max(max(e.rows) for e in self.c)

    @property
    def depth(self) -> int:
        return 1 + max(max(e.columns) for e in self.a)

    @property
    def blocks(self) -> int:
        return (1 + max(max(e.columns) for e in self.b)) // _COLUMNS


def multiply(
    x: Lanes, product: Product, a: Sequence[Value], b: Sequence[Value], c: Sequence[Value], *metadata: Value
) -> tuple[Value, ...]:
    """The registers of D of every warp of the gang; a sparse A has a word of metadata a lane."""

    def body(inner: Lanes, arguments: Sequence[Value]) -> Sequence[Value]:
        a_end, b_end = len(a), len(a) + len(b)
        rest = arguments[b_end : b_end + len(c)], arguments[b_end + len(c) :]
        return _Routine(inner, product).run(arguments[:a_end], arguments[a_end:b_end], *rest)

    return by_warp(x, product.name, body, [*a, *b, *c, *metadata])


def by_warp(
    x: Lanes, name: str, body: Callable[[Lanes, Sequence[Value]], Sequence[Value]], arguments: Sequence[Value]
) -> tuple[Value, ...]:
    """Calls a routine for each warp of the gang."""
    warp = Lanes(WARP, x.emit, x.fresh, x.declare)
    warp.functions = x.functions
    vectors = [x.splat(value) for value in arguments]
    results = []
    for start in range(0, x.width, WARP):
        own = [v if x.width == WARP else x.shuffle(v, range(start, start + WARP)) for v in vectors]
        results.append(outlined(warp, name, body, own))
    return tuple(concatenate(x, parts) for parts in zip(*results, strict=True))


class _Routine:
    """Emits the body; `x` has a warp's lanes, `row` the columns of a row."""

    def __init__(self, x: Lanes, product: Product) -> None:
        self.x = x
        self.product = product
        self.row = Lanes(_COLUMNS, x.emit, x.fresh, x.declare)

    def run(self, a: Sequence[Value], b: Sequence[Value], c: Sequence[Value], metadata: Sequence[Value]) -> list[Value]:
        product, x = self.product, self.x
        kind = product.kinds[0]
        self.cell = "double" if kind in FLOATING or kind == "f64" else "i32"
        a_elements, a_powers = self._decoded(product.a, a, product.kinds[0])
        b_elements, b_powers = self._decoded(product.b, b, product.kinds[1])
        self.a = self._stored(a_elements)
        self.a_powers = self._stored(a_powers) if a_powers else None
        self.b = self._stored(self._b_rows(b_elements))
        self.b_powers = self._stored(self._b_rows(b_powers)) if b_powers else None
        self.columns: str | None = None
        if product.sparsity is not None:
            columns = product.sparsity.columns(x, product.a, metadata[0])
            self.columns = self._stored([x.shl(column, x.const("i32", 3)) for column in columns])  # eight in a row of B
        c_matrix = self._stored(self._accumulator(c))
        d_type = _CELLS[product.sums[0]]
        d_matrix = x.fresh()
        x.emit(f"{d_matrix} = alloca [{product.rows * _COLUMNS} x {d_type}], align 64")
        self._loop(c_matrix, d_matrix)
        return self._results(d_matrix)

    # Into memory.

    def _decoded(
        self, fragment: Sequence[Element], registers: Sequence[Value], kind: str
    ) -> tuple[list[Value], list[Value]]:
        """The elements by fragment order, and the powers of two of floating ones."""
        x = self.x
        parts = [elements(x, register, kind) for register in registers]
        found = [parts[e.register][e.part] for e in fragment]
        if kind not in FLOATING:
            return found, []
        return [x.cast(v, "fpext", "double") for v in found], [exponent(x, v, kind) for v in found]

    def _stored(self, vectors: Sequence[Value]) -> str:
        """An array on the stack with the vectors one after another."""
        lanes, type = vectors[0].lanes, vectors[0].type
        array = self.x.fresh()
        self.x.emit(f"{array} = alloca [{lanes * len(vectors)} x {type}], align 64")
        for index, vector in enumerate(vectors):
            self.x.emit(f"store {vector}, ptr {self._at(array, type, index * lanes)}, align {_alignment(vector)}")
        return array

    def _at(self, array: str, type: str, index: int | str) -> str:
        if index == 0:
            return array
        name = self.x.fresh()
        self.x.emit(f"{name} = getelementptr {type}, ptr {array}, i64 {index}")
        return name

    def _b_rows(self, found: Sequence[Value]) -> list[Value]:
        """Rows of B by block and k."""
        places = _places(self.product.b)
        rows = []
        for block in range(self.product.blocks):
            for k in range(1 + max(max(e.rows) for e in self.product.b)):
                rows.append(arrange(self.x, found, [places[k, _COLUMNS * block + n] for n in range(_COLUMNS)]))
        return rows

    def _accumulator(self, registers: Sequence[Value]) -> list[Value]:
        """C by blocks of eight rows."""
        x, product = self.x, self.product
        parts = [halves(x, r) if product.sums[1] == "f16" else (r,) for r in registers]
        found = [parts[e.register][e.part] for e in product.c]
        places = _places(product.c)
        return [
            arrange(x, found, [places[first + r, n] for r in range(8) for n in range(_COLUMNS)])
            for first in range(0, product.rows, 8)
        ]

    # Row by row.

    def _loop(self, c_matrix: str, d_matrix: str) -> None:
        x, product = self.x, self.product
        here = _places(product.a)
        places = [
            element * LANES + lane
            for row in range(product.rows)
            for element, lane in (here[row, k] for k in range(product.depth))
        ]
        table = f"@{product.name}.places"
        values = ", ".join(f"i16 {place}" for place in places)
        x.declare(f"{table} = internal constant [{len(places)} x i16] [{values}]")
        x.emit("br label %rows")
        x.emit("rows:")
        index, following = x.fresh(), x.fresh()
        # The block before has no name of its own: it is the routine's first.
        x.emit(f"{index} = phi i64 [ 0, %entry ], [ {following}, %rows ]")
        c_type, d_type = _CELLS[product.sums[1]], _CELLS[product.sums[0]]
        first = self._put(f"mul i64 {index}, {_COLUMNS}")
        c_row = self._load(self._at(c_matrix, c_type, first), c_type, _COLUMNS)
        d_row = self._sum(self._terms(table, index), c_row)
        x.emit(f"store {self.row.splat(d_row)}, ptr {self._at(d_matrix, d_type, first)}, align {_alignment(d_row)}")
        x.emit(f"{following} = add i64 {index}, 1")
        more = self._put(f"icmp ult i64 {following}, {product.rows}")
        x.emit(f"br i1 {more}, label %rows, label %done")
        x.emit("done:")

    def _put(self, text: str) -> str:
        name = self.x.fresh()
        self.x.emit(f"{name} = {text}")
        return name

    def _load(self, pointer: str, type: str, lanes: int = 0) -> Value:
        value = Value("", type, lanes)
        return Value(self._put(f"load {value.llvm_type}, ptr {pointer}, align {_alignment(value)}"), type, lanes)

    def _terms(self, table: str, row: str) -> list[Term]:
        depth = self.product.depth
        own = self._at(table, "i16", self._put(f"mul i64 {row}, {depth}"))
        b, b_powers = self.b, self.b_powers
        if self.product.blocks > 1:
            block = self._put(f"lshr i64 {row}, 3")
            start = self._put(f"mul i64 {block}, {depth * _COLUMNS}")
            b = self._at(b, self.cell, start)
            b_powers = self._at(b_powers, "i32", start) if b_powers is not None else None
        terms = []
        for k in range(depth):
            place = self._put(f"zext i16 {self._load(self._at(own, 'i16', k), 'i16').text} to i64")
            left = self._load(self._at(self.a, self.cell, place), self.cell)
            b_row: int | str = _COLUMNS * k
            if self.columns is not None:
                b_row = self._put(f"zext i32 {self._load(self._at(self.columns, 'i32', place), 'i32').text} to i64")
            right = self._load(self._at(b, self.cell, b_row), self.cell, _COLUMNS)
            powers = None
            if self.a_powers is not None and b_powers is not None:
                powers = (
                    self._load(self._at(self.a_powers, "i32", place), "i32"),
                    self._load(self._at(b_powers, "i32", b_row), "i32", _COLUMNS),
                )
            terms.append(Term(left, right, powers))
        return terms

    def _sum(self, terms: list[Term], c: Value) -> Value:
        product, x = self.product, self.row
        kind, operation = product.kinds[0], product.operation
        if kind == "f64":
            return double_row(x, terms, c, cast(Rounding, operation or "rn"))
        if kind == "b1":
            return bit_row(x, operation, terms, c)
        if kind in FLOATING:
            if product.blocks > 1:
                return quad_row(x, terms, c, product.sums)
            if PARTS[kind] == 4:
                return byte_row(x, terms, c, product.sums[0])
            for start in range(0, len(terms), product.step):
                c = float_row(x, terms[start : start + product.step], c, product.sums)
            return c
        return integer_row(x, terms, c, operation == "satfinite")

    # Back to the lanes.

    def _results(self, d_matrix: str) -> list[Value]:
        x, product = self.x, self.product
        type = _CELLS[product.sums[0]]
        size = 8 * _COLUMNS
        blocks = [
            self._load(self._at(d_matrix, type, start), type, size) for start in range(0, product.rows * _COLUMNS, size)
        ]
        found: dict[tuple[int, int], Value] = {}
        for element in product.d:
            flat = [r * _COLUMNS + n for r, n in zip(element.rows, element.columns, strict=True)]
            found[element.register, element.part] = arrange(x, blocks, [divmod(place, size) for place in flat])
        count = 1 + max(register for register, _ in found)
        if product.sums[0] == "f16":
            return [pack(x, found[register, 0], found[register, 1]) for register in range(count)]
        return [found[register, 0] for register in range(count)]


def _alignment(value: Value) -> int:
    return value.bits // 8 * max(1, min(value.lanes, 8))


def _places(fragment: Sequence[Element]) -> dict[tuple[int, int], tuple[int, int]]:
    """(element, lane) that holds the value of each row and column."""
    return {
        (row, column): (index, lane)
        for index, e in enumerate(fragment)
        for lane, (row, column) in enumerate(zip(e.rows, e.columns, strict=True))
    }
