"""The translate step: a source's Python text becomes PTX, which is compiled in a child that runs no Python of it."""

from __future__ import annotations

import functools
import importlib.metadata
import time
from collections.abc import Mapping

from engine.emission import Emission, Emit
from engine.python_watch import DeadlineWatch
from engine.translate.kernels import compile_kernels, find_kernels
from engine.translate.link import merged
from engine.translate.module import Executed, execute, told
from engine.translate.offline import numba_cuda
from protocol.diagnostics import Diagnostic, Span
from protocol.events import Timed
from protocol.kernel import ArgumentType, Specialisation
from protocol.run import CompileRequest, TranslateJob
from protocol.source import Source
from protocol.translation import Translation

_WARM = """from numba import cuda
@cuda.jit
def warm(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] += 1
"""
_WARM_TYPES = (ArgumentType(kind="array", dtype="float32", dimensions=1), ArgumentType(kind="number", dtype="int64"))
_PREWARM = CompileRequest(
    source=Source(language="numba", file_name="warm.py", text=_WARM),
    specialisations=(Specialisation(arguments=_WARM_TYPES),),
)


def translate_job(request: bytes, blobs: Mapping[str, memoryview], emit: Emit) -> None:
    """`request` is a protocol.run.TranslateJob as JSON. Emits diagnostics and, without an error, the translation."""
    begin = time.perf_counter()
    job, emission = TranslateJob.model_validate_json(request), Emission(emit)

    def tell(line: int | None) -> None:
        what = "the source had not come to its end" if line else "Numba was not done with the kernels"
        message = f"stopped after {job.deadline_seconds:g} s: {what}"
        emission.diagnosed([told(message, Span(line=line) if line else None)])

    with DeadlineWatch(job.request.source.file_name, job.deadline_seconds, begin, tell):
        translate(job.request, emission, begin)


def prewarm_translate() -> None:
    """Loads Numba, and takes a small kernel through all of it. RuntimeError where that does not work."""
    sent: list[Mapping[str, object]] = []
    translate(_PREWARM, Emission(lambda header, payload: sent.append(header)), time.perf_counter())
    if not any(header.get("artifact") == "translation" for header in sent):
        raise RuntimeError(f"Numba does not work here: {sent}")


@functools.cache
def toolchain() -> str:
    """Numba's CUDA compiler and its version."""
    return f"Numba CUDA {importlib.metadata.version('numba-cuda')}"


def translate(request: CompileRequest, emission: Emission, begin: float) -> None:
    source = request.source
    numba_cuda()
    done = execute(source.text, source.file_name)
    kernels = [] if done.failed else find_kernels(done, source.file_name)
    if not kernels and not done.failed:
        done.diagnostics.append(_no_kernel(done))
    made = compile_kernels(kernels, request)
    emission.event(Timed(stage="compile", seconds=time.perf_counter() - begin))
    found = [*done.diagnostics, *made.diagnostics]
    emission.diagnosed(found)
    if any(item.severity == "error" for item in found):
        return
    ptx = merged(made.modules, [item.name for item in made.entries])
    translation = Translation(toolchain=toolchain(), ptx=ptx, entries=tuple(made.entries))
    emission.artifact("translation", translation.model_dump_json().encode())


def _no_kernel(done: Executed) -> Diagnostic:
    message = "the source defines no kernel that can be launched"
    return told(message, Span(line=1), "Write a function with @cuda.jit, after: from numba import cuda")
