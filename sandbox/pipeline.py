"""One run from its request to its events: the straight line that the worker and the command line share."""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from protocol.arguments import Initialiser, Upload
from protocol.checks import Equals
from protocol.events import Compiled, Diagnosed, Finished, Found, Timed
from protocol.run import LaunchRequest, RunRequest
from sandbox.baselines import tell_baselines
from sandbox.compilation import Emit, compile_for_run, improve
from sandbox.gpu_use import GpuUse
from sandbox.improvement import Improver
from sandbox.jobs import run_job
from sandbox.launcher import JobLimits, Sandbox
from sandbox.probes import BLOB as PROBES
from sandbox.probes import NoProbes
from sandbox.receive import Awaited, Misbehaved, NotKept, event_of, stored_event
from sandbox.references import expected_blobs
from sandbox.stores import Stores
from sandbox.variants import Variants, compile_variants
from sandbox.verdicts import finished, worst

_OF_A_LAUNCH = (
    "launched", "printed", "found", "counted", "timed", "checked", "swept", "concluded", "estimated", "traced",
    "diagnosed",
)  # fmt: skip
"""Events that a launch child may send, beside what it is awaited to."""


@dataclass(frozen=True)
class PipelineLimits:
    """Limits of the two kinds of job."""

    compile: JobLimits = field(default_factory=JobLimits)
    launch: JobLimits = field(default_factory=JobLimits)


def perform(
    box: Sandbox,
    run: RunRequest,
    device: str,
    stores: Stores,
    emit: Emit,
    cancelled: threading.Event,
    limits: PipelineLimits,
    improver: Improver | None = None,
    use: GpuUse | None = None,
) -> Finished:
    """Compiles and launches `run` on `device`, telling `emit` each fact; returns the end, which the caller emits.

    `improver` makes good code afterwards for the next run of a large kernel, whose first code is made quickly.
    `use`: the GPU, where the sandbox has one.
    """
    begin = time.perf_counter()

    def end(verdict: str, message: str = "") -> Finished:
        return Finished(verdict=verdict, message=message, seconds=time.perf_counter() - begin)

    if run.instruments and device != "emulator":
        return end("error", f"{device} has no instruments: ask for the emulator to check or count.")
    uploads = {}
    for name, init in _initialisers(run):
        if isinstance(init, Upload):
            data = stores.blobs.get(init.digest)
            if data is None:
                return end("error", f"The file uploaded for {name} is no longer kept: upload it again.")
            uploads[f"upload:{init.digest}"] = data
    try:
        variants = _compiled(box, run, device, stores, emit, cancelled, limits.compile)
        compilation = variants.first
        kernel = compilation.kernel
        if compilation.outcome is not None and compilation.outcome.verdict != "ok":
            return end(*finished(compilation.outcome, compilation.kind, limits.compile))
        if compilation.error is not None:
            return end(*worst(compilation.error))
        if kernel is None:
            return end("error", "The compiler ended without a kernel and without a diagnostic. This is our fault.")
        emit(
            Compiled(
                architecture=kernel.architecture,
                toolchain=kernel.toolchain,
                entries=kernel.entries,
                cached=compilation.cached,
            )
        )
        blobs = uploads | expected_blobs(box, run, kernel, uploads, emit, cancelled, limits.launch)
        if cancelled.is_set():
            return end("cancelled", "Cancelled before the launch.")
        ending = end(*_launch(box, run, device, variants, blobs, stores, emit, cancelled, limits, use))
        if ending.verdict == "ok":
            tell_baselines(box, run, kernel, uploads, emit, cancelled, limits.launch)
        if improver is not None and compilation.quick and not variants.told and ending.verdict == "ok":
            improver.offer(lambda stopping: improve(box, run, stores, compilation, limits.compile, stopping))
        return ending
    except NoProbes as error:
        return end(*(("cancelled", "Cancelled before the launch.") if cancelled.is_set() else ("error", f"{error}.")))
    except Misbehaved as error:
        return end("error", f"The job broke the protocol ({error}); its results were not kept.")
    except NotKept as error:
        return end("error", f"The service has no room for the results: {error}. This is no fault of your kernel.")


def _compiled(
    box: Sandbox,
    run: RunRequest,
    device: str,
    stores: Stores,
    emit: Emit,
    cancelled: threading.Event,
    limits: JobLimits,
) -> Variants:
    """The source compiled, once for each choice of macros where a sweep has some."""
    if run.sweep is not None and run.sweep.macros:
        return compile_variants(box, run, device, stores, emit, cancelled, limits)
    made = compile_for_run(box, run, device, stores, emit, cancelled, limits)
    blobs = {f"object:{key}": data for key, data in made.objects.items()}
    return Variants(made, blobs=blobs | ({} if made.cubin is None else {"cubin": made.cubin}))


def _initialisers(run: RunRequest) -> Iterator[tuple[str, Initialiser]]:
    """Of buffers, and of what they are compared with."""
    yield from ((buffer.name, buffer.init) for buffer in run.buffers)
    yield from ((check.buffer, check.expected) for check in run.checks if isinstance(check, Equals))


def _launch(
    box: Sandbox,
    run: RunRequest,
    device: str,
    variants: Variants,
    given: Mapping[str, bytes],
    stores: Stores,
    emit: Emit,
    cancelled: threading.Event,
    limits: PipelineLimits,
    use: GpuUse | None,
) -> tuple[str, str]:
    compilation = variants.first
    assert compilation.kernel is not None
    blobs = dict(variants.blobs) | dict(given)
    kind, own = "launch", None
    if device.startswith("gpu"):
        assert use is not None, "a queue for a GPU needs a sandbox with one"
        kind, own = "launch-gpu", use
        blobs[PROBES] = use.probes.cubin(box, use.gpu.architecture, stores, cancelled, limits.compile)
    # What is left of the limit is for reading the buffers back.
    wall = limits.launch.wall
    deadline = wall - min(1.0, wall / 10)
    request = LaunchRequest(
        run=run, kernel=compilation.kernel, variants=variants.told, device=device, deadline_seconds=deadline
    )
    stored = repeating = 0.0
    ending: tuple[str, str] | None = None
    awaited = Awaited(run)

    def receive(header: Mapping[str, object], payload: bytes) -> None:
        nonlocal stored, repeating, ending
        event = event_of(
            header,
            allowed=_OF_A_LAUNCH,
            awaited=awaited,
            payload=payload,
        )
        before = time.perf_counter()
        event = stored_event(event, payload, stores.blobs)
        stored += time.perf_counter() - before
        if ending is None and isinstance(event, Found) and event.fatal:
            ending = worst(event)
        if ending is None and isinstance(event, Diagnosed) and event.diagnostic.severity == "error":
            ending = worst(event.diagnostic)
        if isinstance(event, Timed) and event.stage == "repeat":
            repeating = event.seconds
        emit(event if own is None else own.completed(event, run, repeating))

    with contextlib.nullcontext() if own is None else own.turn(cancelled):
        outcome = run_job(box, kind, request.model_dump_json().encode(), blobs, limits.launch, cancelled, receive)
    emit(Timed(stage="sandbox", seconds=outcome.spawn_ms / 1000))
    emit(Timed(stage="transfer", seconds=stored))
    if outcome.verdict != "ok" and not (ending and outcome.verdict == "error"):
        return finished(outcome, "launch", limits.launch)
    return ending or ("ok", "")
