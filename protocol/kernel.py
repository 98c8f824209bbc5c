"""What a compiler makes of a source: entries with their parameters and resources."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from protocol.base import Architecture, Bytes, Digest, Model, Name
from protocol.diagnostics import Diagnostic
from protocol.dtypes import DType

ParameterKind = Literal["pointer", "scalar", "vector", "struct", "unknown"]


class ArgumentType(Model):
    """The type of a launch's argument, for a language that compiles for it."""

    name: Name | None = None
    kind: Literal["array", "number", "other"]
    dtype: DType | None = None
    """Of an array's element or of a number; a number without one has the type that Python gives its value."""
    dimensions: Annotated[int, Field(ge=0, le=4)] = 0
    """Axes of an array."""


class Specialisation(Model):
    """A kernel, by name, with the types that a launch calls it with."""

    entry: Annotated[str, StringConstraints(max_length=256)] = ""
    arguments: Annotated[tuple[ArgumentType, ...], Field(max_length=64)] = ()


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
    dimensions: Annotated[int, Field(ge=0, le=4)] = 0
    """Axes of an array that is passed with its shape and strides, as Numba does; 0 for a bare pointer."""
    pieces: Annotated[tuple[Bytes, ...], Field(max_length=16)] = ()
    """Sizes of the kernel's own parameters that carry it, where it is not one: an array's words, a complex's parts."""
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
    """A kernel that can be launched: in CUDA C++ a __global__ function."""

    name: str
    """As in the PTX."""
    display: str
    """As the user calls it: demangled, with template arguments."""
    parameters: tuple[Parameter, ...] = ()
    resources: Resources
    line: int | None = None
    """Where it is defined in the user's source."""
    synchronises_grid: bool = False
    """It asks for the grid's own barrier, which only a cooperative launch has."""
    uses_clusters: bool = False
    """It reads registers, or uses barriers or shared memory, of thread block clusters."""
    cluster: tuple[int, int, int] | None = None
    """Blocks of its clusters, where __cluster_dims__ fixes them."""
    compiled: bool = True
    """False: it is compiled once a launch gives the types of its arguments. Types may be missing then, and
    resources are zeros."""
    types: tuple[ArgumentType, ...] | None = None
    """What it was compiled for, in a language that compiles for the arguments of a launch."""


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
