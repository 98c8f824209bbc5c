"""The special function unit's interpolation on every fraction of an octave, and on every half."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from emulator.isa import Form
from emulator.isa.table import find

from .gang import Job, run

LINES = (Path(__file__).parents[2] / "data" / "isa" / "sm_90_functions.tsv").read_text().splitlines()


def asked(kind: str, start: str) -> np.ndarray:
    """All floats of an octave, all halves, doubles with every upper word of an octave (twice), or random doubles."""
    if start.startswith("random"):
        generator = np.random.Generator(np.random.PCG64(int(start.split()[1])))
        return generator.integers(0, 1 << 63, 1 << 21, dtype="u8")
    if kind in ("f16", "bf16"):
        return np.arange(1 << 16, dtype="u2")
    first = int(start, 16)
    if kind == "f64":
        return np.tile(np.arange(first, first + (1 << 20), dtype="u8") << np.uint64(32), 2)
    return np.arange(first, first + (1 << 23), dtype="u4")


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line.split("\t")[:2]))
def test_every_fraction_equals_the_gpu(line: str) -> None:
    name, start, digest = line.split("\t")
    opcode, *modifiers = name.split(".")
    form = find(opcode, tuple(modifiers), (0, 0))
    assert isinstance(form, Form)
    result = run([Job(form, width=16)], [[asked(form.type, start)]])[0][0]
    if form.type == "f64" and not start.startswith("random"):
        assert not (result & np.uint64(0xFFFFFFFF)).any()
        result = (result >> np.uint64(32)).astype("u4")
    assert hashlib.sha256(result.tobytes()).hexdigest()[:16] == digest
