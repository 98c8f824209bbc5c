"""Straight-line programs over every measured form.

`python -m tests.emulator.straight` writes tests/data/ptx/straight.ptx, `python -m tests.emulator.straight OUT` runs it
on a GPU and writes OUT/straight_h200.json.

A program has registers of every width, filled from the thread's own input, and some 150 random instructions on them:
arithmetic with literals among the sources, carry chains, operations of the warp, loads and stores of other widths in
shared memory, atomics. It stores all registers at its end. Sums and products carry `.rn`, without which ptxas may fuse
them.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import random
import sys
from functools import cache
from pathlib import Path

import numpy as np

from emulator.isa import LLVM_TYPES, Form, rows
from tests.emulator.isa.plan import Case, cases, warp_cases
from tests.emulator.isa.vectors import vector

DATA = Path(__file__).parents[1] / "data"
TEXT, DIGESTS = DATA / "ptx" / "straight.ptx", DATA / "ptx" / "straight_h200.json"
PROGRAMS, LENGTH = 48, 150
BLOCK, GRID = 64, 2
WORDS = 64  # of input and output a thread
_POOLS = {"i1": ("%p", 4), "i16": ("%h", 8), "i32": ("%x", 12), "i64": ("%w", 8)}
_POOL_OF = {"i1": "i1", "i16": "i16", "i32": "i32", "float": "i32", "i64": "i64", "double": "i64"}
_INTEGERS = ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64")
_VIDEO = tuple(f"v{name}{n}" for name in ("absdiff", "add", "sub", "avrg", "min", "max", "set") for n in (2, 4))
_REGISTERS_ONLY = ("mov", "cvt", "bfe", "bfi", *_VIDEO)  # or literals in a range of their own


def usable(case: Case) -> bool:
    """Whether a form can stand in a program: register types, and roundings that nobody may drop."""
    form = case.form
    kinds = {LLVM_TYPES[kind] for kind in (*form.sources, *form.destinations)}
    if not kinds <= set(_POOL_OF) or form.opcode in ("mma", "movmatrix", "createpolicy", "tanh", "elect"):
        return False
    floating = any(part in ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2") for part in form.modifiers)
    return not (floating and form.opcode in ("add", "sub", "mul") and not form.pick("rn", "rz", "rm", "rp"))


_FLOATS = {"f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "tf32", "e4m3x2", "e5m2x2"}
# ptxas 13.0 lets these change their destination where the guard is false.
_UNGUARDED = ("testp", "set")
EXTRA: tuple[str, ...] = ()  # names of further cases, as long as they are not measured


@cache
def forms() -> dict[str, list[Case]]:
    """The measured cases by opcode, so that opcodes are equally likely."""
    lines = [*(DATA / "isa" / "sm_90.tsv").read_text().splitlines(), *EXTRA]
    known = {line.split("\t")[0] for line in lines} | set(np.load(DATA / "isa" / "sm_90_approximate.npz").files)
    planned = [case for row in rows() if row.kind == "alu" for case in cases(row, everything=True)]
    found: dict[str, list[Case]] = {}
    for case in [*planned, *warp_cases()]:
        if case.name in known and usable(case):
            found.setdefault(case.form.opcode, []).append(case)
    return found


class Program:
    def __init__(self, name: str, generator: random.Random) -> None:
        self.name = name
        self.random = generator
        self.lines: list[str] = []
        self.floating: set[str] = set()  # registers that a floating instruction wrote last

    def register(self, low: str) -> str:
        prefix, count = _POOLS[_POOL_OF[low]]
        return f"{prefix}{self.random.randrange(count)}"

    def bits(self, low: str) -> str:
        """A register that holds bits or an integer, or else a literal.

        ptxas 13.0 takes one that a floating instruction wrote for a number, and converts it, where it is a shift's
        amount or is stored as a byte.
        """
        prefix, count = _POOLS[_POOL_OF[low]]
        names = [f"{prefix}{number}" for number in range(count)]
        return self.random.choice([name for name in names if name not in self.floating] or ["1"])

    def source(self, kind: str, opcode: str) -> str:
        low = LLVM_TYPES[kind]
        if opcode in ("shl", "shr") and kind == "u32":
            return self.bits(low)
        if kind in _INTEGERS and opcode not in _REGISTERS_ONLY and self.random.random() < 0.15:
            size = 16 if low == "i16" else 32
            value = self.random.choice((0, 1, 2, 7, 31, 32, 63, 255, -1, self.random.getrandbits(size - 1)))
            return str(value) if kind[0] == "s" or value >= 0 else hex((1 << size) - 1)
        return self.register(low)

    def _operands(self, case: Case) -> str:
        form, fixed = case.form, dict(case.constants)
        targets: list[str] = []
        for kind in form.destinations:
            fresh = self.register(LLVM_TYPES[kind])
            while fresh in targets:
                fresh = self.register(LLVM_TYPES[kind])
            targets.append(fresh)
        sources = [
            str(fixed[i]) if i in fixed else self.source(kind, form.opcode)
            for i, kind in enumerate(form.sources)
            if kind != "cc"
        ]
        if case.active and form.sources:
            sources[-1] = "-1"
        if set(form.sources) == {"f64"} and len(sources) > 1:
            # Which of two NaNs is passed on is ptxas's choice where operands are the same.
            sources = self.random.sample([f"%w{n}" for n in range(8)], len(sources))
        written = self.floating.update if set(form.modifiers) & _FLOATS else self.floating.difference_update
        written(targets)
        if sources and not any(text[0] == "%" for text in sources):
            # Of literals alone ptxas works the result out itself, special functions with other last bits.
            sources[0] = self.register(LLVM_TYPES[form.sources[0]])
        shown, d, s = [], iter(targets), iter(sources)
        for position in case.positions:
            stream = d if position.destination else s
            parts = [next(stream) for _ in position.elements]
            if position.paired:
                shown[-1] += "|" + parts[0]
            else:
                shown.append("{" + ", ".join(parts) + "}" if position.vector else parts[0])
        return ", ".join(shown)

    def _carry(self, case: Case) -> None:
        """A carry is set right before it is read, and read right after it is set."""
        family = "sub" if case.form.opcode.startswith("sub") else "add"
        if case.form.row.carry_in:
            self.lines.append(
                f"{family}.cc.u32 {self.register('i32')}, {self.register('i32')}, {self.register('i32')};"
            )
        self.lines.append(f"{case.form.name} {self._operands(case)};")
        if case.form.row.carry_out:
            self.lines.append(f"{family}c.u32 {self.register('i32')}, {self.register('i32')}, 0;")

    def step(self) -> None:
        chance = self.random.random()
        if chance < 0.12:
            offset = 4 * self.random.randrange(WORDS - 1)
            target = self.register("i32")
            self.floating.discard(target)
            self.lines.append(f"ld.global.b32 {target}, [%in+{offset}];")
        elif chance < 0.18:
            self._shared()
        elif chance < 0.22:
            self._atomic()
        else:
            table = forms()
            case = self.random.choice(table[self.random.choice(sorted(table))])
            form: Form = case.form
            if form.row.carry_in or form.row.carry_out:
                self._carry(case)
                return
            before = set(self.floating)
            guard = f"@{'!' if self.random.random() < 0.5 else ''}{self.register('i1')} "
            guarded = form.row.kind == "alu" and form.opcode not in _UNGUARDED and self.random.random() < 0.1
            self.lines.append(f"{guard if guarded else ''}{form.name} {self._operands(case)};")
            if guarded:
                self.floating |= before  # the old value may stay

    def _shared(self) -> None:
        """Bytes of the thread's own 64, written at one width and read at another."""
        for opcode in ("st", "ld"):
            kind = self.random.choice(("b8", "s8", "u8", "b16", "s16", "u16", "b32", "f32", "b64", "u64", "f64"))
            size = int(kind[1:]) // 8
            low = {1: "i16", 2: "i16", 4: "i32", 8: "i64"}[size]
            if opcode == "ld" and kind[0] in "su" and size < 4 and self.random.random() < 0.5:
                low = "i32"  # extended
            count = self.random.choice([n for n in (1, 2, 4) if n * size <= 16])
            pool = [f"{_POOLS[low][0]}{n}" for n in range(_POOLS[low][1])]
            if opcode == "st":
                pool = [name for name in pool if name not in self.floating or kind[0] == "f"]
                if len(pool) < count:
                    return
            names = self.random.sample(pool, count)
            if opcode == "ld":
                (self.floating.update if kind[0] == "f" else self.floating.difference_update)(names)
            vector_, text = ("", names[0]) if count == 1 else (f".v{count}", "{" + ", ".join(names) + "}")
            place = f"[%mine+{self.random.randrange(64 // (size * count)) * size * count}]"
            operands = f"{place}, {text}" if opcode == "st" else f"{text}, {place}"
            self.lines.append(f"{opcode}.shared{vector_}.{kind} {operands};")

    def _atomic(self) -> None:
        """On a word of the thread's own in global memory."""
        kind, operations = self.random.choice((
            ("u32", ("add", "min", "max", "inc", "dec")), ("s32", ("add", "min", "max")), ("f32", ("add",)),
            ("b32", ("and", "or", "xor", "exch", "cas")), ("u64", ("add", "min", "max")), ("s64", ("min", "max")),
            ("b64", ("and", "or", "xor", "exch", "cas")), ("f64", ("add",)), ("f16x2", ("add.noftz",)),
            ("bf16x2", ("add.noftz",)), ("f16", ("add.noftz",)),
        ))  # fmt: skip
        operation = self.random.choice(operations)
        low = {"64": "i64", "16": "i16"}.get(kind.lstrip("busf"), "i32")
        names = [self.register(low) for _ in range(3 if operation == "cas" else 2)]
        place = f"[%cell+{8 * self.random.randrange(4)}]"
        (self.floating.update if "f" in kind else self.floating.difference_update)(names[:1])
        self.lines.append(f"atom.global.{operation}.{kind} {names[0]}, {place}, {', '.join(names[1:])};")

    def text(self) -> str:
        setup = [
            ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %x<12>; .reg .b64 %w<8>;",
            ".reg .b32 %t<4>; .reg .b64 %in, %out, %cell; .reg .b32 %mine;",
            f".shared .align 16 .b8 {self.name}_shared[{64 * BLOCK}];",
            "mov.u32 %t0, %ctaid.x; mov.u32 %t1, %ntid.x; mov.u32 %t2, %tid.x; mad.lo.u32 %t3, %t0, %t1, %t2;",
            "ld.param.u64 %in, [given]; cvta.to.global.u64 %in, %in;",
            f"mad.wide.u32 %in, %t3, {4 * WORDS}, %in;",
            "ld.param.u64 %out, [result]; cvta.to.global.u64 %out, %out;",
            f"mad.wide.u32 %out, %t3, {4 * WORDS}, %out; add.s64 %cell, %out, 160;",
            f"mov.u32 %mine, {self.name}_shared; mad.lo.u32 %mine, %t2, 64, %mine;",
        ]
        offset = 0
        for prefix, count, size in (("%w", 8, 8), ("%x", 12, 4), ("%h", 8, 2)):
            for index in range(count):
                setup.append(f"ld.global.b{8 * size} {prefix}{index}, [%in+{offset}];")
                offset += size
        setup += [f"setp.lt.s32 %p{n}, %x{n}, %x{n + 4};" for n in range(4)]
        setup += [f"st.shared.b64 [%mine+{8 * n}], %w{n};" for n in range(8)]
        finish, offset = [], 0
        for prefix, count, size in (("%w", 8, 8), ("%x", 12, 4), ("%h", 8, 2)):
            for index in range(count):
                finish.append(f"st.global.b{8 * size} [%out+{offset}], {prefix}{index};")
                offset += size
        for index in range(4):
            finish.append(f"selp.b32 %x0, 1, 0, %p{index}; st.global.b32 [%out+{offset + 4 * index}], %x0;")
        head = f".visible .entry {self.name}(.param .u64 given, .param .u64 result)\n{{"
        return "\n".join([head, *setup, *self.lines, *finish, "ret;", "}", ""])


def generate() -> str:
    parts = [".version 8.6\n.target sm_90a\n.address_size 64\n"]
    for number in range(PROGRAMS):
        program = Program(f"s{number}", random.Random(1000 + number))
        for _ in range(LENGTH):
            program.step()
        parts.append(program.text())
    return "\n".join(parts)


def inputs() -> np.ndarray:
    """Words of every floating format and of integers, edges among them; one row a thread."""
    threads = BLOCK * GRID
    kinds = ("f64", "b64", "f32", "s32", "f16x2", "bf16x2")
    columns: list[np.ndarray] = []
    position = 0
    while len(columns) < WORDS:
        kind = kinds[position % len(kinds)]
        values = vector(kind, position % 5)[position * 31 % 1500 :][:threads]
        words = values.view("u4").reshape(threads, -1)
        columns += list(words.T)
        position += 1
    return np.ascontiguousarray(np.stack(columns[:WORDS], axis=1))


def digest(result: np.ndarray) -> str:
    return hashlib.sha256(result.tobytes()).hexdigest()[:16]


def measure(out: Path) -> dict[str, str]:
    """The digests that a GPU gives; the words themselves go to `straight.npz`, to find what differs."""
    from tests.emulator.isa.measure import Driver, assemble  # needs the CUDA driver

    cubin, log = assemble(TEXT.read_text())
    assert cubin is not None, log
    driver = Driver()
    handle = ctypes.c_void_p()
    driver.check(driver.cuda.cuModuleLoadData(ctypes.byref(handle), cubin))
    given = inputs()
    buffers = [driver.allocate(given.nbytes) for _ in range(2)]
    digests: dict[str, str] = {}
    kept: dict[str, np.ndarray] = {}
    for number in range(PROGRAMS):
        function = ctypes.c_void_p()
        driver.check(driver.cuda.cuModuleGetFunction(ctypes.byref(function), handle, f"s{number}".encode()))
        result = np.zeros_like(given)
        for buffer, array in zip(buffers, (given, result), strict=True):
            driver.check(driver.cuda.cuMemcpyHtoD_v2(buffer, array.ctypes.data, ctypes.c_size_t(array.nbytes)))
        pointers = (ctypes.c_void_p * 2)(*[ctypes.addressof(buffer) for buffer in buffers])
        driver.check(driver.cuda.cuLaunchKernel(function, GRID, 1, 1, BLOCK, 1, 1, 0, None, pointers, None))
        driver.check(driver.cuda.cuCtxSynchronize())
        driver.check(driver.cuda.cuMemcpyDtoH_v2(result.ctypes.data, buffers[1], ctypes.c_size_t(result.nbytes)))
        digests[f"s{number}"] = digest(result)
        kept[f"s{number}"] = result
    np.savez_compressed(out / "straight.npz", **kept)
    return digests


def main() -> None:
    if len(sys.argv) == 1:
        TEXT.write_text(generate())
        return
    out = Path(sys.argv[1])
    (out / DIGESTS.name).write_text(json.dumps(measure(out), indent=1) + "\n")


if __name__ == "__main__":
    main()
