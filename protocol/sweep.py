"""One launch of a run tried with several block shapes, in one job."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from protocol.arguments import Buffer
from protocol.base import Model, Seconds
from protocol.diagnostics import Diagnostic
from protocol.kernel import Occupancy
from protocol.launch import Cover, Dim3, LaunchConfig, Step, dim3, resolve_grid, walk

MAX_SHAPES = 32

State = Literal["ran", "refused", "failed", "not-run"]


class Sweep(Model):
    """Runs all steps once for every block shape, each time from the buffers' initial values.

    The shape takes the place of the block in one launch step. Its grid follows (`swept_grid`). What the run reads
    back, checks and prints is of the first shape that can run.
    """

    blocks: Annotated[tuple[Dim3, ...], Field(min_length=1, max_length=MAX_SHAPES)]
    step: str | None = None
    """Path of the launch, such as steps.0; may be left out where there is only one."""


class Swept(Model):
    """How one block shape of a sweep did."""

    kind: Literal["swept"] = "swept"
    index: Annotated[int, Field(ge=0)]
    """Its place in the request's sweep.blocks."""
    step: str
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    state: State
    """refused: no launch of this shape is possible; failed: the kernel met a defect; not-run: the time was up."""
    occupancy: Occupancy | None = None
    """None where the shape is refused."""
    registers: Annotated[int, Field(ge=0)]
    """A thread."""
    seconds: Seconds | None = None
    """Median time of the launch (of all its rounds, in a repeat) over `samples` runs from the same initial values."""
    samples: Annotated[int, Field(ge=0)] = 0
    clock: Literal["wall", "gpu-events"] = "wall"
    """Only `gpu-events` is GPU time; the emulator's is `wall` time of a CPU."""
    device_name: str = ""
    same_as_first: bool | None = None
    """Whether every byte read back equals that of the first shape that ran; None where there is nothing to compare."""
    differs_at: str = ""
    """The first element that differs, such as 'y[5]'."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Why the shape did not run, or what it met."""


def swept_step(steps: Sequence[Step], sweep: Sweep) -> str:
    """Path of the launch that the sweep is about. ValueError, in words for the user, where it is none."""
    launches = [path for path, step in walk(steps) if step.kind == "launch"]
    if sweep.step is None:
        if len(launches) > 1:
            raise ValueError(f"there are {len(launches)} launches: name the one to sweep ({', '.join(launches[:8])})")
        return launches[0]
    if sweep.step not in launches:
        raise ValueError(f"{sweep.step} is no launch (there are: {', '.join(launches[:8])})")
    return sweep.step


def swept_grid(config: LaunchConfig, block: Sequence[int], buffers: Sequence[Buffer]) -> tuple[int, int, int]:
    """The grid in blocks that goes with another block shape.

    A Cover covers its buffer anew; of an explicit grid the threads along each axis stay the same, rounded up to whole
    blocks.
    """
    if isinstance(config.grid, Cover):
        return resolve_grid(config.model_copy(update={"block": tuple(block)}), buffers)
    threads = [blocks * size for blocks, size in zip(dim3(config.grid), dim3(config.block), strict=True)]
    return dim3([-(-count // size) if size else 0 for count, size in zip(threads, dim3(block), strict=True)])
