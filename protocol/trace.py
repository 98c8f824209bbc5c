"""Where one warp's lanes go in memory, and how many lanes blocks keep busy: a look into a launch on the emulator."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Bytes, Model
from protocol.diagnostics import Span

Index = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]


class TraceWish(Model):
    """The warp to look at. The emulator runs its block once more, after the results are told."""

    step: str | None = None
    """Path of the launch; may be left out where there is only one."""
    block: tuple[Index, Index, Index] = (0, 0, 0)
    warp: Annotated[int, Field(ge=0, le=31)] = 0


class TracedAccess(Model):
    """One instruction that the warp executed: the first of its `times` executions."""

    span: Span | None = None
    ptx_line: int = 0
    form: str
    """As in the PTX, such as ld.global.f32."""
    space: str
    access: Literal["read", "write", "atomic"]
    times: Annotated[int, Field(ge=1)]
    bytes: Bytes
    """That a lane accesses."""
    buffer: str = ""
    """Where the lowest address lies; empty in shared and local memory and outside all buffers."""
    offsets: tuple[int | None, ...]
    """Of the 32 lanes, in bytes: from the buffer's start, else the address; None where a lane is idle."""


class BlockLanes(Model):
    """How many of its lanes' places one block used."""

    index: Index
    """Linear, x fastest."""
    instructions: Annotated[int, Field(ge=0)]
    """Of its warps."""
    lanes: Annotated[int, Field(ge=0)]
    """Active ones of those, together: 32 × instructions where no lane was ever idle."""


class Traced(Model):
    """One block and warp of a launch, or why they could not be traced."""

    kind: Literal["traced"] = "traced"
    step: str
    block: tuple[int, int, int]
    warp: int
    accesses: tuple[TracedAccess, ...] = ()
    blocks: tuple[BlockLanes, ...] = ()
    """As many as the time was enough for, the traced one first."""
    why_not: str = ""
