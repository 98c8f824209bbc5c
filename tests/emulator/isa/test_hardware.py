"""Every form computes what an H200 computes: all bits, or within the manual's error where it leaves bits open."""

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


# Forms that the next measurement answers.
NOT_YET = ("atom.", "red.", "cvt.pack", "cvt.", "fma.rn.oob", "vabsdiff", "createpolicy")


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
    assert [case.name for case in missing if not _is_later(case) and not case.name.startswith(NOT_YET)] == []


def _is_later(case: Case) -> bool:
    """Whether an H200 does not have the form."""
    three = case.form.opcode in ("min", "max") and len(case.form.sources) == 3
    if three or any(part in case.name for part in NOT_ON_SM_90):
        return True
    return TARGETS[case.form.row.notation.text][0] not in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")


# Largest error against the GPU: (relative, absolute), the manual's bound plus our own. What is not here is equal.
BOUNDS = {
    "tanh f32": (2.0**-10.9, 0), "tanh f16": (2.0**-9.9, 2.0**-10.9), "tanh bf16": (2.0**-6.9, 2.0**-7.9),
}  # fmt: skip


def _values(bits: np.ndarray, kind: str) -> np.ndarray:
    if kind in ("f16x2", "bf16x2"):
        parts = np.stack([bits & 0xFFFF, bits >> 16], axis=1).astype("u2").ravel()
        return _values(parts, kind.removesuffix("x2"))
    if kind == "bf16":
        return (bits.astype("u4") << 16).view("f4").astype("f8")
    return bits.view({"f16": "f2", "f32": "f4", "f64": "f8"}[kind]).astype("f8")


def _approximate_cases() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for case in every_case():
        if approximate(case.form):
            found[f"{case.form.opcode} {case.form.type.removesuffix('x2')}"].append(case)
    return found


@pytest.mark.parametrize(
    ("name", "planned"), _approximate_cases().items(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_approximations_are_near_the_gpu(name: str, planned: list[Case]) -> None:
    relative, absolute = BOUNDS.get(name, (0.0, 0.0))
    sources = [case.sources() for case in planned]
    for case, arrays, results in zip(planned, sources, run([Job(c.form) for c in planned], sources), strict=True):
        kind = case.form.type
        if name not in BOUNDS:
            assert results[0].tobytes() == APPROXIMATE[case.name].tobytes(), case.name
            continue
        with np.errstate(all="ignore"):
            ours, theirs = _values(results[0], kind), _values(APPROXIMATE[case.name], kind)
            asked = _values(arrays[0], kind)
            error = np.abs(ours - theirs)
            # A step of the smallest subnormal number is no error: the GPU may flush where we do not.
            steps = np.abs(theirs) * relative + absolute + (2.0**-126 if kind == "f32" else 0)
            wrong = ~((error <= steps) | (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
        assert not wrong.any(), f"{case.name}: {asked[wrong][:4]} gave {ours[wrong][:4]}, the GPU {theirs[wrong][:4]}"
