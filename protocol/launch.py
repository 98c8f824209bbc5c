"""The steps of a run: launches with their configuration, repetition, swaps and fills."""

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from protocol.arguments import Argument, Buffer
from protocol.base import Bytes, Model, Name
from protocol.dtypes import Number

MAX_LAUNCHES = 10_000
MAX_STEPS = 64
MAX_DEPTH = 3

Extent = Annotated[int, Field(ge=0, le=(1 << 32) - 1)]
"""One extent as typed; 0 and too large values are launch errors in plain words, not malformed requests."""

Dim3 = Annotated[tuple[Extent, ...], Field(min_length=1, max_length=3)]


class Cover(Model):
    """A grid with at least one thread for each element of a buffer: its last axis along x, the one before along y."""

    kind: Literal["cover"] = "cover"
    buffer: Name
    components: Annotated[int, Field(ge=1, le=4)] = 1
    """Of a vector type such as float4: so many neighbours along the last axis are one element."""


class LaunchConfig(Model):
    """Grid in blocks, block in threads, dynamic shared memory in bytes a block."""

    grid: Dim3 | Cover
    block: Dim3
    dynamic_shared_bytes: Bytes = 0
    cooperative: bool = False
    """All blocks are resident together, so that the kernel may use cooperative_groups::this_grid().sync()."""
    cluster: Dim3 | None = None
    """Blocks of a thread block cluster (sm_90 and later), where the kernel does not fix it by __cluster_dims__."""


class Launch(Model):
    """One kernel launch. Where every argument is named they are matched by name, else by position."""

    kind: Literal["launch"] = "launch"
    entry: Annotated[str, StringConstraints(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    """A __global__ function, a template instantiation such as scale<float>, or empty where there is only one."""
    config: LaunchConfig
    arguments: Annotated[tuple[Argument, ...], Field(max_length=64)] = ()


class Swap(Model):
    """The two names change places: what was one buffer is now the other. Same dtype and shape."""

    kind: Literal["swap"] = "swap"
    first: Name
    second: Name


class Fill(Model):
    """Sets every element of a buffer between launches."""

    kind: Literal["fill"] = "fill"
    buffer: Name
    value: Number


class Repeat(Model):
    """The inner steps, count times."""

    kind: Literal["repeat"] = "repeat"
    count: Annotated[int, Field(ge=1, le=MAX_LAUNCHES)]
    steps: Annotated[tuple["Step", ...], Field(min_length=1, max_length=MAX_STEPS)]


Step = Annotated[Launch | Repeat | Swap | Fill, Field(discriminator="kind")]
Repeat.model_rebuild()


def dim3(values: Sequence[int]) -> tuple[int, int, int]:
    """x, y, z with missing extents 1."""
    x, y, z = (*values, 1, 1, 1)[:3]
    return x, y, z


def resolve_grid(config: LaunchConfig, buffers: Sequence[Buffer]) -> tuple[int, int, int]:
    """The grid in blocks; a Cover is the shape divided by the block, rounded up (0 where a block extent is 0)."""
    if not isinstance(config.grid, Cover):
        return dim3(config.grid)
    target = config.grid.buffer
    shape = covered_shape(next(item.shape for item in buffers if item.name == target), config.grid.components)
    x, y, *rest = (*reversed(shape), 1, 1)
    extents = (x, y, math.prod(rest))
    return dim3([-(-extent // size) if size else 0 for extent, size in zip(extents, dim3(config.block), strict=True)])


def covered_shape(shape: Sequence[int], components: int) -> tuple[int, ...]:
    """The shape in elements of `components` neighbours; an axis that is one such element is no axis of the grid."""
    *outer, last = shape
    if last % components:
        return tuple(shape)
    inner = last // components
    return (*outer, inner) if inner > 1 or not outer or components == 1 else tuple(outer)


def walk(steps: Sequence[Step], path: str = "steps") -> Iterator[tuple[str, Step]]:
    """Every step with its path in the request, such as steps.1.steps.0, outer ones first."""
    for index, step in enumerate(steps):
        here = f"{path}.{index}"
        yield here, step
        if isinstance(step, Repeat):
            yield from walk(step.steps, f"{here}.steps")


def count_launches(steps: Sequence[Step]) -> int:
    """Kernel launches that the steps amount to."""
    total = 0
    for step in steps:
        if isinstance(step, Launch):
            total += 1
        elif isinstance(step, Repeat):
            total += step.count * count_launches(step.steps)
    return total


def depth(steps: Sequence[Step]) -> int:
    """Nesting of repeats."""
    return max((1 + depth(step.steps) for step in steps if isinstance(step, Repeat)), default=0)
