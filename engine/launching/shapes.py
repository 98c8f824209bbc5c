"""The block shapes of a sweep: a run of its own for each, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.launching.plan import Extents, Plan, PlannedLaunch, plan
from protocol.diagnostics import Diagnostic
from protocol.kernel import CompiledKernel
from protocol.launch import Launch, Repeat, Step, dim3, walk
from protocol.run import RunRequest
from protocol.sweep import swept_grid, swept_step


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape: the run with it in place of the launch's block and grid, and why it cannot be launched."""

    index: int
    run: RunRequest
    plan: Plan
    block: Extents
    grid: Extents
    refusals: tuple[Diagnostic, ...]

    @property
    def label(self) -> str:
        """Such as 256 or 16 × 16."""
        return shape_label(self.block)


@dataclass(frozen=True, slots=True)
class Shapes:
    """All shapes of a sweep; `diagnostics` are about the run itself, and with an error among them nothing may run."""

    step: str
    shapes: tuple[Shape, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def refused(self) -> bool:
        return any(item.severity == "error" for item in self.diagnostics)

    @property
    def possible(self) -> tuple[Shape, ...]:
        return tuple(shape for shape in self.shapes if not shape.refusals)

    def launch(self, shape: Shape) -> PlannedLaunch:
        """The swept launch in this shape."""
        return shape.plan.launches[self.step]


def plan_shapes(run: RunRequest, kernel: CompiledKernel) -> Shapes:
    """A plan for every shape of `run.sweep`. Errors in the swept launch's configuration belong to a shape."""
    assert run.sweep is not None
    step = swept_step(run.steps, run.sweep)
    launch = next(item for path, item in walk(run.steps) if path == step)
    assert isinstance(launch, Launch)
    shapes: list[Shape] = []
    common: list[Diagnostic] = []
    for index, given in enumerate(run.sweep.blocks):
        block, grid = dim3(given), swept_grid(launch.config, given, run.buffers)
        variant = run.model_copy(update={"steps": _with_shape(run.steps, step, block, grid), "sweep": None})
        planned = plan(variant, kernel)
        own = [item for item in planned.diagnostics if (item.field or "").startswith(f"{step}.config.")]
        errors = tuple(_of_shape(item, step, index) for item in own if item.severity == "error")
        shapes.append(Shape(index, variant, planned, block, grid, errors))
        common += [item for item in planned.diagnostics if item not in own or item.severity != "error"]
    return Shapes(step, tuple(shapes), tuple(dict.fromkeys(common)))


def shape_label(block: Extents) -> str:
    """A block's extents without the ones that follow the last larger one, such as 256 or 16 × 16."""
    used = max((axis + 1 for axis, extent in enumerate(block) if extent != 1), default=1)
    return " × ".join(f"{extent:,}" for extent in block[:used])


def _of_shape(item: Diagnostic, step: str, index: int) -> Diagnostic:
    """Block and grid follow from the shape, which is what the user can mend."""
    if item.field in (f"{step}.config.block", f"{step}.config.grid"):
        return item.model_copy(update={"field": f"sweep.blocks.{index}"})
    return item


def _with_shape(steps: Sequence[Step], path: str, block: Extents, grid: Extents) -> tuple[Step, ...]:
    """The steps with the launch at `path`, such as steps.1.steps.0, in this shape."""
    head, _, rest = path.removeprefix("steps.").partition(".")
    position = int(head)
    step: Step = steps[position]
    if isinstance(step, Repeat):
        step = step.model_copy(update={"steps": _with_shape(step.steps, rest, block, grid)})
    elif isinstance(step, Launch):
        step = step.model_copy(update={"config": step.config.model_copy(update={"block": block, "grid": grid})})
    return (*steps[:position], step, *steps[position + 1 :])
