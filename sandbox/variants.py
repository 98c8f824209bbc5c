"""A sweep over macros: the source compiled once for each choice of their values."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from protocol.cells import cells
from protocol.diagnostics import Diagnostic
from protocol.events import Diagnosed, Event, Timed
from protocol.frames import of_variant
from protocol.run import RunRequest, Variant
from sandbox.compilation import Compilation, Emit, compile_for_run
from sandbox.launcher import JobLimits, Sandbox
from sandbox.stores import Stores
from sandbox.verdicts import finished

ROUNDS = 2
"""Compilations go on for so many times the limit of one; cells of the others are told as not compiled."""


@dataclass
class Variants:
    """`first` stands for the run: of the first choice that compiles, else of the first choice."""

    first: Compilation
    told: tuple[Variant, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    """Objects and CUBINs by the names that a launch child knows them by."""


def compile_variants(
    box: Sandbox,
    run: RunRequest,
    device: str,
    stores: Stores,
    emit: Emit,
    cancelled: threading.Event,
    limits: JobLimits,
) -> Variants:
    """Every choice that a cell needs. What the compiler says is told once; of failed choices, at their cells."""
    begin = time.perf_counter()
    wanted = sorted({cell.combination for cell in cells(run) if cell.chosen and not cell.excluded})
    told: dict[int, Variant] = {}
    blobs: dict[str, bytes] = {}
    first: Compilation | None = None
    for number in wanted:
        if told and time.perf_counter() - begin > ROUNDS * limits.wall:
            told[number] = _late()
            continue
        heard: list[Event] = []
        made = compile_for_run(box, run, device, stores, heard.append, cancelled, limits, number)
        for event in heard:
            if isinstance(event, Timed) or (first is None and _is_word(event)):
                emit(event)
        if cancelled.is_set():
            return Variants(made)
        told[number] = _variant(made, limits)
        if told[number].kernel is None:
            continue
        first = first or made
        names = {f"object:{key}": data for key, data in made.objects.items()}
        if made.cubin is not None:
            names["cubin"] = made.cubin
        blobs |= {of_variant(number, name): data for name, data in names.items()}
    if first is None:
        for event in heard:
            if isinstance(event, Diagnosed):
                emit(event)
        return Variants(made)
    count = max(wanted) + 1
    return Variants(first, tuple(told.get(number, Variant()) for number in range(count)), blobs)


def _is_word(event: Event) -> bool:
    """A note or a warning of the compiler."""
    return isinstance(event, Diagnosed) and event.diagnostic.severity != "error"


def _variant(made: Compilation, limits: JobLimits) -> Variant:
    errors = tuple(item for item in made.diagnostics if item.severity == "error")
    if made.outcome is not None and made.outcome.verdict != "ok":
        _, message = finished(made.outcome, made.kind, limits)
        return Variant(diagnostics=(_error(message),))
    if errors or made.kernel is None:
        return Variant(diagnostics=errors[:4] or (_error("the compiler ended without a kernel"),))
    return Variant(kernel=made.kernel)


def _late() -> Variant:
    return Variant(diagnostics=(_error("no time was left to compile the source with these macros"),))


def _error(message: str) -> Diagnostic:
    return Diagnostic(severity="error", message=message, origin="service", code="macros", field="sweep.macros")
