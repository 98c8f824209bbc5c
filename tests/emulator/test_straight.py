"""Straight-line programs over every measured form give what an H200 gave, lane by lane."""

from __future__ import annotations

import json

import numpy as np
import pytest
from launching import compiled, run

from tests.emulator.straight import BLOCK, DIGESTS, GRID, TEXT, digest, forms, generate, inputs

EXPECTED: dict[str, str] = json.loads(DIGESTS.read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_program(name: str) -> None:
    given = inputs()
    result = run(compiled("straight", name, (BLOCK, 1, 1)), given, np.zeros_like(given), grid=(GRID, 1, 1))
    assert result.outcome.fault is None
    assert digest(result.arrays[1]) == EXPECTED[name]


def test_the_programs_hold_every_opcode() -> None:
    text = TEXT.read_text()
    assert [opcode for opcode in forms() if f"{opcode}." not in text] == []
    assert len(text.splitlines()) > 7000 and text.startswith(generate()[:100])
