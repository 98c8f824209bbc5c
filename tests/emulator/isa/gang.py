"""Runs lowered forms on vectors of lanes: a small JIT of one function a form, many forms a module."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np

from emulator.isa import LLVM_TYPES, Form, Lanes, Value

from .vectors import COUNT

NUMPY = {"i1": "u1", "i8": "u1", "i16": "u2", "i32": "u4", "i64": "u8", "i128": "V16", "float": "u4", "double": "u8"}


@dataclass(frozen=True)
class Job:
    """One form to run. `constants` gives some sources as literals; `uniform` sources are lane 0 of each gang."""

    form: Form
    constants: tuple[tuple[int, int], ...] = ()
    uniform: frozenset[int] = frozenset()
    width: int = 8
    active: bool = False


def run(jobs: Sequence[Job], sources: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """The destinations' bits of each job; a source array has the bits of one value a lane."""
    _initialise()
    texts, declares = [], set()
    for index, job in enumerate(jobs):
        text, needs = _function(f"job{index}", job)
        texts.append(text)
        declares |= needs
    library = _compile("\n".join([*sorted(declares), *texts]), [f"job{i}" for i in range(len(jobs))])
    results = []
    for index, (job, arrays) in enumerate(zip(jobs, sources, strict=True)):
        count = len(arrays[0]) if arrays else COUNT
        assert count % job.width == 0
        # The sources' arrays hold i1 as bytes, and 8-bit and 16-bit values at their own size.
        inputs = [np.ascontiguousarray(a, NUMPY[LLVM_TYPES[t]]) for a, t in zip(arrays, _inputs(job), strict=True)]
        outputs = [np.zeros(count, NUMPY[LLVM_TYPES[t]]) for t in job.form.destinations]
        pointers = [a.ctypes.data for a in (*inputs, *outputs)]
        signature = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(pointers))
        signature(library[f"job{index}"])(count, *pointers)
        results.append(outputs)
    return results


def _inputs(job: Job) -> list[str]:
    """The types of the arrays: the sources that are not literals, and the active mask."""
    fixed = {position for position, _ in job.constants}
    types = [t for i, t in enumerate(job.form.sources) if i not in fixed]
    return [*types, "pred"] if job.active else types


def _function(name: str, job: Job) -> tuple[str, set[str]]:
    lines: list[str] = []
    declares: set[str] = set()
    counter = iter(range(1 << 30))
    width = job.width
    lanes = Lanes(width, lambda line: lines.append(f"  {line}"), lambda: f"%t{next(counter)}", declares.add)
    types = [LLVM_TYPES[t] for t in _inputs(job)]
    pointers = [f"ptr %in{i}" for i in range(len(types))]
    pointers += [f"ptr %out{i}" for i in range(len(job.form.destinations))]
    head = [f"define void @{name}(i64 %count, {', '.join(pointers)}) {{", "entry:", "  br label %loop", "loop:"]
    head.append("  %i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    loaded = []
    for index, kind in enumerate(types):
        stored = "i8" if kind == "i1" else kind
        lines.append(f"  %p{index} = getelementptr {stored}, ptr %in{index}, i64 %i")
        vector = kind if index in job.uniform else f"<{width} x {kind}>"
        memory = vector.replace("i1", "i8") if kind == "i1" else vector
        lines.append(f"  %v{index}{'m' if kind == 'i1' else ''} = load {memory}, ptr %p{index}, align 1")
        if kind == "i1":
            lines.append(f"  %v{index} = trunc {memory} %v{index}m to {vector}")
        loaded.append(Value(f"%v{index}", kind, 0 if index in job.uniform else width))
    active = loaded.pop() if job.active else lanes.splat(lanes.const("i1", 1))
    fixed = dict(job.constants)
    variable = iter(loaded)
    operands = [
        lanes.const(LLVM_TYPES[t], fixed[i]) if i in fixed else next(variable) for i, t in enumerate(job.form.sources)
    ]
    atomic = job.form.atomic
    if atomic is not None:
        results = ((atomic.combine_global or atomic.combine)(lanes, operands[0], operands[1:]),)
    else:
        results = job.form.lower(lanes, operands, active)
    assert len(results) == len(job.form.destinations), job.form.name
    for index, (result, ptx) in enumerate(zip(results, job.form.destinations, strict=True)):
        kind = LLVM_TYPES[ptx]
        assert result.type == kind, f"{job.form.name}: {result.type} for {ptx}"
        value = lanes.splat(result)
        stored = "i8" if kind == "i1" else kind
        if kind == "i1":
            value = lanes.cast(value, "zext", "i8")
        lines.append(f"  %q{index} = getelementptr {stored}, ptr %out{index}, i64 %i")
        lines.append(f"  store {value}, ptr %q{index}, align 1")
    tail = [f"  %next = add i64 %i, {width}", "  %more = icmp ult i64 %next, %count"]
    tail += ["  br i1 %more, label %loop, label %done", "done:", "  ret void", "}"]
    return "\n".join([*head, *lines, *tail]), declares


_ready = False


def _initialise() -> None:
    global _ready
    if not _ready:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _ready = True


_kept: list[object] = []


def _compile(text: str, names: Sequence[str]) -> dict[str, int]:
    target = llvm.Target.from_triple(llvm.get_process_triple())

    def machine() -> llvm.TargetMachine:
        return target.create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
            opt=1,
            reloc="pic",
            codemodel="small",
            jit=True,
        )

    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    module.data_layout = str(machine().target_data)
    module.verify()
    jit = llvm.create_lljit_compiler(machine(), use_jit_link=True, suppress_errors=False)
    builder = llvm.JITLibraryBuilder().add_ir(module).add_current_process()
    for name in names:
        builder.export_symbol(name)
    library = builder.link(jit, f"gang{len(_kept)}")
    _kept.append((jit, library))
    return {name: library[name] for name in names}
