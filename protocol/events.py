"""The facts of a run, in the order in which they happened; everything shown is a fold over them."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Bytes, Digest, Model, Seconds
from protocol.baseline import Baselined
from protocol.diagnostics import Diagnostic, Span
from protocol.dtypes import DType, Number
from protocol.estimate import Estimated
from protocol.film import Filmed
from protocol.kernel import Entry, Occupancy
from protocol.sweep import Concluded, Swept
from protocol.timing import Measured
from protocol.trace import Traced

Coordinates = tuple[int, int, int]
Stage = Literal[
    "queue", "sandbox", "compile", "jit", "setup", "reference", "run", "repeat", "film", "transfer", "total"
]  # fmt: skip
DeviceKind = Literal["emulator", "gpu"]
FindingClass = Literal["memory", "race", "initialisation", "synchronisation", "trap", "assert", "limit"]


class Queued(Model):
    """The run was accepted. `device` is the resolved one."""

    kind: Literal["queued"] = "queued"
    device: str
    position: Annotated[int, Field(ge=0)] = 0


class Compiling(Model):
    """A worker has taken the run up; a second attempt follows a lost worker."""

    kind: Literal["compiling"] = "compiling"
    attempt: Annotated[int, Field(ge=1)]
    worker: str = ""


class Compiled(Model):
    """The source is compiled, or was found in the cache."""

    kind: Literal["compiled"] = "compiled"
    architecture: str
    toolchain: str
    entries: tuple[Entry, ...]
    cached: bool = False


class Diagnosed(Model):
    kind: Literal["diagnosed"] = "diagnosed"
    diagnostic: Diagnostic


class Launched(Model):
    """A launch begins on a named device. Inside a repeat only the first round is told."""

    kind: Literal["launched"] = "launched"
    step: str
    entry: str
    grid: Coordinates
    block: Coordinates
    dynamic_shared_bytes: Bytes
    cooperative: bool = False
    cluster: Coordinates | None = None
    device: DeviceKind
    device_name: str
    occupancy: Occupancy | None = None


class Printed(Model):
    """Text from the kernel's printf, as it comes."""

    kind: Literal["printed"] = "printed"
    text: str


class Found(Model):
    """A defect of the kernel, seen while it ran."""

    kind: Literal["found"] = "found"
    class_: Annotated[FindingClass, Field(alias="class")]
    code: str
    """Such as out-of-bounds, misaligned, null, trap."""
    message: str
    span: Span | None = None
    access: Literal["read", "write", "atomic"] | None = None
    space: str | None = None
    bytes: Bytes | None = None
    buffer: str | None = None
    index: Number | None = None
    """Element index in the buffer, negative before its start."""
    block: Coordinates | None = None
    thread: Coordinates | None = None
    warp: int | None = None
    lane: int | None = None
    step: str = ""
    fatal: bool = True
    advice: bool = False
    """Legal, but worth a look; the run is not wrong for it."""


class Counted(Model):
    """What an instrument counted over one launch."""

    kind: Literal["counted"] = "counted"
    step: str
    counters: dict[str, int]


class Timed(Model):
    """Time of one stage. Only `gpu-events` is GPU time; the emulator's is `wall` time of a CPU."""

    kind: Literal["timed"] = "timed"
    stage: Stage
    seconds: Seconds
    clock: Literal["wall", "gpu-events"] = "wall"
    step: str = ""
    launches: Annotated[int, Field(ge=1)] = 1
    """Launches that the time covers, inside a repeat."""
    samples: Annotated[int, Field(ge=1)] = 1
    """Above 1: the kernel ran so many times more on the same data, for its time alone, and `seconds` is the median."""
    cold_seconds: Seconds | None = None
    """The median of as many runs that found the L2 cache emptied."""
    first_seconds: Seconds | None = None
    """The launch that gave the results, where `seconds` is of others."""
    note: str = ""
    """Why a device that repeats launches for their time did not repeat this one."""
    measured: Measured | None = None
    """Of a launch that a GPU repeated for its time: the series, and what belongs to them."""


class BufferRead(Model):
    """An out or inout buffer at the end; its bytes are a blob, row-major."""

    kind: Literal["buffer-read"] = "buffer-read"
    name: str
    dtype: DType
    shape: tuple[int, ...]
    digest: Digest
    bytes: Bytes
    minimum: Number | None = None
    """Smallest finite element, None where there is none or the dtype is complex."""
    maximum: Number | None = None
    not_finite: Annotated[int, Field(ge=0)] = 0


class Checked(Model):
    """A check of the request, passed or with the first element that differs (in row-major order).

    A NumPy reference is told once for each buffer that it defines.
    """

    kind: Literal["checked"] = "checked"
    buffer: str
    passed: bool
    differing: Annotated[int, Field(ge=0)] = 0
    index: tuple[int, ...] | None = None
    got: Number | None = None
    expected: Number | None = None
    message: str = ""
    check: Annotated[int, Field(ge=0)] | None = None
    """Its place in the request's checks."""
    compared: bool = True
    """False where there is nothing to compare with, since the reference failed: a diagnostic says why."""
    step: str = ""
    """The last launch whose grid covers the buffer, one thread an element."""
    block: Coordinates | None = None
    thread: Coordinates | None = None
    """Of that launch, the thread that the element at `index` falls to."""


class Finished(Model):
    """The end: ok, compile-error, error, signal, cancelled or limit:<name>."""

    kind: Literal["finished"] = "finished"
    verdict: Annotated[str, Field(pattern=r"^(ok|compile-error|error|signal|cancelled|limit:[a-z-]+)$")]
    message: str = ""
    """In plain words, naming the limit that ended the run."""
    seconds: Seconds = 0.0


Event = Annotated[
    Queued
    | Compiling
    | Compiled
    | Diagnosed
    | Launched
    | Printed
    | Found
    | Counted
    | Timed
    | BufferRead
    | Filmed
    | Checked
    | Swept
    | Concluded
    | Estimated
    | Traced
    | Baselined
    | Finished,
    Field(discriminator="kind"),
]


class EventRecord(Model):
    """An event with its place in the stream: id is <attempt>-<sequence>, at is Unix time in seconds."""

    id: Annotated[str, Field(pattern=r"^\d+-\d+$")]
    at: float
    event: Event
