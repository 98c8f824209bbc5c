"""Runs every tested form on a real GPU and records its results: `python -m tests.emulator.isa.measure OUT`.

Needs ptxas and an NVIDIA driver; the emulator is not used. Forms that ptxas refuses are listed.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from emulator.isa import LLVM_TYPES

from .gang import NUMPY
from .plan import Case, approximate, digest, every_case
from .vectors import COUNT

TARGET = "sm_90a"
_REGISTER = {
    "i1": "pred",
    "i8": "b16",
    "i16": "b16",
    "i32": "b32",
    "i64": "b64",
    "i128": "b128",
    "float": "f32",
    "double": "f64",
}
_MEMORY = {
    "i1": "u8",
    "i8": "u8",
    "i16": "b16",
    "i32": "b32",
    "i64": "b64",
    "i128": "b128",
    "float": "b32",
    "double": "b64",
}


def kernel(name: str, case: Case) -> str:
    """An entry that applies the form to one lane's sources."""
    form = case.form
    fixed = dict(case.constants)
    parameters = [f".param .u64 in{i}" for i in range(len(form.sources)) if i not in fixed]
    parameters += [".param .u64 mask"] if case.active else []
    parameters += [f".param .u64 out{i}" for i in range(len(form.destinations))]
    body = [
        f".visible .entry {name}({', '.join(parameters)}) {{",
        ".reg .b32 %x, %carry, %lane; .reg .b64 %at, %i; .reg .pred %on; .reg .u16 %u;",
        "mov.u32 %x, %ctaid.x; mov.u32 %lane, %ntid.x; mul.lo.u32 %x, %x, %lane;",
        "mov.u32 %lane, %tid.x; add.u32 %x, %x, %lane;",
        "cvt.u64.u32 %i, %x;",
    ]
    subtracts = form.opcode.startswith("sub")

    def address(parameter: str, size: int) -> str:
        return f"ld.param.u64 %at, [{parameter}]; mad.lo.u64 %at, %i, {size}, %at; cvta.to.global.u64 %at, %at;"

    # mov and conversions of four bits take registers of bytes, other forms wider ones.
    bytes_ = {"mov": ("b8",), "cvt": ("e2m1x2",)}.get(form.opcode, ())
    sources = []
    for index, kind in enumerate(form.sources):
        if index in fixed:
            sources.append(str(fixed[index]))
            continue
        low = LLVM_TYPES[kind]
        size = np.dtype(NUMPY[low]).itemsize
        register = "b8" if kind in bytes_ else _REGISTER[low]
        body.append(f".reg .{register} %s{index};" + address(f"in{index}", size))
        if low == "i1":
            body.append("ld.global.u8 %u, [%at];")
            if kind == "cc":
                body.append("cvt.u32.u16 %carry, %u;")
            else:
                body.append(f"setp.ne.u16 %s{index}, %u, 0;")
        elif low == "i128":
            body.append(
                f".reg .b64 %l{index}, %h{index}; ld.global.v2.b64 {{%l{index}, %h{index}}}, [%at];"
                f"mov.b128 %s{index}, {{%l{index}, %h{index}}};"
            )
        else:
            memory = "b8" if register == "b8" else _MEMORY[low]
            body.append(f"ld.global.{memory} %s{index}, [%at];")
        if kind != "cc":
            sources.append(f"%s{index}")
    guard = ""
    if case.active:
        body.append(address("mask", 1) + "ld.global.u8 %u, [%at]; setp.ne.u16 %on, %u, 0;")
        guard = "@%on "
    destinations = []
    for index, kind in enumerate(form.destinations):
        low = LLVM_TYPES[kind]
        if kind != "cc":
            register = "b8" if kind in bytes_ else _REGISTER[low]
            body.append(f".reg .{register} %d{index};")
            if register not in ("b8", "b128"):
                body.append(
                    f"setp.ne.u32 %d{index}, 0, 0;"
                    if low == "i1"
                    else f"mov.{'b16' if low == 'i8' else form_mov(low)} %d{index}, {zero(low)};"
                )
            destinations.append(f"%d{index}")
    rendered, d, s = [], iter(destinations), iter(sources)
    for position in case.positions:
        stream = d if position.destination else s
        parts = [next(stream) for _ in position.elements]
        if position.paired:
            rendered[-1] += "|" + parts[0]
        else:
            rendered.append("{" + ", ".join(parts) + "}" if position.vector else parts[0])
    if "cc" in form.sources:
        body.append(
            ".reg .u32 %dummy;" + ("sub.cc.u32 %dummy, 0, %carry;" if subtracts else "add.cc.u32 %dummy, %carry, -1;")
        )
    if form.kind == "atomic":
        low = LLVM_TYPES[form.destinations[0]]
        size = np.dtype(NUMPY[low]).itemsize
        count = int(next((part[1:] for part in form.modifiers if part in ("v2", "v4", "v8")), 1))
        if count > 1:
            return "\n".join([_cells(name), *body, *_vector_atomic(name, case, count, size, low), "ret; }"])
        body.append(address("out0", size) + f"st.global.{_MEMORY[low]} [%at], %s0;")
        target = "" if form.opcode == "red" else "%d0, "
        body.append(f"{form.name} {target}[%at], {', '.join(sources[1:])};")
        return "\n".join([*body, "ret; }"])
    body.append(f"{guard}{form.name} {', '.join(rendered)};")
    if "cc" in form.destinations:
        body.append("subc.u32 %carry, 0, 0; neg.s32 %carry, %carry;" if subtracts else "addc.u32 %carry, 0, 0;")
    for index, kind in enumerate(form.destinations):
        low = LLVM_TYPES[kind]
        size = np.dtype(NUMPY[low]).itemsize
        body.append(address(f"out{index}", size))
        if kind == "cc":
            body.append("st.global.u8 [%at], %carry;")
        elif low == "i1":
            body.append(f"selp.u32 %carry, 1, 0, %d{index}; st.global.u8 [%at], %carry;")
        elif low == "i128":
            body.append(
                f".reg .b64 %m{index}, %n{index}; mov.b128 {{%m{index}, %n{index}}}, %d{index};"
                f"st.global.v2.b64 [%at], {{%m{index}, %n{index}}};"
            )
        else:
            memory = "b8" if kind in bytes_ else _MEMORY[low]
            body.append(f"st.global.{memory} [%at], %d{index};")
    return "\n".join([*body, "ret; }"])


def _cells(name: str) -> str:
    """Memory for the vectors of a kernel's threads."""
    return f".global .align 16 .b8 cells_{name}[{16 * COUNT}];"


def _vector_atomic(name: str, case: Case, count: int, size: int, low: str) -> list[str]:
    """The form on a vector whose last element is the old value; that element is the result."""
    kind, last = _MEMORY[low], size * (count - 1)
    names = "{" + ", ".join(f"%e{part}" for part in range(count)) + "}, "
    values = "{" + ", ".join(["%s1"] * count) + "}"
    return [
        f".reg .{_REGISTER[low]} %e<{count}>; .reg .b64 %cell; mov.u64 %cell, cells_{name};",
        "cvta.global.u64 %cell, %cell; mad.lo.u64 %cell, %i, 16, %cell; cvta.to.global.u64 %cell, %cell;",
        f"st.global.{kind} [%cell+{last}], %s0;",
        f"{case.form.name} {'' if case.form.opcode == 'red' else names}[%cell], {values};",
        f"ld.global.{kind} %d0, [%cell+{last}];",
        f"ld.param.u64 %at, [out0]; mad.lo.u64 %at, %i, {size}, %at; cvta.to.global.u64 %at, %at;",
        f"st.global.{kind} [%at], %d0;",
    ]


def form_mov(low: str) -> str:
    return {"i16": "b16", "i32": "b32", "i64": "b64", "float": "f32", "double": "f64"}[low]


def zero(low: str) -> str:
    return {"float": "0f00000000", "double": "0d0000000000000000"}.get(low, "0")


def module(kernels: Sequence[str]) -> str:
    return f".version 9.0\n.target {TARGET}\n.address_size 64\n" + "\n".join(kernels)


def assemble(text: str) -> tuple[bytes | None, str]:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "a.ptx"), Path(folder, "a.cubin")
        source.write_text(text)
        done = subprocess.run(
            ["ptxas", f"-arch={TARGET}", str(source), "-o", str(target)], capture_output=True, text=True
        )
        return (target.read_bytes(), "") if done.returncode == 0 else (None, done.stderr + done.stdout)


class Driver:
    """The few calls of the CUDA driver that a launch needs."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check(self.cuda.cuInit(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.check(self.cuda.cuCtxSetCurrent(context))

    @staticmethod
    def check(status: int) -> None:
        if status:
            raise RuntimeError(f"CUDA error {status}")

    def allocate(self, size: int) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
        return pointer

    def launch(self, function: ctypes.c_void_p, pointers: Sequence[ctypes.c_uint64]) -> None:
        arguments = (ctypes.c_void_p * len(pointers))(*[ctypes.addressof(p) for p in pointers])
        self.check(self.cuda.cuLaunchKernel(function, COUNT // 256, 1, 1, 256, 1, 1, 0, None, arguments, None))
        self.check(self.cuda.cuCtxSynchronize())


def measure(cases: Sequence[Case]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    chunks = [list(cases[i : i + 64]) for i in range(0, len(cases), 64)]

    def build(chunk: list[Case]) -> list[tuple[list[Case], bytes | None, str]]:
        cubin, log = assemble(module([kernel(f"k{i}", case) for i, case in enumerate(chunk)]))
        if cubin is None and len(chunk) > 1:
            middle = len(chunk) // 2
            return build(chunk[:middle]) + build(chunk[middle:])
        return [(chunk, cubin, log)]

    with ThreadPoolExecutor(16) as pool:
        built = [item for part in pool.map(build, chunks) for item in part]
    driver = Driver()
    scratch = [driver.allocate(16 * COUNT) for _ in range(24)]
    results: dict[str, np.ndarray] = {}
    refused: dict[str, str] = {}
    for chunk, cubin, log in built:
        if cubin is None:
            refused[chunk[0].name] = log.strip()[-300:]
            continue
        handle = ctypes.c_void_p()
        driver.check(driver.cuda.cuModuleLoadData(ctypes.byref(handle), cubin))
        for index, case in enumerate(chunk):
            function = ctypes.c_void_p()
            driver.check(driver.cuda.cuModuleGetFunction(ctypes.byref(function), handle, f"k{index}".encode()))
            arrays = case.sources()
            for pointer, array in zip(scratch, arrays, strict=False):
                data = np.ascontiguousarray(array)
                driver.check(
                    driver.cuda.cuMemcpyHtoD_v2(
                        pointer, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes)
                    )
                )
            outputs = scratch[len(arrays) : len(arrays) + len(case.form.destinations)]
            driver.launch(function, scratch[: len(arrays) + len(outputs)])
            for number, (pointer, kind) in enumerate(zip(outputs, case.form.destinations, strict=True)):
                host = np.zeros(COUNT, NUMPY[LLVM_TYPES[kind]])
                driver.check(
                    driver.cuda.cuMemcpyDtoH_v2(
                        host.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(host.nbytes)
                    )
                )
                results[f"{case.name}#{number}"] = host
        driver.check(driver.cuda.cuModuleUnload(handle))
    return results, refused


def main() -> None:
    """Writes digests of exact results, the results themselves of approximate ones, and what ptxas refused."""
    out = Path(sys.argv[1])
    cases = every_case()
    results, refused = measure(cases)
    lines, kept = [], {}
    for case in cases:
        if case.name in refused:
            continue
        arrays = [results[f"{case.name}#{number}"] for number in range(len(case.form.destinations))]
        if approximate(case.form):
            kept[case.name] = arrays[0]
        else:
            lines.append(f"{case.name}\t{digest(case, arrays)}")
    (out / "sm_90.tsv").write_text("\n".join(lines) + "\n")
    np.savez_compressed(out / "sm_90_approximate.npz", **kept)
    (out / "refused.json").write_text(json.dumps(refused, indent=1))
    print(len(lines), "digests,", len(kept), "approximate,", len(refused), "refused")


if __name__ == "__main__":
    main()
