"""Compile without a launch: the answer that the page shows while a source is edited."""

import threading
import time

from protocol.inspection import InspectReport, InspectRequest
from protocol.run import CompileJob
from sandbox.compilation import Compilation, cached_kernel, remember, run_compile_child
from sandbox.hardware import every_gpu
from sandbox.keys import compile_key
from sandbox.launcher import Sandbox
from sandbox.pipeline import PipelineLimits
from sandbox.receive import Misbehaved
from sandbox.stores import Stores
from sandbox.verdicts import finished


def inspect(
    box: Sandbox, request: InspectRequest, stores: Stores, cancelled: threading.Event, limits: PipelineLimits
) -> InspectReport:
    """Compiles without a launch and reports what the page shows while the source is edited."""
    if request.recognise:
        return _recognised(box, request, stores, cancelled, limits)
    report = _inspected(box, request, stores, cancelled, limits)
    if not request.every_gpu:
        return report
    begin = time.perf_counter()
    fits = every_gpu(request, report, lambda other: _inspected(box, other, stores, cancelled, limits))
    return report.model_copy(update={"gpus": fits, "seconds": report.seconds + time.perf_counter() - begin})


def _inspected(
    box: Sandbox, request: InspectRequest, stores: Stores, cancelled: threading.Event, limits: PipelineLimits
) -> InspectReport:
    begin = time.perf_counter()
    key = compile_key(request.compile)
    compilation = Compilation(kernel=cached_kernel(stores, key))
    compilation.cached = compilation.kernel is not None
    try:
        if compilation.kernel is None or request.launch is not None or request.lint is not None:
            job = CompileJob(
                request=request.compile,
                run=request.lint.run(request.compile) if request.lint else None,
                lint=request.lint is not None,
                kernel=compilation.kernel,
                occupancy=request.launch,
            )
            run_compile_child(box, job, compilation, cancelled, limits.compile, lambda event: None)
            remember(stores, key, compilation)
    except Misbehaved as error:
        return InspectReport(
            verdict="error",
            message=f"The compiler broke the protocol ({error}).",
            architecture=request.compile.architecture,
        )
    verdict, message = "ok", ""
    if compilation.outcome is not None and compilation.outcome.verdict != "ok":
        verdict, message = finished(compilation.outcome, compilation.kind, limits.compile)
    elif compilation.kernel is None:
        verdict = "compile-error"
    kernel = compilation.kernel
    return InspectReport(
        verdict=verdict,
        message=message,
        architecture=request.compile.architecture,
        toolchain=kernel.toolchain if kernel else "",
        entries=kernel.entries if kernel else (),
        diagnostics=(*(kernel.warnings if kernel and compilation.cached else ()), *compilation.diagnostics),
        occupancy=compilation.occupancy,
        lint=compilation.lint,
        ptx=kernel.ptx if kernel else "",
        cached=compilation.cached,
        seconds=time.perf_counter() - begin,
    )


def _recognised(
    box: Sandbox, request: InspectRequest, stores: Stores, cancelled: threading.Event, limits: PipelineLimits
) -> InspectReport:
    """What a Python text holds of CuPy's kernels: it is read in a compile child, and nothing of it is executed."""
    begin = time.perf_counter()
    compilation = Compilation()
    verdict, message = "error", "The compiler broke the protocol."
    try:
        job = CompileJob(request=request.compile, recognise=True)
        run_compile_child(box, job, compilation, cancelled, limits.compile, lambda event: None)
        found = compilation.recognised
        if compilation.outcome is not None and compilation.outcome.verdict != "ok":
            verdict, message = finished(compilation.outcome, compilation.kind, limits.compile)
        elif found is not None:
            verdict, message = found.verdict, found.message
    except Misbehaved as error:
        message = f"The compiler broke the protocol ({error})."
    return InspectReport(
        verdict=verdict,
        message=message,
        architecture=request.compile.architecture,
        recognised=compilation.recognised,
        diagnostics=compilation.recognised.diagnostics if compilation.recognised else (),
        seconds=time.perf_counter() - begin,
    )
