"""The cells of a sweep: a run of its own for each, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.launching.plan import Extents, Plan, PlannedLaunch, plan
from protocol.cells import Cell, cells, with_macros
from protocol.diagnostics import Diagnostic
from protocol.kernel import CompiledKernel
from protocol.launch import Launch, Repeat, Step
from protocol.run import RunRequest, Variant
from protocol.sweep import swept_step


@dataclass(frozen=True, slots=True)
class Shape:
    """One cell: the run with it in place of the launch's configuration, and why it cannot be launched."""

    cell: Cell
    run: RunRequest
    kernel: CompiledKernel | None
    """None where the source does not compile with the cell's macros."""
    plan: Plan | None
    refusals: tuple[Diagnostic, ...]

    @property
    def label(self) -> str:
        """Such as 256, 16 × 16 or 16 × 16 with TILE=16."""
        return cell_label(self.cell.block, self.cell.macros)


@dataclass(frozen=True, slots=True)
class Shapes:
    """The cells that are tried or left out; `diagnostics` are about the run itself, and with an error among them
    nothing may run."""

    step: str
    shapes: tuple[Shape, ...]
    excluded: tuple[Cell, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def refused(self) -> bool:
        return any(item.severity == "error" for item in self.diagnostics)

    @property
    def possible(self) -> tuple[Shape, ...]:
        return tuple(shape for shape in self.shapes if not shape.refusals)

    def launch(self, shape: Shape) -> PlannedLaunch:
        """The swept launch in this shape, whose source has been compiled."""
        assert shape.plan is not None
        return shape.plan.launches[self.step]


def plan_shapes(run: RunRequest, variants: Mapping[int, Variant]) -> Shapes:
    """A plan for every cell of `run.sweep` whose combination is among the variants.

    Errors in the swept launch's configuration belong to a cell.
    """
    assert run.sweep is not None
    step = swept_step(run.steps, run.sweep)
    found = [cell for cell in cells(run) if cell.combination in variants]
    shapes: list[Shape] = []
    common: list[Diagnostic] = []
    for cell in found:
        if cell.excluded or not cell.chosen:
            continue
        variant = variants[cell.combination]
        options = run.options.model_copy(update={"defines": with_macros(run.options.defines, cell.macros)})
        own_run = run.model_copy(update={"steps": _with_cell(run.steps, step, cell), "sweep": None, "options": options})
        if variant.kernel is None:
            shapes.append(Shape(cell, own_run, None, None, _told(variant, cell)))
            continue
        planned = plan(own_run, variant.kernel)
        own = [item for item in planned.diagnostics if (item.field or "").startswith(f"{step}.config.")]
        errors = tuple(_of_shape(item, step, cell) for item in own if item.severity == "error")
        shapes.append(Shape(cell, own_run, variant.kernel, planned, errors))
        common += [item for item in planned.diagnostics if item not in own or item.severity != "error"]
    excluded = tuple(cell for cell in found if cell.excluded)
    return Shapes(step, tuple(shapes), excluded, tuple(dict.fromkeys(common)))


def _told(variant: Variant, cell: Cell) -> tuple[Diagnostic, ...]:
    """Why the source with these macros did not compile."""
    if variant.diagnostics:
        return variant.diagnostics
    names = ", ".join(f"{name}={value}" for name, value in cell.macros)
    message = f"the source with {names} was not compiled"
    return (Diagnostic(severity="error", message=message, origin="compiler", code="macros", field="sweep.macros"),)


def cell_label(block: Extents, macros: Sequence[tuple[str, str]]) -> str:
    """A block's extents without the ones that follow the last larger one, and what the macros are."""
    used = max((axis + 1 for axis, extent in enumerate(block) if extent != 1), default=1)
    shown = " × ".join(f"{extent:,}" for extent in block[:used])
    return f"{shown} with {', '.join(f'{name}={value}' for name, value in macros)}" if macros else shown


def _of_shape(item: Diagnostic, step: str, cell: Cell) -> Diagnostic:
    """Block and grid follow from the shape, which is what the user can mend."""
    if item.field in (f"{step}.config.block", f"{step}.config.grid"):
        return item.model_copy(update={"field": f"sweep.blocks.{cell.place}"})
    return item


def _with_cell(steps: Sequence[Step], path: str, cell: Cell) -> tuple[Step, ...]:
    """The steps with the launch at `path`, such as steps.1.steps.0, in this cell's configuration."""
    head, _, rest = path.removeprefix("steps.").partition(".")
    position = int(head)
    step: Step = steps[position]
    if isinstance(step, Repeat):
        step = step.model_copy(update={"steps": _with_cell(step.steps, rest, cell)})
    elif isinstance(step, Launch):
        config = {"block": cell.block, "grid": cell.grid, "dynamic_shared_bytes": cell.dynamic_shared_bytes}
        step = step.model_copy(update={"config": step.config.model_copy(update=config)})
    return (*steps[:position], step, *steps[position + 1 :])
