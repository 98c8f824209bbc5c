"""What both kinds of export write: the request with every launch's kernel, extents and arguments resolved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from protocol.arguments import Arange, Argument, Buffer, Linspace, Normal, Uniform
from protocol.film import Film, filmed_repeat
from protocol.kernel import Entry, Parameter
from protocol.launch import Launch, Step, count_launches, dim3, resolve_grid, walk
from protocol.run import RunRequest

SHARED_WITHOUT_OPT_IN = 48 << 10
"""Bytes of shared memory a block may have without raising a kernel's limit (CUDA C++ Programming Guide)."""

Extents = tuple[int, int, int]


class NotExportable(ValueError):
    """The request does not fit the kernels; `field` is the path of what to mend."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field, self.message = field, message


@dataclass(frozen=True, slots=True)
class ResolvedLaunch:
    """One launch step: grid in blocks, block in threads, dynamic shared memory in bytes a block."""

    entry: Entry
    grid: Extents
    block: Extents
    dynamic_shared_bytes: int
    cooperative: bool
    cluster: Extents | None
    """Blocks of a cluster, where the kernel does not fix them itself."""
    arguments: tuple[tuple[Parameter, Argument], ...]

    @property
    def opts_in(self) -> bool:
        """Whether the kernel's limit of dynamic shared memory must be raised."""
        return self.dynamic_shared_bytes + self.entry.resources.static_shared_bytes > SHARED_WITHOUT_OPT_IN


@dataclass(frozen=True, slots=True)
class Program:
    """A run, ready to be written down; `launches` by the path of their step, such as steps.0."""

    request: RunRequest
    launches: dict[str, ResolvedLaunch]
    title: str

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return self.request.buffers

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.request.steps

    def filmed(self, path: str) -> Film | None:
        """The film, where it is of the repeat at that path."""
        film = self.request.film
        return film if film is not None and filmed_repeat(self.steps, film)[0] == path else None

    @property
    def film_name(self) -> str:
        """Of the film's file, without .npy; empty where there is no film."""
        return f"{self.request.film.buffer}-film" if self.request.film is not None else ""

    @property
    def counted(self) -> str:
        """How many launches the steps amount to, in words."""
        count = count_launches(self.steps)
        return f"{count} launch{'es' if count != 1 else ''}"

    @property
    def prints(self) -> bool:
        """Whether kernels may print, which repeated runs would do again."""
        return "printf" in self.request.source.text


def resolve(request: RunRequest, entries: Sequence[Entry], title: str) -> Program:
    """Raises NotExportable where a launch names no kernel, or its arguments are not the kernel's."""
    for index, buffer in enumerate(request.buffers):
        if buffer.dtype == "bool" and isinstance(buffer.init, Arange | Linspace | Uniform | Normal):
            raise NotExportable(f"buffers.{index}.init", "numbers in a row, or random real ones, cannot fill bool")
    launches = {}
    for path, step in walk(request.steps):
        if isinstance(step, Launch):
            entry = _entry(entries, step.entry, f"{path}.entry")
            grid, block = resolve_grid(step.config, request.buffers), dim3(step.config.block)
            if 0 in grid + block:
                raise NotExportable(f"{path}.config", f"a grid of {grid} and a block of {block} hold no thread")
            launches[path] = ResolvedLaunch(
                entry=entry,
                grid=grid,
                block=block,
                dynamic_shared_bytes=step.config.dynamic_shared_bytes,
                cooperative=step.config.cooperative,
                cluster=dim3(step.config.cluster) if step.config.cluster and entry.cluster is None else None,
                arguments=_arguments(entry, step.arguments, f"{path}.arguments"),
            )
    return Program(request, launches, title)


def _entry(entries: Sequence[Entry], wanted: str, field: str) -> Entry:
    if not wanted.strip() and len(entries) == 1:
        return entries[0]
    named = [entry for entry in entries if wanted == entry.name or _plain(wanted) == _plain(entry.display)]
    named = named or [entry for entry in entries if _plain(wanted) == _plain(entry.display.partition("(")[0])]
    if len(named) != 1 or not wanted.strip():
        known = ", ".join(entry.display for entry in entries)
        raise NotExportable(field, f"{wanted or 'the empty name'} does not name one kernel; there are: {known}")
    return named[0]


def _plain(expression: str) -> str:
    """A template expression without blanks that mean nothing."""
    return re.sub(r" ?([^\w ]) ?", r"\1", re.sub(r"\s+", " ", expression.strip())).removeprefix("::")


def _arguments(entry: Entry, arguments: Sequence[Argument], field: str) -> tuple[tuple[Parameter, Argument], ...]:
    """One argument a parameter: by name where every argument is named, else by position."""
    if len(arguments) != len(entry.parameters):
        raise NotExportable(field, f"{len(arguments)} given, but {entry.display} takes {len(entry.parameters)}")
    ordered = list(arguments)
    if arguments and all(argument.name is not None for argument in arguments):
        by_name = {argument.name: argument for argument in arguments}
        for parameter in entry.parameters:
            if parameter.name not in by_name:
                raise NotExportable(field, f"{parameter.name} has no argument")
        ordered = [by_name[parameter.name] for parameter in entry.parameters]
    return tuple(zip(entry.parameters, ordered, strict=True))
