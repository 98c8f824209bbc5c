"""The special function unit's interpolation on every fraction of an octave."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from emulator.isa import Form
from emulator.isa.table import find

from .gang import Job, run

LINES = (Path(__file__).parents[2] / "data" / "isa" / "sm_90_functions.tsv").read_text().splitlines()


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line.split("\t")[:2]))
def test_every_fraction_equals_the_gpu(line: str) -> None:
    name, start, digest = line.split("\t")
    opcode, *modifiers = name.split(".")
    form = find(opcode, tuple(modifiers), (0, 0))
    assert isinstance(form, Form)
    hashed = hashlib.sha256()
    first = int(start, 16)
    asked = np.arange(first, first + (1 << 23), dtype="u4")
    hashed.update(run([Job(form, width=16)], [[asked]])[0][0].tobytes())
    assert hashed.hexdigest()[:16] == digest
