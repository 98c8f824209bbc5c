"""One launch of a run tried with several block shapes, and macros of its source, in one job."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from protocol.arguments import Buffer
from protocol.base import Bytes, FieldError, Model, Name, Seconds
from protocol.diagnostics import Diagnostic
from protocol.estimate import Estimate
from protocol.kernel import Occupancy
from protocol.launch import Cover, Dim3, LaunchConfig, Step, dim3, resolve_grid, walk

MAX_SHAPES = 256
MAX_CELLS = 256
"""That one job tries."""
MAX_PRODUCT = 4096
"""Shapes times choices of macros, before restrictions."""
MAX_COMBINATIONS = 32
"""Choices of macros: the source is compiled once for each."""

State = Literal["ran", "refused", "failed", "not-run", "excluded"]
Expression = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
MacroValue = Annotated[str, StringConstraints(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")]


class MacroAxis(Model):
    """A macro of the source and the values to try, such as TILE with 8, 16 and 32."""

    name: Name
    values: Annotated[tuple[MacroValue, ...], Field(min_length=1, max_length=MAX_COMBINATIONS)]


class Sweep(Model):
    """Runs all steps for every cell, each time from the buffers' initial values.

    A cell is a block shape, which takes the place of the block in one launch step, with a value for each macro. Its
    grid follows (`swept_grid`), or is given by expressions. What the run reads back, checks and prints is of the first
    cell that can run. Cells run in an order of chance, so that no trend of the machine favours some.

    Expressions (`protocol.expressions`) know block_x, block_y, block_z, threads, warps, the macros, the launch's
    scalar arguments by name and len(buffer); restrictions also grid_x, grid_y, grid_z, blocks and shared_bytes.
    """

    blocks: Annotated[tuple[Dim3, ...], Field(min_length=1, max_length=MAX_SHAPES)]
    step: str | None = None
    """Path of the launch, such as steps.0; may be left out where there is only one."""
    macros: Annotated[tuple[MacroAxis, ...], Field(max_length=4)] = ()
    where: Annotated[tuple[Expression, ...], Field(max_length=16)] = ()
    """A cell is tried where all of these hold."""
    grid: Annotated[tuple[Expression, ...], Field(max_length=3)] = ()
    """Blocks along x, y, z, in the place of the grid that follows from the block."""
    dynamic_shared_bytes: Annotated[str, StringConstraints(max_length=200)] = ""
    """Of a block, in the place of the launch's own."""
    sample: Annotated[int, Field(ge=1, le=MAX_CELLS)] | None = None
    """Try so many cells, drawn by chance."""
    seed: Annotated[int, Field(ge=0, le=0xFFFFFFFF)] = 0
    """Of the drawing, and of the order in which cells run."""


class Swept(Model):
    """How one cell of a sweep did. A later one of the same index takes its place."""

    kind: Literal["swept"] = "swept"
    index: Annotated[int, Field(ge=0)]
    """Its place among the cells; without macros that in the request's sweep.blocks."""
    step: str
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    state: State
    """refused: no such launch is possible; failed: the kernel met a defect; not-run: the time was up; excluded: by a
    restriction."""
    macros: dict[str, str] = {}
    dynamic_shared_bytes: Bytes = 0
    occupancy: Occupancy | None = None
    """None where the cell is refused."""
    registers: Annotated[int, Field(ge=0)]
    """A thread."""
    spill_bytes: Bytes = 0
    """Stored and loaded by spills, a thread."""
    seconds: Seconds | None = None
    """Median time of the launch (of all its rounds, in a repeat) over `samples` runs from the same initial values."""
    samples: Annotated[int, Field(ge=0)] = 0
    clock: Literal["wall", "gpu-events"] = "wall"
    """Only `gpu-events` is GPU time; the emulator's is `wall` time of a CPU."""
    device_name: str = ""
    same_as_first: bool | None = None
    """Whether every byte read back equals that of the first cell that ran right; None where there is nothing to
    compare."""
    differs_at: str = ""
    """The first element that differs, such as 'y[5]'."""
    passed: bool | None = None
    """Whether the checks of the run passed; None without checks."""
    estimate: Estimate | None = None
    """Of the time on a GPU, where the emulator ran it. No measurement."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Why the cell did not run, or what it met."""


class Concluded(Model):
    """The end of a sweep: which cell is best, why, and what limits it, in words made of the cells' own figures."""

    kind: Literal["concluded"] = "concluded"
    best: int | None
    """Index of the cell; None where none ran right."""
    text: str


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


def check_shapes(sweep: Sweep) -> None:
    """No shape, macro or value is there twice. FieldError."""
    shapes = [dim3(block) for block in sweep.blocks]
    for index, shape in enumerate(shapes):
        if shape in shapes[:index]:
            raise FieldError(f"sweep.blocks.{index}", f"the shape {' × '.join(map(str, shape))} is there twice")
    names = [axis.name for axis in sweep.macros]
    for index, axis in enumerate(sweep.macros):
        if axis.name in names[:index]:
            raise FieldError(f"sweep.macros.{index}.name", f"the macro {axis.name} is there twice")
        for place, value in enumerate(axis.values):
            if value in axis.values[:place]:
                raise FieldError(f"sweep.macros.{index}.values.{place}", f"the value {value} is there twice")
    count = 1
    for axis in sweep.macros:
        count *= len(axis.values)
    if count > MAX_COMBINATIONS:
        message = f"the macros have {count:,} choices of values; at most {MAX_COMBINATIONS} are compiled"
        raise FieldError("sweep.macros", message)


def swept_grid(config: LaunchConfig, block: Sequence[int], buffers: Sequence[Buffer]) -> tuple[int, int, int]:
    """The grid in blocks that goes with another block shape.

    A Cover covers its buffer anew; of an explicit grid the threads along each axis stay the same, rounded up to whole
    blocks.
    """
    if isinstance(config.grid, Cover):
        return resolve_grid(config.model_copy(update={"block": tuple(block)}), buffers)
    threads = [blocks * size for blocks, size in zip(dim3(config.grid), dim3(config.block), strict=True)]
    return dim3([-(-count // size) if size else 0 for count, size in zip(threads, dim3(block), strict=True)])
