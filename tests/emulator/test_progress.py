"""Threads that wait for each other, barriers of part of a block, and unusual control flow."""

from __future__ import annotations

import numpy as np
import pytest
from launching import compiled, module, run
from progress_cases import Case, cases
from progress_inputs import IN

from emulator import Memory, Options, compile_entry

CASES = {case.entry: case for case in cases()}


@pytest.mark.parametrize("name", CASES)
def test_computes(name: str) -> None:
    case: Case = CASES[name]
    result = run(compiled("progress", name, (case.threads, 1, 1)), np.zeros(1024, np.int32), IN)
    assert result.outcome.fault is None
    assert result.arrays[0][: len(case.expected)].tolist() == case.expected


def test_endless_recursion_is_named() -> None:
    fault = run(compiled("progress", "recursion_endless", (32, 1, 1)), np.zeros(32, np.int32), IN).outcome.fault
    assert fault is not None and (fault.kind, fault.space) == ("stack-overflow", "local")


@pytest.mark.parametrize("megabytes", [8, 24])
def test_the_heap_ends_where_memory_does(megabytes: int) -> None:
    """Each allocation is of one megabyte; what is beyond the limit is a null pointer."""
    entry = compiled("progress", "heap_limit", (1, 1, 1))
    result = run(entry, np.zeros(1, np.int32), IN, memory=Memory(megabytes << 20))
    assert result.outcome.fault is None
    assert result.arrays[0][0] == megabytes - 1


@pytest.mark.parametrize(
    ("name", "form", "thread"),
    [
        ("lock_kept", "atom.shared.cas.b32", None),
        ("flag_missed", "ld.volatile.shared.u32", None),
        ("lane_missed", "ld.volatile.shared.u32", 40),
    ],
)
def test_a_loop_that_waits_in_vain_is_a_deadlock(name: str, form: str, thread: int | None) -> None:
    outcome = run(compiled("progress", name, (64, 1, 1)), np.zeros(64, np.int32), IN).outcome
    assert outcome.fault is not None and outcome.fault.kind == "deadlock"
    assert outcome.fault.form == form
    if thread is not None:
        assert outcome.fault.thread == (thread, 0, 0)
    assert outcome.seconds < 5


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("copy_unwaited", ["copy-in-flight"]),
        ("copy_one_open", ["copy-in-flight"]),
        ("copy_barrier_first", ["copy-in-flight"]),
        ("copy_no_barrier", ["uninitialised", "race", "race"]),
        ("copy_sound", []),
    ],
)
def test_checks_find_copies_that_are_used_too_early(name: str, kinds: list[str]) -> None:
    entry = compile_entry(module("progress"), name, (64, 1, 1), Options(instruments=("checks",)))
    outcome = run(entry, np.zeros(128, np.int32), IN).outcome
    assert outcome.fault is None
    assert [finding.kind for finding in outcome.findings] == kinds
    assert {finding.form for finding in outcome.findings if finding.kind != "race"} <= {"ld.shared.u32"}
