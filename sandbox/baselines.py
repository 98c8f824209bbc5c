"""Times a run's baselines, each in a child of its own, once the launches are done."""

import dataclasses
import threading
from collections.abc import Mapping

from protocol.baseline import Baselined
from protocol.diagnostics import Diagnostic
from protocol.events import Diagnosed
from protocol.kernel import CompiledKernel
from protocol.run import BaselineJob, RunRequest
from sandbox.compilation import Emit
from sandbox.jobs import run_job
from sandbox.launcher import JobLimits, Sandbox
from sandbox.receive import Misbehaved, event_of
from sandbox.verdicts import finished

WALL_SECONDS = 10.0
"""At most, for each."""


def tell_baselines(
    box: Sandbox,
    run: RunRequest,
    kernel: CompiledKernel,
    uploads: Mapping[str, bytes],
    emit: Emit,
    cancelled: threading.Event,
    limits: JobLimits,
) -> None:
    """One `baselined` event each; of one that fails a diagnostic and an event without a time."""
    limits = dataclasses.replace(limits, wall=min(limits.wall, WALL_SECONDS))
    for index, baseline in enumerate(run.baselines):
        if cancelled.is_set():
            return
        field = f"baselines.{index}.text"
        if "baseline" not in box.kinds:
            emit(_failed("this installation has no Numba, which baselines are timed beside", field))
            told = False
        else:
            job = BaselineJob(run=run, kernel=kernel, index=index, deadline_seconds=0.9 * limits.wall)
            told = _run(box, job, uploads, emit, cancelled, limits, field)
        if not told:
            emit(Baselined(index=index, name=baseline.name))


def _run(
    box: Sandbox,
    job: BaselineJob,
    uploads: Mapping[str, bytes],
    emit: Emit,
    cancelled: threading.Event,
    limits: JobLimits,
    field: str,
) -> bool:
    """Whether its time was told."""
    timed = said = False

    def receive(header: Mapping[str, object], payload: bytes) -> None:
        nonlocal timed, said
        event = event_of(header, allowed=("baselined", "diagnosed"))
        if isinstance(event, Baselined) and not timed and event.index == job.index:
            timed = True
            emit(event)
        elif isinstance(event, Diagnosed) and not said:
            said = True
            emit(event)

    try:
        outcome = run_job(box, "baseline", job.model_dump_json().encode(), uploads, limits, cancelled, receive)
    except Misbehaved as error:
        emit(_failed(f"The baseline broke the protocol ({error}).", field))
        return timed
    if not timed and not said and outcome.verdict != "cancelled":
        emit(_failed(finished(outcome, "baseline", limits)[1], field))
    return timed


def _failed(message: str, field: str) -> Diagnosed:
    diagnostic = Diagnostic(
        severity="warning", message=message, origin="request", code="baseline", file="baseline", field=field
    )
    return Diagnosed(diagnostic=diagnostic)
