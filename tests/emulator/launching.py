"""Runs one entry of a PTX text on numpy arrays: what the emulator's tests share."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from emulator import CompiledEntry, Memory, Module, Outcome, compile_entry, launch, parse

DATA = Path(__file__).parent.parent / "data"
Dim3 = tuple[int, int, int]


@cache
def module(name: str) -> Module:
    """A module of tests/data/ptx."""
    parsed, problems = parse((DATA / "ptx" / f"{name}.ptx").read_text())
    assert problems == []
    return parsed


@cache
def compiled(name: str, entry: str, block: Dim3) -> CompiledEntry:
    return compile_entry(module(name), entry, block)


@dataclass(frozen=True)
class Run:
    outcome: Outcome
    arrays: list[np.ndarray[Any, Any]]  # of the array arguments, in order
    printed: str


def run(
    entry: CompiledEntry,
    *arguments: np.ndarray[Any, Any] | bytes,
    grid: Dim3 = (1, 1, 1),
    shared: int = 0,
    deadline: float = 10.0,
    threads: int = 2,
    memory: Memory | None = None,
) -> Run:
    """Launches an entry: an array becomes a buffer named after its position, bytes are passed as they are."""
    memory = memory or Memory(64 << 20)
    raw: list[bytes] = []
    arrays: list[np.ndarray[Any, Any]] = []
    printed: list[str] = []
    for position, argument in enumerate(arguments):
        if isinstance(argument, bytes):
            raw.append(argument)
            continue
        buffer = memory.allocate(f"argument {position}", argument.nbytes)
        buffer.view(argument.dtype)[:] = argument.reshape(-1)
        arrays.append(buffer.view(argument.dtype))
        raw.append(struct.pack("<Q", buffer.address))
    outcome = launch(entry, memory, grid, raw, shared, deadline, threads, printed.append)
    return Run(outcome, arrays, "".join(printed))


def int32(value: int) -> bytes:
    return struct.pack("<i", value)


@cache
def truth_cases() -> list[dict[str, Any]]:
    return list(json.loads((DATA / "truth" / "cases.json").read_text()))
