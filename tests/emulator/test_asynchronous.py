"""Barriers, pipelines and asynchronous copies, in the PTX of three compilers for three architectures."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from async_cases import Case, bulk_cases, library_cases, zeros
from launching import module

from emulator import CompiledEntry, Memory, Options, Outcome, compile_entry, launch

LIBRARY = {case.name: case for case in library_cases()}
BULK = {case.name: case for case in bulk_cases()}
# sm_80 from NVRTC 12.9, sm_90 from 13.0, sm_100 from 13.5.
ARCHITECTURES = ("80", "90", "100")


def start(
    text: str, case: Case, instruments: tuple[str, ...] = (), seconds: float = 10
) -> tuple[Outcome, list[np.ndarray[Any, Any]]]:
    """The outcome, and the array arguments afterwards by position (empty for numbers)."""
    entry = compile_entry(module(text), case.entry, (case.threads, 1, 1), Options(instruments=instruments))
    entry = CompiledEntry.from_bytes(entry.to_bytes())
    memory = Memory(1 << 22)
    raw: list[bytes] = []
    arrays: list[np.ndarray[Any, Any]] = []
    for position, argument in enumerate(case.arguments):
        if isinstance(argument, int):
            raw.append(struct.pack("<i", argument))
            arrays.append(np.empty(0))
            continue
        buffer = memory.allocate(f"argument {position}", argument.nbytes)
        buffer.view(argument.dtype)[:] = argument
        arrays.append(buffer.view(argument.dtype))
        raw.append(struct.pack("<Q", buffer.address))
    cluster = None if case.cluster is None else (case.cluster, 1, 1)
    return launch(entry, memory, (case.blocks, 1, 1), raw, 0, seconds, cluster=cluster), arrays


def check(text: str, case: Case, instruments: tuple[str, ...] = ()) -> None:
    outcome, arrays = start(text, case, instruments)
    assert outcome.fault is None
    assert outcome.findings == ()
    for position, expected in case.expected.items():
        np.testing.assert_array_equal(arrays[position], expected)


@pytest.mark.parametrize("instruments", [(), ("checks",)], ids=["plain", "checked"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", LIBRARY)
def test_library_computes(name: str, architecture: str, instruments: tuple[str, ...]) -> None:
    check(f"asynchronous_sm_{architecture}", LIBRARY[name], instruments)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_wait_that_never_ends_is_a_deadlock(architecture: str) -> None:
    """Although the library's waits look at the clock."""
    case = Case("lacking_arrival", 64, (zeros(64),), {})
    outcome, _ = start(f"asynchronous_sm_{architecture}", case)
    assert outcome.fault is not None and outcome.fault.kind == "deadlock"
    assert outcome.fault.message == (
        "threads wait at the mbarrier at byte 0 of shared memory for 1 more arrival, which never come"
    )
    assert outcome.seconds < 5


def test_a_copy_between_blocks_needs_clusters() -> None:
    """An H200 ends this with an illegal instruction where the launch names no clusters, though it stays in a block."""
    outcome, _ = start("bulk", replace(BULK["within"], cluster=None))
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.thread) == ("not-clustered", (0, 0, 0))
    assert (outcome.fault.form or "").startswith("cp.async.bulk.shared::cluster.shared::cta")


@pytest.mark.parametrize("instruments", [(), ("checks",)], ids=["plain", "checked"])
@pytest.mark.parametrize("name", BULK)
def test_bulk_copies(name: str, instruments: tuple[str, ...]) -> None:
    check("bulk", BULK[name], instruments)
