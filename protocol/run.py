"""Requests to compile and to run, what children get of them, and what a link holds."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from protocol.arguments import MAX_BUFFER_BYTES, Buffer, BufferArgument
from protocol.base import SCHEMA_VERSION, Architecture, FieldError, Model, Name
from protocol.baseline import MAX_BASELINES, Baseline
from protocol.cells import cells, combinations, with_macros
from protocol.checks import Check, Equals
from protocol.diagnostics import Diagnostic
from protocol.film import Film, check_film
from protocol.gpus import gpu_named, gpu_table
from protocol.kernel import CompiledKernel, Specialisation
from protocol.launch import (
    MAX_DEPTH,
    MAX_LAUNCHES,
    MAX_STEPS,
    Cover,
    Dim3,
    Fill,
    Launch,
    Step,
    Swap,
    count_launches,
    depth,
    walk,
)
from protocol.source import Options, Source
from protocol.specialise import SPECIALISING, specialisations
from protocol.sweep import Sweep, check_shapes, swept_step
from protocol.timing import Work
from protocol.trace import TraceWish
from protocol.translation import Translation

MAX_BUFFERS = 32
MAX_SPECIALISATIONS = 16
"""Template instantiations, or kernels with lists of argument types, of one source."""
MAX_TOTAL_BYTES = 2 * MAX_BUFFER_BYTES

Device = Annotated[
    str,
    StringConstraints(pattern=r"^(auto|emulator|gpu|gpu:[a-z0-9][a-z0-9\-]{0,31})$"),
    Field(description="auto, emulator, gpu, or gpu:<type> such as gpu:h200"),
]
Instrument = Literal["checks", "counters"]
"""checks: races, uninitialised reads, threads missing at barriers. counters: requests, sectors, branches…"""
Version = Annotated[int, Field(ge=1, le=SCHEMA_VERSION)]


class CompileRequest(Model):
    """Compile only: parameters, resources, occupancy and diagnostics."""

    schema_version: Version = SCHEMA_VERSION
    source: Source
    options: Options = Options()
    architecture: Architecture = "sm_90"
    instantiations: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=256)], ...], Field(max_length=MAX_SPECIALISATIONS)
    ] = ()
    """Template kernels to instantiate, such as scale<float>."""
    specialisations: Annotated[tuple[Specialisation, ...], Field(max_length=MAX_SPECIALISATIONS)] = ()
    """For a language that compiles for the arguments of launches (numba): kernels with the types of theirs."""


class RunRequest(Model):
    """A whole run: source, options, buffers, steps and checks; with a sweep, one for several block shapes."""

    schema_version: Version = SCHEMA_VERSION
    source: Source
    options: Options = Options()
    architecture: Architecture = "sm_90"
    buffers: Annotated[tuple[Buffer, ...], Field(max_length=MAX_BUFFERS)] = ()
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=MAX_STEPS)]
    checks: Annotated[tuple[Check, ...], Field(max_length=MAX_BUFFERS)] = ()
    device: Device = "auto"
    sweep: Sweep | None = None
    instruments: Annotated[tuple[Instrument, ...], Field(max_length=2)] = ()
    """What the emulator watches beside running the kernel, at a cost in speed; a GPU has neither."""
    estimate: str | None = None
    """The emulator also estimates the launches' time on this GPU of `protocol.gpus`; "auto" is the one that the
    architecture stands for. Without effect on a GPU, which measures."""
    baselines: Annotated[tuple[Baseline, ...], Field(max_length=MAX_BASELINES)] = ()
    """The same job on the processor, timed after the launches."""
    trace: TraceWish | None = None
    """The emulator also tells what one warp of a launch does in memory, once the results are told."""
    film: Film | None = None
    """Frames of a buffer between the rounds of a repeat; with a sweep they are of its first shape."""
    work: Work | None = None
    """What one launch moves and computes, so that a GPU's time is shown as a share of what the card can do."""

    @model_validator(mode="after")
    def _consistent(self) -> "RunRequest":
        if self.estimate not in (None, "auto"):
            try:
                gpu = gpu_named(self.estimate)
            except KeyError:
                known = ", ".join(facts.name for facts in gpu_table().gpus)
                raise FieldError("estimate", f"no GPU is called {self.estimate}: there are auto, {known}") from None
            if gpu.architecture != self.architecture:
                message = f"the {gpu.name} is {gpu.architecture}; the source is compiled for {self.architecture}"
                raise FieldError("estimate", message)
        if self.instruments and self.device.startswith("gpu"):
            raise FieldError("instruments", "a GPU has no instruments: choose the emulator")
        names = [buffer.name for buffer in self.buffers]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise FieldError(f"buffers.{index}.name", f"two buffers are called {name}")
        total = sum(buffer.bytes for buffer in self.buffers)
        if total > MAX_TOTAL_BYTES:
            raise FieldError("buffers", f"the buffers have {total:,} bytes together; the limit is {MAX_TOTAL_BYTES:,}")
        if depth(self.steps) > MAX_DEPTH:
            raise FieldError("steps", f"repeats are nested more than {MAX_DEPTH} deep")
        launches = count_launches(self.steps)
        if not 1 <= launches <= MAX_LAUNCHES:
            raise FieldError("steps", f"the steps amount to {launches:,} launches; 1 to {MAX_LAUNCHES:,} are allowed")
        by_name = {buffer.name: buffer for buffer in self.buffers}
        for path, step in walk(self.steps):
            for field, name in _buffer_names(step):
                if name not in by_name:
                    raise FieldError(f"{path}.{field}", f"no buffer is called {name}")
            if isinstance(step, Swap):
                first, second = by_name[step.first], by_name[step.second]
                if (first.dtype, first.shape) != (second.dtype, second.shape):
                    raise FieldError(
                        path, f"{step.first} and {step.second} differ in dtype or shape, so they cannot be swapped"
                    )
        for index, check in enumerate(self.checks):
            for field, name in _checked(check):
                if name not in by_name:
                    raise FieldError(f"checks.{index}.{field}", f"no buffer is called {name}")
        self._check_kernels()
        if self.sweep is not None:
            self._check_sweep(self.sweep)
        if self.trace is not None:
            self._check_trace(self.trace)
        if self.film is not None:
            check_film(self.steps, self.buffers, self.film)
        return self

    def _check_kernels(self) -> None:
        asked = len(_specialisations(self)) + len(_instantiations(self))
        if asked > MAX_SPECIALISATIONS:
            message = (
                f"the launches ask for {asked} kernels made to measure; {MAX_SPECIALISATIONS} are compiled at once"
            )
            raise FieldError("steps", message)

    def _check_trace(self, trace: TraceWish) -> None:
        launches = [path for path, step in walk(self.steps) if isinstance(step, Launch)]
        if self.device.startswith("gpu"):
            raise FieldError("trace", "a GPU cannot be looked into: choose the emulator")
        if trace.step is None and len(launches) > 1:
            raise FieldError("trace.step", f"there are {len(launches)} launches: name one ({', '.join(launches[:8])})")
        if trace.step is not None and trace.step not in launches:
            raise FieldError("trace.step", f"{trace.step} is no launch (there are: {', '.join(launches[:8])})")

    def _check_sweep(self, sweep: Sweep) -> None:
        try:
            swept_step(self.steps, sweep)
        except ValueError as error:
            raise FieldError("sweep.step", str(error)) from None
        check_shapes(sweep)
        if sweep.macros and self.source.language != "cuda-c++":
            raise FieldError("sweep.macros", f"a source in {self.source.language} has no macros")
        cells(self)


def _checked(check: Check) -> Iterable[tuple[str, str]]:
    if isinstance(check, Equals):
        yield "buffer", check.buffer
    else:
        yield from ((f"buffers.{index}", name) for index, name in enumerate(check.buffers))


def _buffer_names(step: Step) -> Iterable[tuple[str, str]]:
    if isinstance(step, Launch):
        if isinstance(step.config.grid, Cover):
            yield "config.grid.buffer", step.config.grid.buffer
        for index, argument in enumerate(step.arguments):
            if isinstance(argument, BufferArgument):
                yield f"arguments.{index}.buffer", argument.buffer
    elif isinstance(step, Swap):
        yield "first", step.first
        yield "second", step.second
    elif isinstance(step, Fill):
        yield "buffer", step.buffer


def _instantiations(run: RunRequest) -> tuple[str, ...]:
    """Template kernels that the launches name."""
    if run.source.language != "cuda-c++":
        return ()
    launches = (step for _, step in walk(run.steps) if isinstance(step, Launch))
    return tuple(dict.fromkeys(step.entry for step in launches if "<" in step.entry))


def _specialisations(run: RunRequest) -> tuple[Specialisation, ...]:
    return specialisations(run.steps, run.buffers) if run.source.language in SPECIALISING else ()


def compile_request(run: RunRequest, combination: int = 0) -> CompileRequest:
    """The compilation that a run needs, or one of those of its sweep: see `protocol.cells.Cell.combination`."""
    options = run.options
    if run.sweep is not None and run.sweep.macros:
        macros = combinations(run.sweep)[combination]
        options = options.model_copy(update={"defines": with_macros(options.defines, macros)})
    return CompileRequest(
        source=run.source,
        options=options,
        architecture=run.architecture,
        instantiations=_instantiations(run),
        specialisations=_specialisations(run),
    )


class OccupancyQuestion(Model):
    """A configuration to compute occupancy for."""

    grid: Dim3 = (1, 1, 1)
    block: Dim3
    dynamic_shared_bytes: Annotated[int, Field(ge=0)] = 0


class TranslateJob(Model):
    """What the child gets that executes a source's Python text, to make PTX of its kernels."""

    request: CompileRequest
    deadline_seconds: Annotated[float, Field(gt=0)] = 9.0
    """From the job's start: then it tells where the text is, and ends."""


class CompileJob(Model):
    """What a compile child gets. With a run, its launches are checked and, for the emulator, code is made for them."""

    request: CompileRequest
    run: RunRequest | None = None
    device: str = ""
    kernel: CompiledKernel | None = None
    """From the cache, where only emulator code or occupancy is missing."""
    translation: Translation | None = None
    """Of a language whose sources are translated before (protocol.specialise.SPECIALISING)."""
    occupancy: OccupancyQuestion | None = None
    """Asks for the occupancy artifact at this launch."""
    lint: bool = False
    """Asks for the lint artifact: what looks wrong with the launches of `run`, for which no code is made then."""
    recognise: bool = False
    """Nothing is compiled: the source is Python in which CuPy's kernels are looked for."""
    deadline_seconds: Annotated[float, Field(gt=0)] = 9.0
    """From the job's start: no further code is made for the shapes of a sweep then."""
    combination: int = 0
    """Of a sweep with macros: whose cells get their code."""
    part: Annotated[int, Field(ge=0)] = 0
    parts: Annotated[int, Field(ge=1)] = 1
    """Of a sweep: the cells' code is made by several children, this one's is every `parts`th cell from `part` on."""
    final: bool = False
    """Emulator code of large kernels is the good code at once, however long it takes to make."""


UNPREPARED = "sweep-code"
"""Code of the diagnostic that tells of shapes whose code was not made in time."""


class ReferenceJob(Model):
    """What the child of a NumPy reference gets."""

    run: RunRequest
    kernel: CompiledKernel
    check: Annotated[int, Field(ge=0)]
    """Its place in the run's checks."""
    deadline_seconds: Annotated[float, Field(gt=0)] = 4.0
    """From the job's start: then it tells where the code is, and ends."""


class BaselineJob(Model):
    """What the child of a baseline gets."""

    run: RunRequest
    kernel: CompiledKernel
    index: Annotated[int, Field(ge=0)]
    """Its place in the run's baselines."""
    deadline_seconds: Annotated[float, Field(gt=0)] = 9.0
    """From the job's start: then it tells where the code is, and ends."""


class Variant(Model):
    """What one choice of a sweep's macros was compiled to; without a kernel, why not."""

    kernel: CompiledKernel | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


class LaunchRequest(Model):
    """What a launch child gets, beside its blobs."""

    run: RunRequest
    kernel: CompiledKernel
    """Of a sweep with macros: that of the first choice which compiles."""
    variants: tuple[Variant, ...] = ()
    """Of a sweep: by `Cell.combination`."""
    device: str
    """Resolved: emulator, or gpu:<type>."""
    deadline_seconds: Annotated[float, Field(gt=0)] = 9.0
    """From the job's start: kernels that still run are stopped then, and the buffers are read back."""


class BufferView(Model):
    """How the page shows a buffer."""

    shown_as: Literal["auto", "table", "plot", "image", "hidden"] = "auto"
    palette: Literal["viridis", "inferno", "gray", "diverging", "rgb"] = "viridis"
    logarithmic: bool = False


class SharePayload(Model):
    """What a link holds for ever."""

    schema_version: Version = SCHEMA_VERSION
    title: Annotated[str, StringConstraints(max_length=120, strip_whitespace=True)] = ""
    request: RunRequest
    views: dict[Name, BufferView] = {}
