"""The cells of a sweep: every block shape with every choice of macros, less what the restrictions leave out."""

from __future__ import annotations

import ast
import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from protocol.arguments import ScalarArgument
from protocol.base import FieldError
from protocol.expressions import Unusable, Value, evaluate, parse
from protocol.launch import Launch, dim3, walk
from protocol.source import Define
from protocol.sweep import MAX_CELLS, MAX_PRODUCT, Sweep, swept_grid, swept_step

if TYPE_CHECKING:
    from protocol.run import RunRequest

Extents = tuple[int, int, int]
_AXES = "xyz"
_MOST_SHARED = 1 << 20


@dataclass(frozen=True, slots=True)
class Cell:
    """One launch to try. Two cells of one `combination` are compiled from the same text."""

    index: int
    """combination × number of shapes + place."""
    combination: int
    place: int
    """Of the shape among the sweep's blocks."""
    block: Extents
    grid: Extents
    dynamic_shared_bytes: int
    macros: tuple[tuple[str, str], ...] = ()
    excluded: str = ""
    """The restriction that leaves it out."""
    chosen: bool = True
    """False where a random sweep did not draw it."""


@dataclass(slots=True)
class _Reader:
    """The expressions of a sweep, each read once, and the numbers that all cells share."""

    run: RunRequest
    sweep: Sweep
    launch: Launch
    names: dict[str, Value] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    where: list[ast.expr] = field(default_factory=list)
    grid: list[ast.expr] = field(default_factory=list)
    shared: ast.expr | None = None

    def __post_init__(self) -> None:
        self.lengths = {buffer.name: buffer.elements for buffer in self.run.buffers}
        for argument in self.launch.arguments:
            value = argument.value if isinstance(argument, ScalarArgument) else None
            if argument.name and isinstance(value, bool | int | float):
                self.names[argument.name] = value
        self.where = [_parsed(text, f"sweep.where.{index}") for index, text in enumerate(self.sweep.where)]
        self.grid = [_parsed(text, f"sweep.grid.{index}") for index, text in enumerate(self.sweep.grid)]
        if self.sweep.dynamic_shared_bytes:
            self.shared = _parsed(self.sweep.dynamic_shared_bytes, "sweep.dynamic_shared_bytes")

    def cell(self, combination: int, place: int, macros: tuple[tuple[str, str], ...]) -> Cell:
        index, block = combination * len(self.sweep.blocks) + place, dim3(self.sweep.blocks[place])
        threads = block[0] * block[1] * block[2]
        names = self.names | {name: _numeric(value) for name, value in macros}
        names |= {f"block_{axis}": extent for axis, extent in zip(_AXES, block, strict=True)}
        names |= {"threads": threads, "warps": -(-threads // 32)}
        if self.grid:
            counted = [self._whole(tree, names, f"sweep.grid.{at}", 0xFFFFFFFF) for at, tree in enumerate(self.grid)]
            grid = dim3(counted)
        else:
            grid = swept_grid(self.launch.config, block, self.run.buffers)
        names |= {f"grid_{axis}": extent for axis, extent in zip(_AXES, grid, strict=True)}
        names["blocks"] = grid[0] * grid[1] * grid[2]
        shared = self.launch.config.dynamic_shared_bytes
        if self.shared is not None:
            shared = self._whole(self.shared, names, "sweep.dynamic_shared_bytes", _MOST_SHARED)
        names["shared_bytes"] = shared
        excluded = self._excluded(names)
        return Cell(index, combination, place, block, grid, shared, macros, excluded)

    def _excluded(self, names: Mapping[str, Value]) -> str:
        for at, (text, tree) in enumerate(zip(self.sweep.where, self.where, strict=True)):
            try:
                if not evaluate(tree, names, self.lengths):
                    return text
            except Unusable as error:
                raise FieldError(f"sweep.where.{at}", str(error)) from None
        return ""

    def _whole(self, tree: ast.expr, names: Mapping[str, Value], where: str, most: int) -> int:
        try:
            value = evaluate(tree, names, self.lengths)
        except Unusable as error:
            raise FieldError(where, str(error)) from None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise FieldError(
                where, f"{ast.unparse(tree)[:60]} is {value!r} for some cell: give a whole number up to {most:,}"
            )
        return value


def combinations(sweep: Sweep) -> list[tuple[tuple[str, str], ...]]:
    """Every choice of values for the macros, the last macro's changing fastest; one empty choice without macros."""
    axes = [[(axis.name, value) for value in axis.values] for axis in sweep.macros]
    return list(itertools.product(*axes))


def cells(run: RunRequest) -> tuple[Cell, ...]:
    """Every cell of `run.sweep`, in the order of their indices. FieldError where they cannot be told, or too many."""
    sweep = run.sweep
    assert sweep is not None
    path = swept_step(run.steps, sweep)
    launch = next(step for place, step in walk(run.steps) if place == path)
    assert isinstance(launch, Launch)
    choices = combinations(sweep)
    if len(choices) * len(sweep.blocks) > MAX_PRODUCT:
        product = len(choices) * len(sweep.blocks)
        raise FieldError(
            "sweep", f"shapes and macros multiply to {product:,} cells; at most {MAX_PRODUCT:,} are looked at"
        )
    reader = _Reader(run, sweep, launch)
    found = [
        reader.cell(number, place, macros)
        for number, macros in enumerate(choices)
        for place in range(len(sweep.blocks))
    ]
    allowed = [cell.index for cell in found if not cell.excluded]
    if not allowed:
        raise FieldError("sweep.where", "the restrictions leave no cell")
    if sweep.sample is not None and sweep.sample < len(allowed):
        drawn = set(random.Random(sweep.seed).sample(allowed, sweep.sample))
        found = [_unless_drawn(cell, drawn) for cell in found]
        allowed = sorted(drawn)
    if len(allowed) > MAX_CELLS:
        raise FieldError(
            "sweep", f"these are {len(allowed):,} cells; one job tries at most {MAX_CELLS}: restrict or sample them"
        )
    return tuple(found)


def _unless_drawn(cell: Cell, drawn: set[int]) -> Cell:
    if cell.excluded or cell.index in drawn:
        return cell
    return replace(cell, chosen=False)


def with_macros(defines: tuple[Define, ...], macros: tuple[tuple[str, str], ...]) -> tuple[Define, ...]:
    """The run's macros with a cell's in the place of those of the same names."""
    own = dict(macros)
    kept = [item for item in defines if item.name not in own]
    return (*kept, *(Define(name=name, value=value) for name, value in macros))


def _parsed(text: str, where: str) -> ast.expr:
    try:
        return parse(text)
    except Unusable as error:
        raise FieldError(where, str(error)) from None


def _numeric(value: str) -> Value:
    """A macro's value as a number where it is one."""
    for kind in (lambda text: int(text, 0), float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
