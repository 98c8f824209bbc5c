"""Observers that are compiled into kernels: counters of what a profiler counts, checks of what a sanitizer checks."""

from __future__ import annotations

from emulator.instruments.checking import Checking
from emulator.instruments.counting import Counting
from emulator.instruments.instrument import Instrument
from emulator.instruments.profiling import Profiling
from emulator.instruments.tracing import Tracing

# By name, in the order in which their code runs.
INSTRUMENTS: dict[str, type[Instrument]] = {kind.name: kind for kind in (Counting, Checking, Profiling, Tracing)}


def make_instruments(names: tuple[str, ...]) -> list[Instrument]:
    """The instruments of these names, with their counters one behind the other. Raises KeyError."""
    made: list[Instrument] = []
    first = 0
    for name in names:
        made.append(INSTRUMENTS[name](first))
        first += len(made[-1].counters)
    return made
