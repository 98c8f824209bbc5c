"""Compile-only answers: what the page shows of a kernel while its source and launch are being edited."""

from protocol.base import Model, Seconds
from protocol.diagnostics import Diagnostic
from protocol.kernel import Entry, Occupancy
from protocol.recognition import Recognised
from protocol.run import CompileRequest, OccupancyQuestion


class InspectRequest(Model):
    """Compile, and answer with entries, parameters, resources, diagnostics and, given a launch, occupancy."""

    compile: CompileRequest
    launch: OccupancyQuestion | None = None
    recognise: bool = False
    """Nothing is compiled: the answer's `recognised` says which of CuPy's kernels the source, Python, holds."""


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
    recognised: Recognised | None = None
    cached: bool = False
    seconds: Seconds = 0.0
