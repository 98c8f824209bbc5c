"""Blocks that wait for each other come to the right end, on one thread and on two."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cooperation_cases import Case, cases, zeros
from launching import module

from emulator import CompiledEntry, LaunchError, Memory, Options, Outcome, compile_entry, launch
from emulator.runtime.seating import MOST_BYTES, Seating

CASES = {case.name: case for case in cases()}


def start(
    case: Case, threads: int = 2, instruments: tuple[str, ...] = (), resident: int | None = None, seconds: float = 20
) -> tuple[Outcome, list[np.ndarray[Any, Any]]]:
    """The outcome, and the array arguments afterwards by position (empty for numbers)."""
    entry = compile_entry(module("cooperation"), case.entry, case.block, Options(instruments=instruments))
    entry = CompiledEntry.from_bytes(entry.to_bytes())
    memory = Memory(1 << 23)
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
    outcome = launch(
        entry, memory, case.grid, raw, case.shared, seconds, threads, cooperative=case.cooperative,
        cluster=case.cluster, resident_blocks=resident,
    )  # fmt: skip
    return outcome, arrays


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_blocks_reach_the_right_end(name: str, threads: int) -> None:
    case = CASES[name]
    outcome, arrays = start(case, threads)
    assert outcome.fault is None
    for position, expected in case.expected.items():
        assert arrays[position].tolist() == expected.tolist()


@pytest.mark.parametrize("name", CASES)
def test_the_checks_find_nothing_where_blocks_wait_as_they_should(name: str) -> None:
    case = CASES[name]
    outcome, arrays = start(case, instruments=("checks",))
    assert outcome.fault is None
    assert outcome.findings == ()
    for position, expected in case.expected.items():
        assert arrays[position].tolist() == expected.tolist()


def cluster_case(entry: str, *arguments: np.ndarray[Any, Any] | int, grid: int = 2) -> Case:
    return Case(entry, (grid, 1, 1), (32, 1, 1), arguments, {}, cluster=(2, 1, 1))


def test_a_race_between_blocks_of_a_cluster_is_found() -> None:
    outcome, _ = start(cluster_case("cluster_race", zeros(64), 0), instruments=("checks",))
    assert {finding.kind for finding in outcome.findings} == {"race"}
    assert any("of the cluster" in finding.buffer.name for finding in outcome.findings if finding.buffer)
    fine, arrays = start(cluster_case("cluster_race", zeros(64), 1), instruments=("checks",))
    assert fine.findings == ()
    assert arrays[0].tolist() == [*range(50, 82), *range(50, 82)]


def test_counters_see_all_blocks() -> None:
    case = CASES["cluster_sum"]
    outcome, _ = start(case, instruments=("counters",))
    # 8 blocks of 4 warps: a warp reads its part of the input, and writes its part of the output.
    assert outcome.counters["global_read_requests"] == outcome.counters["global_write_requests"] == 32
    assert outcome.counters["barriers"] == 32 * 3


def test_shared_memory_of_blocks_that_are_not_there() -> None:
    outcome, _ = start(cluster_case("cluster_windows", zeros(512), 5))
    assert outcome.fault is not None
    assert outcome.fault.kind == "absent-block"
    assert "block 6 of the cluster, which has no such block" in outcome.fault.message
    outcome, _ = start(cluster_case("cluster_too_late", zeros(32), zeros(1)))
    assert outcome.fault is not None
    assert outcome.fault.kind == "absent-block"
    assert "block 1 of the cluster, which has ended" in outcome.fault.message


def test_beyond_the_shared_memory_of_another_block() -> None:
    outcome, _ = start(cluster_case("cluster_beyond", zeros(64), 32))
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.block, outcome.fault.thread) == ("out-of-bounds", (0, 0, 0), (0, 0, 0))
    assert outcome.fault.buffer is not None
    assert outcome.fault.buffer.name == "shared memory of block 1 of the cluster"
    assert (outcome.fault.buffer.offset, outcome.fault.buffer.nbytes) == (128, 128)
    fine, arrays = start(cluster_case("cluster_beyond", zeros(64), 31))
    assert fine.fault is None
    assert arrays[0].tolist() == [63] * 32 + [31] * 32


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_cannot_start_are_named_at_the_deadline(threads: int) -> None:
    case = Case("wait_for_all", (20, 1, 1), (32, 1, 1), (zeros(1, np.uint32),), {})
    outcome, _ = start(case, threads, resident=19, seconds=0.5)
    assert outcome.fault is not None
    assert outcome.fault.kind == "timeout"
    assert (outcome.fault.note or "").startswith("1 of the 20 blocks have not started: at most 19 are resident")
    assert start(case, threads, resident=20)[0].fault is None


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_wait_for_ended_ones_are_named_at_the_deadline(threads: int) -> None:
    case = Case("some_meet", (20, 1, 1), (64, 1, 1), (zeros(1), 7), {}, cooperative=True)
    outcome, _ = start(case, threads, seconds=0.5)
    assert outcome.fault is not None
    assert (outcome.fault.note or "").startswith("7 of the 20 blocks had not ended.")
    assert (outcome.fault.note or "").endswith("has to reach each grid.sync().")
    assert start(replace(case, arguments=(zeros(1), 20)), threads)[0].fault is None


def test_the_grid_s_barrier_needs_a_cooperative_launch() -> None:
    outcome, _ = start(replace(CASES["grid_sum"], cooperative=False))
    assert outcome.fault is not None
    assert outcome.fault.kind == "not-cooperative"


@pytest.mark.parametrize(
    ("entry", "grid", "cluster", "message"),
    [
        ("cluster_facts", (5, 1, 1), (2, 1, 1), "cannot be divided into clusters"),
        ("cluster_facts", (34, 1, 1), (17, 1, 1), "not between 1 and 16"),
        ("cluster_facts", (4, 1, 1), (0, 1, 1), "not between 1 and 16"),
        ("cluster_sum", (6, 1, 1), None, "cannot be divided into clusters"),
        ("cluster_sum", (8, 1, 1), (2, 1, 1), "is compiled for clusters of (4, 1, 1) blocks"),
    ],
)
def test_launches_without_whole_clusters_are_refused(
    entry: str, grid: tuple[int, int, int], cluster: tuple[int, int, int] | None, message: str
) -> None:
    arguments = (zeros(4096, np.uint32), zeros(4096)) if entry == "cluster_sum" else (zeros(4096, np.uint32),)
    with pytest.raises(LaunchError, match=re.escape(message)):
        start(Case(entry, grid, (32, 1, 1), arguments, {}, cluster=cluster))


def test_seats() -> None:
    """(blocks, cluster, threads, bytes of a seat, waits, resident) -> seats of each thread, too few for memory."""
    plan = Seating.plan
    assert plan(100, 1, 2, 1000, False, 7) == Seating((1, 1), False)
    assert plan(1, 1, 2, 1000, False, None) == Seating((1,), False)
    assert plan(100, 1, 2, 1000, True, 7) == Seating((4, 3), False)
    assert plan(100, 1, 3, 1000, True, None) == Seating((34, 33, 33), False)
    assert plan(16, 4, 3, 1000, True, 11) == Seating((4, 4), False)
    assert plan(16, 8, 2, 1000, True, 3) == Seating((8,), False)
    assert plan(100, 2, 2, MOST_BYTES // 6, True, None) == Seating((4, 2), True)
