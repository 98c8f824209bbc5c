"""Blocks that wait for each other come to the right end, on one thread and on two."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from cooperation_cases import Case, cases
from launching import module

from emulator import CompiledEntry, Memory, Options, Outcome, compile_entry, launch

CASES = {case.name: case for case in cases()}


def start(
    case: Case, threads: int = 2, instruments: tuple[str, ...] = (), resident: int | None = None, seconds: float = 20
) -> tuple[Outcome, list[np.ndarray[Any, Any]]]:
    """The outcome, and the array arguments afterwards by position (empty for numbers)."""
    entry = compile_entry(module("cooperation"), case.entry, case.block, Options(instruments=instruments))
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
