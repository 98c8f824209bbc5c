"""What a compiler makes of a source: entries with their parameters and resources."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Architecture, Bytes, Digest, Model
from protocol.diagnostics import Diagnostic
from protocol.dtypes import DType

ParameterKind = Literal["pointer", "scalar", "vector", "struct", "unknown"]


class Parameter(Model):
    """One parameter of a __global__ function. `dtype` is of the value, of a vector's component or of the pointee."""

    name: str
    type: str
    """As the user wrote it, such as 'const float *'."""
    kind: ParameterKind
    dtype: DType | None = None
    components: Annotated[int, Field(ge=1, le=4)] = 1
    """Components of a vector, or of the vector pointed to."""
    const: bool = False
    """For a pointer: the pointee is const, so that the kernel only reads it."""
    bytes: Bytes
    offset: Bytes


class Resources(Model):
    """What one thread, or one block, of an entry takes, as the assembler reports for one architecture."""

    registers: Annotated[int, Field(ge=0)]
    static_shared_bytes: Bytes = 0
    local_bytes: Bytes = 0
    """Stack frame a thread."""
    spill_store_bytes: Bytes = 0
    spill_load_bytes: Bytes = 0
    constant_bytes: Bytes = 0
    barriers: Annotated[int, Field(ge=0)] = 0
    max_threads_per_block: Annotated[int, Field(ge=1)] = 1024
    """From __launch_bounds__, else 1,024."""


class Entry(Model):
    """A __global__ function that can be launched."""

    name: str
    """As in the PTX."""
    display: str
    """As the user calls it: demangled, with template arguments."""
    parameters: tuple[Parameter, ...] = ()
    resources: Resources
    line: int | None = None
    """Where it is defined in the user's source."""


class CompiledKernel(Model):
    """The product of a compilation. PTX is text; the CUBIN and emulator code are blobs beside it."""

    language: str
    architecture: Architecture
    toolchain: str
    """Compiler and version, such as 'NVRTC 13.0'."""
    ptx: str
    cubin: Digest | None = None
    entries: tuple[Entry, ...]
    warnings: tuple[Diagnostic, ...] = ()
    """Told again whenever the kernel comes from the cache."""


class OccupancyLimit(Model):
    """Blocks an SM that one resource allows."""

    resource: Literal["warps", "blocks", "registers", "shared", "barriers"]
    blocks: Annotated[int, Field(ge=0)]


class Occupancy(Model):
    """Theoretical occupancy of one launch on one SM of an architecture, and how its grid fills a GPU."""

    architecture: Architecture
    blocks_per_sm: int
    warps_per_sm: int
    max_warps_per_sm: int
    limits: tuple[OccupancyLimit, ...]
    limiters: tuple[str, ...]
    """The resources that allow the fewest blocks."""
    gpu: str
    """The GPU model that waves are counted for."""
    sm_count: int
    waves: float
    """Blocks of the grid over the blocks that the whole GPU holds at once; 0 where none fits."""
    tail: float
    """Share of the last wave's places that stay empty, 0 to 1."""
    driver_blocks_per_sm: Annotated[int, Field(ge=0)] | None = None
    """Blocks an SM as the driver of the GPU that ran the launch answers; None where none did."""
