"""Reads PTX files that say beside the code what it must do, and runs them: on the emulator, or on a GPU by

    python -m tests.emulator.filetests OUT

A line `//# KERNEL block=64 grid=2 dynamic=128` is a launch. The lines behind it are its arguments in order:

    //# x: u32[64] = 3 * i -> 3 * i + 1     a buffer: its contents, and those after the launch (left out: the same)
    //# n: u32 = 5                          a value

Both sides are Python expressions for element i (or a list of them all); `->` may be followed by `?` for contents
that each machine may choose, and `//# fault KIND` behind the arguments says that the launch ends so.
`//# refused: TEXT` at the end of an instruction's line says that it is refused with a message that holds the text.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from emulator import CompileProblems, Memory, compile_entry, launch, parse

if TYPE_CHECKING:
    from tests.emulator.isa.measure import Driver

FOLDER = Path(__file__).parents[1] / "data" / "filetests"
NUMPY = {"s8": "i1", "u8": "u1", "f16": "f2", "s16": "i2", "u16": "u2", "s32": "i4", "u32": "u4", "f32": "f4",
         "s64": "i8", "u64": "u8", "f64": "f8"}  # fmt: skip
_LAUNCH = re.compile(r"//# (\w+)((?: (?:block|grid|dynamic)=[\d,]+)+)$")
_ARGUMENT = re.compile(r"//# (\w+): (\w+)(?:\[(\d+)\])? = (.*?)(?: -> (.*))?$")
_REFUSED = re.compile(r"//# refused: (.*)$")


@dataclass(frozen=True)
class Argument:
    name: str
    before: np.ndarray
    after: np.ndarray | None  # None: whatever the machine gives
    is_buffer: bool


@dataclass
class Launch:
    """One launch of a file; `line` is where it stands."""

    file: str
    line: int
    kernel: str
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    dynamic: int
    arguments: list[Argument] = field(default_factory=list)
    fault: str | None = None

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line} {self.kernel}"


@dataclass(frozen=True)
class Filetest:
    name: str
    text: str
    launches: tuple[Launch, ...]
    refused: dict[int, str]  # line → part of the message


def _values(kind: str, count: int, expression: str) -> np.ndarray:
    scope = {"range": range, "min": min, "max": max, "abs": abs, "sum": sum, "math": math, "int": int, "bits": _bits}
    code = compile(expression, "filetest", "eval")

    def value(i: int) -> object:
        return eval(code, {"__builtins__": {}, **scope, "i": i})

    first = value(0)
    whole = first if isinstance(first, list) else [value(i) for i in range(count)]
    assert len(whole) == count, f"{expression}: {len(whole)} values for {count} elements"
    kind = NUMPY[kind]
    if kind[0] == "f":
        return np.array(whole, kind)
    size = 8 * int(kind[1])
    return np.array([value % (1 << size) for value in whole], f"u{kind[1]}").view(kind)


def _bits(value: float) -> int:
    """The bits of a single-precision number."""
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _shape(text: str) -> tuple[int, int, int]:
    x, y, z = ([int(part) for part in text.split(",")] + [1, 1])[:3]
    return x, y, z


def read(path: Path) -> Filetest:
    launches: list[Launch] = []
    refused: dict[int, str] = {}
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        if found := _REFUSED.search(line):
            refused[number] = found[1]
        elif found := _LAUNCH.match(line):
            options = dict(part.split("=") for part in found[2].split())
            shapes = _shape(options.get("block", "32")), _shape(options.get("grid", "1"))
            launches.append(Launch(path.stem, number, found[1], *shapes, int(options.get("dynamic", "0"))))
        elif found := _ARGUMENT.match(line):
            name, kind, count, before, after = found.groups()
            start = _values(kind, int(count or 1), before)
            if after is None:
                end: np.ndarray | None = start
            else:
                end = None if after == "?" else _values(kind, int(count or 1), after)
            launches[-1].arguments.append(Argument(name, start, end, count is not None))
        elif line.startswith("//# fault "):
            launches[-1].fault = line.removeprefix("//# fault ")
        else:
            assert not line.startswith("//#"), f"{path.name}:{number} cannot be read"
    return Filetest(path.stem, text, tuple(launches), refused)


def filetests() -> list[Filetest]:
    return [read(path) for path in sorted(FOLDER.glob("*.ptx"))]


def problems_of(test: Filetest) -> dict[int, str]:
    """What the emulator refuses, by line."""
    module, problems = parse(test.text)
    found = {problem.ptx_line: problem.message for problem in problems}
    for name, function in module.functions.items():
        if function.is_entry:
            try:
                compile_entry(module, name, (32, 1, 1))
            except CompileProblems as refused:
                found |= {problem.ptx_line: problem.message for problem in refused.problems}
    return found


def differences(launch_: Launch, results: list[np.ndarray]) -> list[str]:
    """One line an argument that differs."""
    found = []
    for argument, result in zip((a for a in launch_.arguments if a.is_buffer), results, strict=True):
        if argument.after is None or result.tobytes() == argument.after.tobytes():
            continue
        wrong = np.flatnonzero(result.view("u1") != argument.after.view("u1"))[:1] // result.itemsize
        at = int(wrong[0])
        found.append(f"{launch_.name}: {argument.name}[{at}] is {result[at]}, not {argument.after[at]}")
    return found


def emulate(test: Filetest, launch_: Launch) -> tuple[list[np.ndarray], str | None]:
    """The buffers after a launch on the emulator, and the kind of its fault."""
    module, problems = parse(test.text)
    assert problems == []
    memory = Memory(16 << 20)
    entry = compile_entry(module, launch_.kernel, launch_.block)
    raw, buffers = [], []
    for argument in launch_.arguments:
        if not argument.is_buffer:
            raw.append(argument.before.tobytes())
            continue
        buffer = memory.allocate(argument.name, argument.before.nbytes, fill=argument.before.tobytes())
        buffers.append((buffer, argument.before.dtype))
        raw.append(struct.pack("<Q", buffer.address))
    outcome = launch(entry, memory, launch_.grid, raw, launch_.dynamic)
    return [b.view(dtype).copy() for b, dtype in buffers], outcome.fault.kind if outcome.fault else None


def on_gpu(out: Path, target: str = "sm_90a") -> dict[str, list[str]]:
    """Every file for `target` or before that the emulator takes whole and that ends well: run; what differs."""
    from tests.emulator.isa.measure import Driver  # needs the CUDA driver

    driver = Driver()
    report: dict[str, list[str]] = {}
    for test in filetests():
        if test.refused or any(launch_.fault for launch_ in test.launches) or _number(test.text) > _number(target):
            continue
        source, cubin = out / f"{test.name}.ptx", out / f"{test.name}.cubin"
        source.write_text(re.sub(r"\.target \w+", f".target {target}", test.text))
        done = subprocess.run(["ptxas", f"-arch={target}", source, "-o", cubin], capture_output=True, text=True)
        if done.returncode:
            report[test.name] = [(done.stdout + done.stderr).strip()[:2000]]
            continue
        handle = ctypes.c_void_p()
        driver.check(driver.cuda.cuModuleLoadData(ctypes.byref(handle), cubin.read_bytes()))
        source.unlink()
        cubin.unlink()
        for launch_ in test.launches:
            results = _run(driver, handle, launch_)
            report[launch_.name] = differences(launch_, results)
            for argument, result in zip((a for a in launch_.arguments if a.is_buffer), results, strict=True):
                if argument.after is None:
                    report[launch_.name].append(f"chosen: {argument.name} = {result.tolist()[:64]}")
    return report


def _number(text: str) -> int:
    """The architecture that a text names first."""
    found = re.search(r"sm_(\d+)", text)
    assert found is not None
    return int(found[1])


def _run(driver: Driver, handle: ctypes.c_void_p, launch_: Launch) -> list[np.ndarray]:
    """The buffers after a launch on the GPU."""
    cuda = driver.cuda
    function = ctypes.c_void_p()
    driver.check(cuda.cuModuleGetFunction(ctypes.byref(function), handle, launch_.kernel.encode()))
    values: list[ctypes.Array[ctypes.c_char]] = []
    buffers: list[tuple[ctypes.c_uint64, np.ndarray]] = []
    for argument in launch_.arguments:
        raw = argument.before.tobytes()
        if argument.is_buffer:
            pointer = driver.allocate(len(raw))
            driver.check(cuda.cuMemcpyHtoD_v2(pointer, raw, ctypes.c_size_t(len(raw))))
            buffers.append((pointer, np.empty_like(argument.before)))
            raw = struct.pack("<Q", pointer.value)
        values.append(ctypes.create_string_buffer(raw, len(raw)))
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    shape = (*launch_.grid, *launch_.block)
    driver.check(cuda.cuLaunchKernel(function, *shape, launch_.dynamic, None, pointers, None))
    driver.check(cuda.cuCtxSynchronize())
    for pointer, result in buffers:
        target = result.ctypes.data_as(ctypes.c_void_p)
        driver.check(cuda.cuMemcpyDtoH_v2(target, pointer, ctypes.c_size_t(result.nbytes)))
    return [result for _, result in buffers]


def main() -> None:
    out = Path(sys.argv[1])
    report = on_gpu(out)
    (out / "filetests.json").write_text(json.dumps(report, indent=1))
    wrong = {name: lines for name, lines in report.items() if any(not line.startswith("chosen") for line in lines)}
    print(len(report), "launches,", len(wrong), "differ")
    for lines in wrong.values():
        print("\n".join(lines))


if __name__ == "__main__":
    main()
