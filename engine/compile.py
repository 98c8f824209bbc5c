"""The compile step: a source becomes a kernel, and for the emulator machine code for the launches of a run."""

from __future__ import annotations

import time
from dataclasses import replace

from engine.devices import DeviceRefusal, device_type
from engine.emission import Emission
from engine.inspection import occupancy_artifact
from engine.languages import language
from engine.languages.cooperation import with_cooperation
from engine.launching.plan import Plan, plan
from engine.launching.shapes import plan_shapes
from engine.linting.linter import lint_artifact
from engine.recognise.recogniser import recognise
from protocol.diagnostics import Diagnostic
from protocol.events import Timed
from protocol.kernel import CompiledKernel
from protocol.launch import Launch, walk
from protocol.run import UNPREPARED, CompileJob, Variant

MANY_CELLS = 8
"""Of a sweep: with more of them the code of each is made in a hurry."""


def compile_job(job: CompileJob, emission: Emission) -> None:
    """Emits diagnostics and, where there is no error, the artifacts that were asked for."""
    begin = time.perf_counter()
    if job.recognise:
        emission.artifact("recognised", recognise(job.request.source.text).model_dump_json().encode())
        return
    kernel = job.kernel or _compile(job, emission)
    if job.lint and job.run is not None:
        emission.artifact("lint", lint_artifact(job.run, kernel))
    if kernel is None:
        return
    if job.occupancy is not None:
        emission.artifact("occupancy", occupancy_artifact(kernel, job.occupancy, emission))
    if job.run is None or job.lint:
        return
    if job.run.sweep is not None:
        _prepare_sweep(job, kernel, emission, begin)
        return
    planned = plan(job.run, kernel)
    if planned.refused:
        emission.diagnosed(planned.diagnostics)
        return
    _prepare(job, kernel, planned, emission)


def _compile(job: CompileJob, emission: Emission) -> CompiledKernel | None:
    request = job.request
    begin = time.perf_counter()
    try:
        chosen = language(request.source.language)
    except KeyError:
        emission.diagnosed([_absent(request.source.language)])
        return None
    compiled = chosen.compile(request, job.translation)
    emission.event(Timed(stage="compile", seconds=time.perf_counter() - begin))
    emission.diagnosed(_in_the_run(item, job) for item in compiled.diagnostics)
    if compiled.kernel is None:
        return None
    kernel = with_cooperation(compiled.kernel)
    emission.artifact("kernel", kernel.model_dump_json().encode())
    emission.artifact("cubin", compiled.cubin)
    return kernel


def _absent(name: str) -> Diagnostic:
    message = f"this installation has no compiler for {name}"
    return Diagnostic(severity="error", message=message, origin="request", code="language", field="source.language")


def _in_the_run(item: Diagnostic, job: CompileJob) -> Diagnostic:
    """A fault of an instantiation belongs to the entry of the launch that asks for it."""
    if job.run is None or item.field is None or not item.field.startswith("instantiations."):
        return item
    expression = job.request.instantiations[int(item.field.rpartition(".")[2])]
    steps = (path for path, step in walk(job.run.steps) if isinstance(step, Launch) and step.entry == expression)
    return item.model_copy(update={"field": f"{next(steps, 'steps.0')}.entry"})


def _prepare(job: CompileJob, kernel: CompiledKernel, planned: Plan, emission: Emission) -> None:
    begin = time.perf_counter()
    try:
        objects = device_type(job.device).prepare(kernel, planned, job.request.source, job.final)
    except DeviceRefusal as refusal:
        emission.diagnosed(refusal.diagnostics)
        return
    for key, code in objects.items():
        emission.artifact("object", code.data, key=key, quality="quick" if code.quick else "good")
    if objects:
        emission.event(Timed(stage="jit", seconds=time.perf_counter() - begin))


def _prepare_sweep(job: CompileJob, kernel: CompiledKernel, emission: Emission, begin: float) -> None:
    """Code for every shape that can be launched, as far as the time goes: the launch step tells of the others."""
    assert job.run is not None
    planned = plan_shapes(job.run, {job.combination: Variant(kernel=kernel)})
    if planned.refused:
        emission.diagnosed(planned.diagnostics)
        return
    slowest = 0.0
    mine = planned.possible[job.part :: job.parts]
    for count, shape in enumerate(mine):
        before = time.perf_counter()
        if count and before - begin + 2 * slowest > job.deadline_seconds:
            left = ", ".join(item.label for item in mine[count:])
            message = f"No time was left to make the code of these shapes: {left}"
            emission.diagnosed(
                [Diagnostic(severity="note", message=message, origin="launch", code=UNPREPARED, field="sweep.blocks")]
            )
            return
        # Other launches of the run have the same code in every shape.
        assert shape.plan is not None
        wanted = replace(shape.plan, hasty=len(planned.possible) > MANY_CELLS)
        if count or job.part:
            wanted = replace(wanted, launches={planned.step: planned.launch(shape)})
        _prepare(job, kernel, wanted, emission)
        slowest = max(slowest, time.perf_counter() - before)
