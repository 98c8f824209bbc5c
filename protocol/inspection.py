"""Compile-only answers: what the page shows of a kernel while its source and launch are being edited."""

from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from protocol.arguments import Buffer
from protocol.base import Architecture, FieldError, Model, Seconds
from protocol.diagnostics import Diagnostic
from protocol.kernel import Entry, Occupancy, Resources
from protocol.launch import MAX_STEPS, Step
from protocol.recognition import Recognised
from protocol.run import MAX_BUFFERS, CompileRequest, OccupancyQuestion, RunRequest


class LintQuestion(Model):
    """The buffers and steps of a run that is still being typed: what of them looks wrong?"""

    buffers: Annotated[tuple[Buffer, ...], Field(max_length=MAX_BUFFERS)] = ()
    steps: Annotated[tuple[Step, ...], Field(min_length=1, max_length=MAX_STEPS)]

    def run(self, request: CompileRequest) -> RunRequest:
        """With its source, as a run. ValidationError where the two do not make one."""
        return RunRequest(
            source=request.source,
            options=request.options,
            architecture=request.architecture,
            buffers=self.buffers,
            steps=self.steps,
        )


class InspectRequest(Model):
    """Compile, and answer with entries, parameters, resources, diagnostics and, given a launch, occupancy."""

    compile: CompileRequest
    launch: OccupancyQuestion | None = None
    recognise: bool = False
    """Nothing is compiled: the answer's `recognised` says which of CuPy's kernels the source, Python, holds."""
    every_gpu: bool = False
    """Compile for the architecture of every GPU of `protocol.gpus` as well, and answer with `gpus`. Needs `launch`."""
    lint: LintQuestion | None = None
    """Answer with `lint`: what looks wrong with these launches of the source."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.every_gpu and self.launch is None:
            raise FieldError("launch", "give the launch whose fit on every GPU is asked for")
        if self.lint is not None:
            try:
                self.lint.run(self.compile)
            except ValidationError as error:
                cause = error.errors()[0].get("ctx", {}).get("error")
                field = f"lint.{cause.field}" if isinstance(cause, FieldError) else "lint"
                raise FieldError(field, str(cause or error)) from None
        return self


class OccupancyPoint(Model):
    """Occupancy at one block size."""

    block_threads: int
    blocks_per_sm: int
    warps_per_sm: int
    limiters: tuple[str, ...]


class EntryOccupancy(Model):
    """Occupancy of one entry at the launch asked for, and the curve over block sizes (32, 64, … 1,024 threads)."""

    entry: str
    occupancy: Occupancy | None = None
    """None where the launch is not possible; the diagnostics then say why."""
    curve: tuple[OccupancyPoint, ...] = ()


class GpuFit(Model):
    """How one GPU of `protocol.gpus` takes a kernel and the launch asked for."""

    gpu: str
    architecture: Architecture
    entry: str = ""
    """As Entry.name; empty where the source does not compile for the GPU."""
    resources: Resources | None = None
    occupancy: Occupancy | None = None
    """With the waves of this GPU; None where it cannot run the launch, and `why_not` says why."""
    why_not: str = ""


class InspectReport(Model):
    """The answer. `verdict` is ok, compile-error, or what ended the compiler: error, signal, limit:<name>."""

    verdict: str
    message: str = ""
    architecture: str
    toolchain: str = ""
    entries: tuple[Entry, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    occupancy: tuple[EntryOccupancy, ...] = ()
    ptx: str = ""
    gpus: tuple[GpuFit, ...] = ()
    """In the order of the table, each with every entry that the GPU's compilation found."""
    recognised: Recognised | None = None
    lint: tuple[Diagnostic, ...] = ()
    """Findings, each of origin lint, at a field such as steps.0.config.block or at a line; also where the source does
    not compile, as far as the launch alone shows them."""
    cached: bool = False
    seconds: Seconds = 0.0
