"""Every form computes what an H200 computes, all bits, also where the manual leaves the last ones open."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from emulator.isa import Row, rows

from .gang import Job, run
from .plan import Case, approximate, atomic_cases, cases, digest, every_case, warp_cases

DATA = Path(__file__).parents[2] / "data" / "isa"
DIGESTS = dict(line.split("\t") for line in (DATA / "sm_90.tsv").read_text().splitlines())
APPROXIMATE = np.load(DATA / "sm_90_approximate.npz")

# By the row, the smallest architectures that take one and all of its spellings, see targets.py.
TARGETS = {line.split("\t")[0]: line.split("\t")[1:] for line in (DATA / "targets.tsv").read_text().splitlines()}
# Spellings of later architectures than their rows, which the references alone check, and some that ptxas takes no
# registers for.
NOT_ON_SM_90 = ("f32x2", "satfinite.tf32", "satfinite.relu.tf32", ".u8.bf16", ".s8.bf16", ".bf16.u8", ".bf16.s8")


def _differing(planned: list[Case], width: int) -> list[str]:
    measured = [case for case in planned if case.name in DIGESTS]
    jobs = [Job(case.form, case.constants, width=width, active=case.active) for case in measured]
    found = run(jobs, [case.sources() for case in measured])
    return [c.name for c, r in zip(measured, found, strict=True) if digest(c, r) != DIGESTS[c.name]]


@pytest.mark.parametrize(
    "row", [row for row in rows() if row.kind == "alu"], ids=lambda row: row.notation.text.partition(" ")[0]
)
def test_row_equals_the_gpu(row: Row) -> None:
    planned = cases(row, everything=True)
    for start in range(0, len(planned), 100):
        assert _differing(planned[start : start + 100], width=8) == []


@pytest.mark.parametrize("width", [32, 64, 128], ids=lambda width: f"{width} lanes")
@pytest.mark.parametrize("opcode", ["shfl", "vote", "match", "redux", "activemask", "elect"])
def test_warp_rows_equal_the_gpu(opcode: str, width: int) -> None:
    planned = [case for case in warp_cases() if case.form.opcode == opcode]
    assert planned
    assert _differing(planned, width) == []


def test_uniform_member_masks_give_the_same() -> None:
    """A member mask that all lanes share takes another path than one a lane."""
    planned = [case for case in warp_cases() if case.active and case.form.sources and case.name in DIGESTS]
    for case in planned:
        last = len(case.form.sources) - 1
        job = Job(case.form, case.constants, uniform=frozenset({last}), width=32, active=True)
        assert digest(case, run([job], [case.sources()])[0]) == DIGESTS[case.name], case.name


def test_atomic_rows_equal_the_gpu() -> None:
    assert _differing(atomic_cases(), width=8) == []


def test_every_case_was_measured() -> None:
    missing = [case for case in every_case() if case.name not in DIGESTS and case.name not in APPROXIMATE.files]
    assert [case.name for case in missing if not _is_later(case)] == []


def _is_later(case: Case) -> bool:
    """Whether an H200 does not have the form."""
    three = case.form.opcode in ("min", "max") and len(case.form.sources) == 3
    if three or any(part in case.name for part in NOT_ON_SM_90):
        return True
    return TARGETS[case.form.row.notation.text][0] not in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")


def _approximate_cases() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for case in every_case():
        if approximate(case.form):
            found[f"{case.form.opcode} {case.form.type.removesuffix('x2')}"].append(case)
    return found


@pytest.mark.parametrize("planned", _approximate_cases().values(), ids=_approximate_cases())
def test_what_the_manual_leaves_open_equals_the_gpu(planned: list[Case]) -> None:
    sources = [case.sources() for case in planned]
    for case, results in zip(planned, run([Job(c.form) for c in planned], sources), strict=True):
        assert results[0].tobytes() == APPROXIMATE[case.name].tobytes(), case.name
