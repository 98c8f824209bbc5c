"""Scalar code for uniform operands gives what vector code gives, also where only some operands are uniform."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from emulator.isa import Row, rows

from .gang import Job, run
from .plan import Case, cases

WIDTH = 8


def _uniform_sources(case: Case, uniform: frozenset[int]) -> list[np.ndarray]:
    """The case's sources with one value a gang where they are uniform."""
    return [
        np.repeat(array[::WIDTH], WIDTH) if index in uniform else array for index, array in enumerate(case.sources())
    ]


@pytest.mark.parametrize(
    "row", [row for row in rows() if row.kind == "alu"], ids=lambda row: row.notation.text.partition(" ")[0]
)
def test_uniform_operands_give_the_same(row: Row) -> None:
    everything = [(case, len(case.form.sources) - len(case.constants)) for case in cases(row)]
    choices: tuple[tuple[int, Callable[[int], frozenset[int]]], ...] = (
        (0, lambda count: frozenset(range(count))),
        (1, lambda count: frozenset({count - 1})),
    )
    for start, choose in choices:
        planned = everything[start % len(everything) :: 2]
        sources = [_uniform_sources(case, choose(count)) for case, count in planned]
        vector = run([Job(case.form, case.constants, width=WIDTH) for case, _ in planned], sources)
        scalar = run([Job(c.form, c.constants, choose(count), WIDTH) for c, count in planned], sources)
        for (case, _), first, second in zip(planned, vector, scalar, strict=True):
            assert [a.tobytes() for a in first] == [b.tobytes() for b in second], case.name
