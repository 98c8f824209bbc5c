"""Profiles every timed launch on the emulator, and keeps the profiles as a table beside the timings."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields

import numpy as np

import emulator
from benchmarks.estimate.jobs import JOBS, TRUTH, Array, Timing, timings
from emulator import Loaded, Memory, Options
from emulator.runtime.sample import Sampler
from engine.estimating.profile import Profile, profile_launch

PROFILES = TRUTH.parent / "estimate" / "profiles_sm_90.tsv"
PTX = TRUTH.parent / "ptx"
_BUDGET_SECONDS = 20.0
"""For one launch: enough for every sample, however slow the machine, so that counts do not depend on it."""
_EXTENTS = ("grid", "block")


def stored() -> list[Profile]:
    """The profiles of `timings()`, in its order."""
    with PROFILES.open(encoding="utf-8") as table:
        return [_read(row) for row in csv.DictReader(table, delimiter="\t")]


def _read(row: dict[str, str]) -> Profile:
    given = {item.name: row[item.name] for item in fields(Profile)}
    whole = {name: int(text) for name, text in given.items() if name in _WHOLE}
    extents = {name: _extents(given[name]) for name in _EXTENTS}
    rest = {name: float(text) for name, text in given.items() if name not in _WHOLE and name not in _EXTENTS}
    return Profile(**whole, **extents, **rest)  # type: ignore[arg-type]


_WHOLE = frozenset(item.name for item in fields(Profile) if item.type == "int")


def _extents(text: str) -> tuple[int, int, int]:
    x, y, z = map(int, text.split("x"))
    return x, y, z


def write(profiles: Sequence[Profile]) -> None:
    """Keeps profiles of `timings()`, with four digits of what is an average."""
    with PROFILES.open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table, delimiter="\t", lineterminator="\n")
        writer.writerow(["kernel", *(item.name for item in fields(Profile))])
        for timing, profile in zip(timings(), profiles, strict=True):
            writer.writerow([timing.kernel, *(_written(value) for value in asdict(profile).values())])


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return f"{value:.10g}" if isinstance(value, int) else f"{value:.4g}" if value else "0"


def count(only: Sequence[str] = ()) -> Iterator[tuple[Timing, Profile]]:
    """Profiles the launches anew, or those of the kernels named."""
    for kernel, job in JOBS.items():
        if only and kernel not in only:
            continue
        module, problems = emulator.parse((PTX / f"{job.file}.ptx").read_text(encoding="utf-8"))
        assert not problems
        given = job.arguments(np.random.default_rng(7))
        memory = Memory(sum(item.nbytes + 4096 for item in given if item.ndim) + (1 << 20))
        arguments = [_argument(memory, f"argument {index}", item) for index, item in enumerate(given)]
        for timing in timings():
            if timing.kernel != kernel:
                continue
            options = Options(fast=True, instruments=("profile",))
            code = emulator.compile_entry(module, timing.entry, timing.block, options)
            sampler = Sampler(Loaded(code), memory, timing.grid, arguments)
            try:
                profile = profile_launch(sampler, memory, timing.grid, timing.block, _BUDGET_SECONDS)
            finally:
                sampler.close()
            assert profile is not None, f"{kernel} met a fault"
            yield timing, profile


def _argument(memory: Memory, name: str, given: Array | np.generic) -> bytes:
    """The bytes of an argument; an array becomes a buffer."""
    if not isinstance(given, np.ndarray):
        return given.tobytes()
    buffer = memory.allocate(name, given.nbytes)
    buffer.view(given.dtype)[:] = given
    return buffer.address.to_bytes(8, "little")


def ratio(got: float, want: float) -> float:
    """How many times one is the other, 1 or more."""
    return 1.0 if got == want else math.inf if not got or not want else max(got / want, want / got)


def main() -> None:
    """Counts everything anew and keeps it."""
    PROFILES.parent.mkdir(exist_ok=True)
    write([profile for _, profile in count()])


if __name__ == "__main__":
    main()
