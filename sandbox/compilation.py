"""The compile step: from the cache, else in a compile child, whose products alone feed the cache."""

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from protocol.diagnostics import Diagnostic
from protocol.events import Diagnosed, Event, Timed
from protocol.inspection import EntryOccupancy
from protocol.kernel import CompiledKernel
from protocol.recognition import Recognised
from protocol.run import UNPREPARED, CompileJob, CompileRequest, RunRequest, TranslateJob, compile_request
from protocol.specialise import step_of
from protocol.translation import Translation
from sandbox.jobs import run_job
from sandbox.keys import code_key, compile_key
from sandbox.launcher import JobLimits, JobOutcome, Sandbox
from sandbox.profiles import TRANSLATING
from sandbox.receive import Misbehaved, event_of
from sandbox.stores import Stores

Emit = Callable[[Event], None]
T = TypeVar("T")

_QUICK = ":quick"
"""Behind the keys of objects that were made in a hurry."""
MOST_DIAGNOSTICS = 100
"""Of one translation."""
_SPECIALISATION = re.compile(r"specialisations\.(\d{1,2})(\..*)?$")
_CODE = TypeAdapter(dict[str, str])
_OCCUPANCY = TypeAdapter(tuple[EntryOccupancy, ...])
_LINT = TypeAdapter(tuple[Diagnostic, ...])


@dataclass
class Compilation:
    """What a compile child, or the cache, has given so far."""

    kernel: CompiledKernel | None = None
    objects: dict[str, bytes] = field(default_factory=dict)
    quick: set[str] = field(default_factory=set)
    """Keys of objects that were made in a hurry, so that better ones can be made."""
    cubin: bytes | None = None
    occupancy: tuple[EntryOccupancy, ...] = ()
    lint: tuple[Diagnostic, ...] = ()
    diagnostics: list[Diagnostic] = field(default_factory=list)
    recognised: Recognised | None = None
    cached: bool = False
    outcome: JobOutcome | None = None
    kind: str = "compile"
    """Of the job whose end `outcome` is."""

    @property
    def unprepared(self) -> bool:
        """Whether code of some shapes of a sweep is missing for want of time."""
        return any(item.code == UNPREPARED for item in self.diagnostics)

    @property
    def error(self) -> Diagnostic | None:
        return next((item for item in self.diagnostics if item.severity == "error"), None)


def compile_for_run(
    box: Sandbox,
    run: RunRequest,
    device: str,
    stores: Stores,
    emit: Emit,
    cancelled: threading.Event,
    limits: JobLimits,
    combination: int = 0,
) -> Compilation:
    """`combination` is one of a sweep's choices of macros."""
    request = compile_request(run, combination)
    key = compile_key(request)
    compilation = Compilation(kernel=cached_kernel(stores, key))
    if compilation.kernel is not None and device != "emulator":
        compilation.cubin = stores.cache.get(f"{key}:cubin")
        if compilation.cubin is None:
            compilation.kernel = None
    if compilation.kernel is not None:
        compilation.cached = True
        for warning in compilation.kernel.warnings:
            emit(Diagnosed(diagnostic=warning))
        if device != "emulator":
            return compilation
        if _cached_code(stores, code_key(key, run, combination), compilation):
            return compilation
    job = CompileJob(
        request=request, run=run, device=device, kernel=compilation.kernel, deadline_seconds=0.9 * limits.wall,
        combination=combination,
    )  # fmt: skip
    if device == "emulator" and run.sweep is not None and len(os.sched_getaffinity(0)) > 1:
        _compile_by_two(box, job, compilation, cancelled, limits, emit)
    else:
        run_compile_child(box, job, compilation, cancelled, limits, emit)
    remember(stores, key, compilation)
    if device == "emulator":
        _remember_code(stores, code_key(key, run, combination), compilation)
    return compilation


def _compile_by_two(
    box: Sandbox,
    job: CompileJob,
    compilation: Compilation,
    cancelled: threading.Event,
    limits: JobLimits,
    emit: Emit,
) -> None:
    """Once there is a kernel, two children make the code of a sweep's cells side by side."""
    lock = threading.Lock()
    other = Compilation(kernel=job.kernel)
    failed: list[Misbehaved] = []
    threads: list[threading.Thread] = []

    def one_at_a_time(event: Event) -> None:
        with lock:
            emit(event)

    def second(kernel: CompiledKernel) -> None:
        half = job.model_copy(update={"kernel": kernel, "part": 1, "parts": 2})
        try:
            run_compile_child(box, half, other, cancelled, limits, one_at_a_time)
        except Misbehaved as error:
            failed.append(error)

    def start(kernel: CompiledKernel) -> None:
        threads.append(threading.Thread(target=second, args=(kernel,), name="second-half"))
        threads[0].start()

    if job.kernel is not None:
        start(job.kernel)
    try:
        mine = job.model_copy(update={"parts": 2})
        run_compile_child(
            box, mine, compilation, cancelled, limits, one_at_a_time, start if job.kernel is None else None
        )
    finally:
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]
    compilation.objects |= other.objects
    compilation.quick |= other.quick
    compilation.diagnostics += [item for item in other.diagnostics if item not in compilation.diagnostics]
    if compilation.outcome is not None and compilation.outcome.verdict == "ok" and other.outcome is not None:
        compilation.outcome = other.outcome


def improve(
    box: Sandbox, run: RunRequest, stores: Stores, quick: Compilation, limits: JobLimits, stopping: threading.Event
) -> None:
    """Puts good code of a run's kernels into the cache, where quick code of them is. Nobody waits for it."""
    request = compile_request(run)
    better = Compilation(kernel=quick.kernel, cached=True)
    job = CompileJob(
        request=request, run=run, device="emulator", kernel=quick.kernel, deadline_seconds=0.9 * limits.wall, final=True
    )
    try:
        run_compile_child(box, job, better, stopping, limits, lambda event: None)
    except Misbehaved:
        # As of a run's own compile child, nothing is kept of it.
        return
    if better.outcome is not None and better.outcome.verdict == "ok" and better.objects.keys() == quick.objects.keys():
        _remember_code(stores, code_key(compile_key(request), run), better)


def _remember_code(stores: Stores, code: str, compilation: Compilation) -> None:
    if not compilation.objects or compilation.unprepared:
        return
    keys = {name: f"{code}:{name}{_QUICK if name in compilation.quick else ''}" for name in compilation.objects}
    for name, data in compilation.objects.items():
        stores.cache.put(keys[name], data)
    stores.cache.put(code, _CODE.dump_json(keys))


def run_compile_child(
    box: Sandbox,
    job: CompileJob,
    compilation: Compilation,
    cancelled: threading.Event,
    limits: JobLimits,
    emit: Emit,
    on_kernel: Callable[[CompiledKernel], None] | None = None,
) -> None:
    """Runs the job; where the source's text has to be executed for it, a child of its own does that before.

    `on_kernel` is told of the kernel while the child goes on.
    """
    translated = 0.0
    if job.request.source.language in TRANSLATING and job.kernel is None and not job.recognise:
        begin = time.perf_counter()
        translation = translate(box, job, compilation, cancelled, limits, emit)
        if translation is None:
            return
        job, translated = job.model_copy(update={"translation": translation}), time.perf_counter() - begin
    said = tuple(compilation.diagnostics)

    def receive(header: Mapping[str, object], payload: bytes) -> None:
        artifact = header.get("artifact")
        if artifact == "kernel" and job.kernel is None:
            kernel = _checked_kernel(payload, job.request)
            # What was said of the source is told again with what was said of its PTX.
            compilation.kernel = kernel.model_copy(update={"warnings": (*said, *kernel.warnings)})
            if on_kernel is not None:
                on_kernel(compilation.kernel)
        elif artifact == "cubin":
            compilation.cubin = payload
        elif artifact == "object" and isinstance(key := header.get("key"), str):
            compilation.objects[key] = payload
            if header.get("quality") == "quick":
                compilation.quick.add(key)
        elif artifact == "recognised" and job.recognise:
            compilation.recognised = _validated(TypeAdapter(Recognised), payload)
        elif artifact == "occupancy":
            compilation.occupancy = _validated(_OCCUPANCY, payload)
        elif artifact == "lint" and job.lint:
            compilation.lint = _validated(_LINT, payload)
        else:
            event = event_of(header, allowed=("diagnosed", "timed"))
            if isinstance(event, Diagnosed):
                compilation.diagnostics.append(event.diagnostic)
            if isinstance(event, Timed) and event.stage == "compile":
                event = event.model_copy(update={"seconds": event.seconds + translated})
            emit(event)

    outcome = run_job(box, "compile", job.model_dump_json().encode(), {}, limits, cancelled, receive)
    emit(Timed(stage="sandbox", seconds=outcome.spawn_ms / 1000))
    compilation.outcome, compilation.kind = outcome, "compile"


def translate(
    box: Sandbox,
    job: CompileJob,
    compilation: Compilation,
    cancelled: threading.Event,
    limits: JobLimits,
    emit: Emit,
) -> Translation | None:
    """The source's kernels as PTX; None where that failed, which `compilation` then tells.

    The child executes the source, so that nothing but its PTX is used: what runs on a processor or a GPU is made of
    that by a compile child, as it would be of PTX that the user had typed.
    """
    kind = TRANSLATING[job.request.source.language]
    if kind not in box.kinds:
        message = f"this installation has no compiler for {job.request.source.language}"
        diagnostic = Diagnostic(
            severity="error", message=message, origin="request", code="language", field="source.language"
        )
        compilation.diagnostics.append(diagnostic)
        emit(Diagnosed(diagnostic=diagnostic))
        return None
    made: list[Translation] = []
    told = 0

    def receive(header: Mapping[str, object], payload: bytes) -> None:
        nonlocal told
        if header.get("artifact") == "translation" and not made:
            made.append(_validated(TypeAdapter(Translation), payload))
            return
        event = event_of(header, allowed=("diagnosed", "timed"))
        if isinstance(event, Diagnosed) and told < MOST_DIAGNOSTICS:
            told += 1
            diagnostic = _of_launch(event.diagnostic, job.run)
            compilation.diagnostics.append(diagnostic)
            emit(Diagnosed(diagnostic=diagnostic))

    request = TranslateJob(request=job.request, deadline_seconds=job.deadline_seconds)
    outcome = run_job(box, kind, request.model_dump_json().encode(), {}, limits, cancelled, receive)
    compilation.outcome, compilation.kind = outcome, kind
    if outcome.verdict == "error" and compilation.error is not None:
        # It ended itself at the deadline, and has said so.
        compilation.outcome = None
    return made[0] if made and outcome.verdict == "ok" and compilation.error is None else None


def _of_launch(item: Diagnostic, run: RunRequest | None) -> Diagnostic:
    """A fault of a specialisation belongs to the launch that asks for it."""
    match = _SPECIALISATION.match(item.field or "")
    if match is None or run is None or int(match[1]) >= len(compile_request(run).specialisations):
        return item
    step = step_of(run.steps, run.buffers, int(match[1]))
    return item.model_copy(update={"field": f"{step}{match[2]}"})


def cached_kernel(stores: Stores, key: str) -> CompiledKernel | None:
    """The kernel as stored under its key; None where there is none or it cannot be read."""
    data = stores.cache.get(key)
    if data is None:
        return None
    try:
        return CompiledKernel.model_validate_json(data)
    except ValidationError:
        return None


def _cached_code(stores: Stores, code: str, compilation: Compilation) -> bool:
    """Fills in the emulator objects; False where one is missing."""
    listed = stores.cache.get(code)
    if listed is None:
        return False
    for name, key in _CODE.validate_json(listed).items():
        data = stores.cache.get(key)
        if data is None:
            compilation.objects.clear()
            return False
        compilation.objects[name] = data
        if key.endswith(_QUICK):
            compilation.quick.add(name)
    return True


def remember(stores: Stores, key: str, compilation: Compilation) -> None:
    if compilation.kernel is None or compilation.cached or compilation.outcome is None:
        return
    if compilation.outcome.verdict == "ok":
        stores.cache.put(key, compilation.kernel.model_dump_json().encode())
        if compilation.cubin is not None:
            stores.cache.put(f"{key}:cubin", compilation.cubin)


def _checked_kernel(payload: bytes, request: CompileRequest) -> CompiledKernel:
    kernel = _validated(TypeAdapter(CompiledKernel), payload)
    if kernel.architecture != request.architecture:
        raise Misbehaved("a kernel for another architecture")
    return kernel


def _validated(adapter: TypeAdapter[T], payload: bytes) -> T:
    try:
        return adapter.validate_json(payload)
    except ValidationError:
        raise Misbehaved("an artifact that is not of its type") from None
