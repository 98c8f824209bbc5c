"""Which forms of the tensor core are measured, with which inputs: mma.sync by registers, wmma as whole programs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emulator.isa import Form, rows
from emulator.isa.fragments import PARTS, SHAPES, Element, Role, depth, registers_of
from emulator.isa.notation import Position
from emulator.isa.rows.matrix import product_of, wmma_types
from emulator.isa.table import find, fit

from .matrix_inputs import BITS, FAMILIES, WARPS, matrices
from .plan import shapes


def packed(fragment: Sequence[Element], matrix: np.ndarray, kind: str) -> list[np.ndarray]:
    """The registers of all warps' lanes that hold [warps, rows, columns] element bits."""
    wide = np.uint64 if kind == "f64" else np.uint32
    found = [np.zeros((len(matrix), 32), wide) for _ in range(1 + max(e.register for e in fragment))]
    for e in fragment:
        values = matrix[:, list(e.rows), list(e.columns)].astype(wide)
        found[e.register] |= values << wide(BITS[kind] * e.part if PARTS[kind] > 1 else 0)
    return [register.reshape(-1) for register in found]


@dataclass(frozen=True)
class MatrixCase:
    """A form of mma.sync with one family of matrices."""

    form: Form
    positions: tuple[Position, ...]
    family: str
    constants: tuple[tuple[int, int], ...] = ()
    active: bool = False

    @property
    def name(self) -> str:
        return f"{self.form.name} {self.family}"

    def sources(self) -> list[np.ndarray]:
        product = product_of(self.form)
        kinds = (*product.kinds, product.sums[1])
        extents = [
            (1 + max(max(e.rows) for e in fragment), 1 + max(max(e.columns) for e in fragment))
            for fragment in (product.a, product.b, product.c)
        ]
        a, b, c = matrices(kinds, extents[0], extents[1], extents[2], self.family)
        found = zip((product.a, product.b, product.c), (a, b, c), kinds, strict=True)
        return [register for fragment, matrix, kind in found for register in packed(fragment, matrix, kind)]


def matrix_cases() -> list[MatrixCase]:
    found = []
    for row in rows():
        if row.notation.opcode != "mma" or "sp|" in row.notation.text:
            continue
        for spelling in row.notation.spellings():
            (shape,) = shapes(row)
            form = find("mma", spelling, shape)
            assert isinstance(form, Form)
            positions = fit(row.notation.positions or (), shape) or ()
            found += [MatrixCase(form, positions, family) for family in FAMILIES]
    return found


def digest(results: Sequence[np.ndarray]) -> str:
    hashed = hashlib.sha256()
    for result in results:
        hashed.update(result.tobytes())
    return hashed.hexdigest()[:12]


_SIZES = {
    "m16n16k16": (16, 16, 16), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16), "m16n16k8": (16, 16, 8),
    "m8n8k4": (8, 8, 4), "m8n8k32": (8, 8, 32), "m8n8k128": (8, 8, 128),
}  # fmt: skip
_REGISTER = {"f64": "f64", "f32": "f32", "s32": "b32"}


@dataclass(frozen=True)
class Program:
    """One warp a block loads A, B and C, multiplies, and stores D; layouts of A, B, and of C and D."""

    form: Form
    layouts: tuple[str, str, str]
    space: str = ".global"

    @property
    def name(self) -> str:
        return f"{self.form.name} {self.layouts[2]}"

    @property
    def shape(self) -> str:
        return self.form.pick(*SHAPES)

    @property
    def types(self) -> tuple[str, ...]:
        return wmma_types(self.form.types)

    def buffers(self, family: str) -> list[np.ndarray]:
        """A, B and C as they lie in memory, and room for D, all warps' after each other, as bytes."""
        d, a, b, c = self.types
        m, n, k = _SIZES[self.shape]
        k = depth(k, a)
        found = matrices((a, b, c), (m, k), (k, n), (m, n), family)
        lying = [
            _in_memory(matrix if layout == "row" else matrix.transpose(0, 2, 1), kind)
            for matrix, layout, kind in zip(found, self.layouts, (a, b, c), strict=True)
        ]
        return [*lying, np.zeros(WARPS * m * n * BITS[d] // 8, "u1")]

    def text(self, entry: str) -> str:
        """The kernel's PTX."""
        d, a, b, c = self.types
        m, n, k = _SIZES[self.shape]
        elements = {"a": m * k, "b": k * n, "c": m * n, "d": m * n}
        lines = {"a": (k, m), "b": (n, k), "c": (n, m), "d": (n, m)}
        kinds = {"a": a, "b": b, "c": c, "d": d}
        layouts = dict(zip("abcd", (*self.layouts, self.layouts[2]), strict=True))
        body = [
            f".visible .entry {entry}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {{",
            ".reg .b64 %at<4>, %i; .reg .b32 %x, %stride; mov.u32 %x, %ctaid.x; cvt.u64.u32 %i, %x;",
        ]
        roles: dict[str, Role] = {"a": "a", "b": "b", "c": "c", "d": "c"}
        registers: dict[str, str] = {}
        for index, (name, kind) in enumerate(kinds.items()):
            size = elements[name] * (1 if kind == "b1" else BITS[kind]) // 8
            count = registers_of(roles[name], self.shape, kind)
            body.append(f".reg .{_REGISTER.get(kind, 'b32')} %{name}<{count}>;")
            registers[name] = "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"
            body.append(f"ld.param.u64 %at{index}, [p{name}]; mad.lo.u64 %at{index}, %i, {size}, %at{index};")
            if self.space == ".global":
                body.append(f"cvta.to.global.u64 %at{index}, %at{index};")
        for index, name in enumerate("abc"):
            stride = lines[name][layouts[name] == "col"]
            form = f"wmma.load.{name}.sync.aligned.{layouts[name]}.{self.shape}{self.space}.{kinds[name]}"
            body.append(f"{form} {registers[name]}, [%at{index}], {stride};")
        body.append(f"{self.form.name} {registers['d']}, {registers['a']}, {registers['b']}, {registers['c']};")
        form = f"wmma.store.d.sync.aligned.{layouts['d']}.{self.shape}{self.space}.{d}"
        body.append(f"{form} [%at3], {registers['d']}, {lines['d'][layouts['d'] == 'col']};")
        return "\n".join([*body, "ret; }"])


def _in_memory(matrix: np.ndarray, kind: str) -> np.ndarray:
    if BITS[kind] == 4:
        pairs = matrix.reshape(-1, 2)
        return (pairs[:, 0] | pairs[:, 1] << 4).astype("u1")
    return np.ascontiguousarray(matrix).reshape(-1).view("u1")


def programs() -> list[Program]:
    """Every form of wmma.mma with one choice of layouts; all choices occur."""
    found: list[Program] = []
    for row in rows():
        if row.notation.opcode != "wmma" or row.kind != "warp":
            continue
        (shape,) = shapes(row)
        spelt = row.notation.spellings()
        for kind in dict.fromkeys(tuple(p for p in spelling if p not in ("row", "col")) for spelling in spelt):
            *layouts, last = _LAYOUTS[len(found) % len(_LAYOUTS)]
            alike = [s for s in spelt if tuple(p for p in s if p not in ("row", "col")) == kind]
            spelling = next((s for s in alike if [p for p in s if p in ("row", "col")] == layouts), alike[0])
            form = find("wmma", spelling, shape)
            assert isinstance(form, Form)
            first, second = (p for p in spelling if p in ("row", "col"))
            found.append(Program(form, (first, second, last)))
    return found


_LAYOUTS = [(a, b, c) for c in ("row", "col") for a in ("row", "col") for b in ("col", "row")]


@dataclass(frozen=True)
class Transfer:
    """ldmatrix or stmatrix of one warp: `given` words go to shared memory or to registers, words come back.

    Lane l names the row 5·l mod 32 of 16 bytes.
    """

    name: str

    @property
    def count(self) -> int:
        return next(int(part[1:]) for part in self.name.split(".") if part in ("x1", "x2", "x4"))

    def given(self) -> np.ndarray:
        return np.arange(128, dtype="u4") * np.uint32(0x00030002) + np.uint32(0x00010000)

    def text(self, entry: str) -> str:
        vector = "{" + ", ".join(f"%r{i}" for i in range(self.count)) + "}"
        words = [f"%w{i}" for i in range(4)]
        lines = [
            f".visible .entry {entry}(.param .u64 in, .param .u64 out) {{",
            ".shared .align 16 .b8 tile[512]; .reg .b32 %r<4>, %w<4>, %lane, %own, %row; .reg .b64 %in, %out, %at;",
            "mov.u32 %lane, %tid.x; mul.wide.u32 %at, %lane, 16; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];",
            "add.u64 %in, %in, %at; add.u64 %out, %out, %at; mov.u32 %own, tile;",
            "mad.lo.u32 %row, %lane, 80, 0; and.b32 %row, %row, 511; add.u32 %row, %row, %own;",
            "mad.lo.u32 %own, %lane, 16, %own;",
            "ld.global.v4.b32 {" + ", ".join(words) + "}, [%in];",
        ]
        if self.name.startswith("ld"):
            lines += [
                "st.shared.v4.b32 [%own], {" + ", ".join(words) + "}; bar.warp.sync -1;",
                *(f"mov.b32 %r{i}, 0;" for i in range(4)),
                f"{self.name} {vector}, [%row];",
                "st.global.v4.b32 [%out], {%r0, %r1, %r2, %r3};",
            ]
        else:
            lines += [
                "st.shared.v4.b32 [%own], {%lane, %lane, %lane, %lane};",
                *(f"mov.b32 %r{i}, %w{i};" for i in range(4)),
                "bar.warp.sync -1;",
                f"{self.name} [%row], {vector}; bar.warp.sync -1;",
                "ld.shared.v4.b32 {" + ", ".join(words) + "}, [%own];",
                "st.global.v4.b32 [%out], {" + ", ".join(words) + "};",
            ]
        return "\n".join([*lines, "ret; }"])


def transfers() -> list[Transfer]:
    return [
        Transfer(".".join((row.notation.opcode, *spelling)))
        for row in rows()
        if row.notation.opcode in ("ldmatrix", "stmatrix")
        for spelling in row.notation.spellings()
        if "shared" in spelling
    ]
