"""Checks by a NumPy reference: each text runs in a child of its own, and what it expects goes to the launch."""

import dataclasses
import threading
from collections.abc import Mapping

from protocol.checks import NumpyReference
from protocol.diagnostics import Diagnostic
from protocol.events import Diagnosed, Timed
from protocol.frames import expected_key
from protocol.kernel import CompiledKernel
from protocol.run import ReferenceJob, RunRequest
from sandbox.compilation import Emit
from sandbox.jobs import run_job
from sandbox.launcher import JobLimits, Sandbox
from sandbox.receive import Misbehaved, event_of
from sandbox.verdicts import finished

WALL_SECONDS = 5.0
"""At most, for each reference; the limits of a launch hold too."""


def expected_blobs(
    box: Sandbox,
    run: RunRequest,
    kernel: CompiledKernel,
    uploads: Mapping[str, bytes],
    emit: Emit,
    cancelled: threading.Event,
    limits: JobLimits,
) -> dict[str, bytes]:
    """What the references of a run expect, by protocol.frames.expected_key.

    A reference that fails is told as a diagnostic and gives nothing; the run goes on without it.
    """
    limits = dataclasses.replace(limits, wall=min(limits.wall, WALL_SECONDS), cpu=min(limits.cpu, 2 * WALL_SECONDS))
    blobs: dict[str, bytes] = {}
    for index, check in enumerate(run.checks):
        if isinstance(check, NumpyReference) and not cancelled.is_set():
            job = ReferenceJob(run=run, kernel=kernel, check=index, deadline_seconds=0.9 * limits.wall)
            for name, data in _run(box, job, check, uploads, emit, cancelled, limits).items():
                blobs[expected_key(index, name)] = data
    return blobs


def _run(
    box: Sandbox,
    job: ReferenceJob,
    check: NumpyReference,
    uploads: Mapping[str, bytes],
    emit: Emit,
    cancelled: threading.Event,
    limits: JobLimits,
) -> dict[str, bytes]:
    field = f"checks.{job.check}.text"
    sizes = {item.name: item.bytes for item in job.run.buffers if item.name in check.buffers}
    given: dict[str, bytes] = {}
    told = False

    def receive(header: Mapping[str, object], payload: bytes) -> None:
        nonlocal told
        if header.get("artifact") == "expected":
            name = header.get("buffer")
            if not isinstance(name, str) or name in given or sizes.get(name) != len(payload):
                raise Misbehaved("values that no buffer can be compared with")
            given[name] = payload
            return
        event = event_of(header, allowed=("diagnosed",))
        # Errors about the request itself, such as values that cannot be made, are the launch's to tell.
        if isinstance(event, Diagnosed) and event.diagnostic.field == field and not told:
            told = True
            emit(event)

    try:
        outcome = run_job(box, "reference", job.model_dump_json().encode(), uploads, limits, cancelled, receive)
    except Misbehaved as error:
        emit(_failed(f"The reference broke the protocol ({error}).", field))
        return {}
    emit(Timed(stage="reference", seconds=outcome.wall_seconds))
    if outcome.verdict == "ok" and len(given) == len(sizes):
        return given
    if not told and outcome.verdict != "cancelled":
        emit(_failed(finished(outcome, "reference", limits)[1], field))
    return {}


def _failed(message: str, field: str) -> Diagnosed:
    diagnostic = Diagnostic(
        severity="error", message=message, origin="request", code="reference", file="reference", field=field
    )
    return Diagnosed(diagnostic=diagnostic)
