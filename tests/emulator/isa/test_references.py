"""Every row computes what the references say, on edges and random lanes."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.isa import Row, rows

from .gang import Job, run
from .plan import cases
from .reference_table import reference

# Lanes of each case that are worked out by hand: every tenth, from a start that differs by case.
STEP = 13

ALU = [row for row in rows() if row.kind == "alu"]


def mismatches(row: Row) -> list[str]:
    """One line a lane that differs."""
    found: list[str] = []
    planned = [case for case in cases(row) if reference(case.form) is not None]
    sources = [case.sources() for case in planned]
    for number, (case, arrays, results) in enumerate(
        zip(planned, sources, run([Job(c.form, c.constants) for c in planned], sources), strict=True)
    ):
        function = reference(case.form)
        assert function is not None
        fixed = dict(case.constants)
        for lane in range(number % STEP, len(results[0]), STEP):
            variable = iter(arrays)
            operands = [fixed[i] if i in fixed else _bits(next(variable)[lane]) for i in range(len(case.form.sources))]
            wanted = function(case.form, *operands)
            if wanted is None:
                continue
            got = tuple(_bits(result[lane]) for result in results)
            if got != (wanted if isinstance(wanted, tuple) else (wanted,)):
                found.append(f"{case.name} of {[hex(o) for o in operands]}: got {got}, want {wanted}")
    return found


def _bits(value: np.generic) -> int:
    return int.from_bytes(value.tobytes(), "little")


@pytest.mark.parametrize("row", ALU, ids=lambda row: row.notation.text.partition(" ")[0])
def test_row(row: Row) -> None:
    assert mismatches(row) == []


def test_every_row_has_cases() -> None:
    assert [row.notation.text for row in ALU if not cases(row)] == []


# Only the GPU answers: the manual leaves the last bits open, or NaNs and formats have rules of their own.
GPU_ALONE = {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"}


def test_every_row_has_a_reference_or_is_named() -> None:
    without = {row.notation.opcode for row in ALU if not any(reference(case.form) for case in cases(row))} - {
        "div",
        "rcp",
        "sqrt",
    }  # their .approx and .full rows; the rounded ones have references
    assert without == GPU_ALONE
