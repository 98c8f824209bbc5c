"""Straight-line programs over every measured form give what an H200 gave, lane by lane."""

from __future__ import annotations

import json

import numpy as np
import pytest
from launching import module, run

from emulator import Options, compile_entry
from tests.emulator.straight import BLOCK, DIGESTS, GRID, PROGRAMS, TEXT, digest, forms, generate, inputs

EXPECTED: dict[str, str] = json.loads(DIGESTS.read_text())
# What NaN the first three end with is ptxas's choice: of the difference of two NaNs it swaps the terms and passes the
# other payload on, and |a| of bits that an integer instruction made is a mask, which keeps the payload. In the last a
# `sub.cc` whose difference nobody reads follows a `mul.hi`, and ptxas 13.0 makes of it a borrow for 0 − 0.
LEFT_OUT = ("s8", "s17", "s35", "s32")
KEPT = [name for name in EXPECTED if name not in LEFT_OUT]


@pytest.mark.parametrize(
    "name", [*KEPT[::4], *(pytest.param(name, marks=pytest.mark.long) for name in KEPT if name not in KEPT[::4])]
)
def test_program(name: str) -> None:
    given = inputs()
    entry = compile_entry(module("straight"), name, (BLOCK, 1, 1), Options(fast=True))
    result = run(entry, given, np.zeros_like(given), grid=(GRID, 1, 1))
    assert result.outcome.fault is None
    assert digest(result.arrays[1]) == EXPECTED[name]


def test_the_programs_hold_every_opcode() -> None:
    text = TEXT.read_text()
    assert [opcode for opcode in forms() if f"{opcode}." not in text] == []
    assert generate() == text
    assert len(EXPECTED) == PROGRAMS
