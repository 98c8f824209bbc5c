"""Tensor cores compute what an H200 computes, bit for bit: registers by mma.sync, whole programs by wmma."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from launching import run

from emulator import CompiledEntry, compile_entry, parse
from emulator.isa import Row, rows

from .gang import Job
from .gang import run as run_jobs
from .matrix_inputs import FAMILIES, WARPS
from .matrix_plan import MatrixCase, Program, Transfer, digest, matrix_cases, programs, transfers
from .measure import kernel, module
from .plan import digest as first_digest
from .plan import warp_cases
from .sparse_plan import SparseCase, sparse_cases
from .vectors import COUNT

DATA = Path(__file__).parents[2] / "data" / "isa"
MEASURED = dict(line.split("\t") for line in (DATA / "sm_90_matrix.tsv").read_text().splitlines())
FIRST = dict(line.split("\t") for line in (DATA / "sm_90.tsv").read_text().splitlines())
MMA = [row for row in rows() if row.notation.opcode == "mma" and "sp|" not in row.notation.text]
SPARSE = [row for row in rows() if row.notation.opcode == "mma" and row not in MMA]


@pytest.mark.parametrize("row", MMA, ids=lambda row: row.notation.text.partition(" ")[0])
def test_mma_equals_the_gpu(row: Row) -> None:
    planned = [case for case in matrix_cases() if case.form.row is row]
    assert planned and _differing(planned, 32) == []
    first = [case for case in warp_cases() if case.form.row is row]
    found = run_jobs([Job(case.form, width=32) for case in first], [case.sources() for case in first])
    assert [c.name for c, r in zip(first, found, strict=True) if first_digest(c, r) != FIRST[c.name]] == []


def _differing(planned: Sequence[MatrixCase | SparseCase], width: int) -> list[str]:
    jobs = [Job(case.form, case.constants, width=width) for case in planned]
    found = run_jobs(jobs, [case.sources() for case in planned])
    return [c.name for c, r in zip(planned, found, strict=True) if digest(r) != MEASURED[c.name]]


@pytest.mark.parametrize("row", SPARSE, ids=lambda row: row.notation.text.partition(" ")[0])
def test_sparse_products_equal_the_gpu(row: Row) -> None:
    planned = [case for case in sparse_cases() if case.form.row is row]
    assert planned and _differing(planned, 32) == []


def test_a_sparse_product_in_a_program_equals_the_gpu() -> None:
    """The selector is a constant of the text."""
    case = next(case for case in sparse_cases() if "m16n8k32.row.col.f32.f16" in case.name and case.selector == 1)
    parsed, problems = parse(module([kernel("multiply", case)]))
    assert problems == []
    outputs = [np.zeros(COUNT, "u4") for _ in case.form.destinations]
    result = run(compile_entry(parsed, "multiply", (256, 1, 1)), *case.sources(), *outputs, grid=(COUNT // 256, 1, 1))
    assert result.outcome.fault is None
    assert digest(result.arrays[-len(outputs) :]) == MEASURED[case.name]


@pytest.mark.parametrize("width", [64, 128])
def test_gangs_of_several_warps_give_the_same(width: int) -> None:
    every = [case for case in [*matrix_cases(), *sparse_cases()] if case.family == "wide"]
    planned = list({case.form.row: case for case in every}.values())
    assert _differing(planned, width) == []


def compiled(text: str, entry: str) -> CompiledEntry:
    parsed, problems = parse(module([text]))
    assert problems == []
    return compile_entry(parsed, entry, (32, 1, 1))


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_wmma_equals_the_gpu(program: Program) -> None:
    entry = compiled(program.text("multiply"), "multiply")
    for family in FAMILIES:
        result = run(entry, *program.buffers(family), grid=(WARPS, 1, 1))
        assert result.outcome.fault is None, result.outcome.fault
        assert digest([result.arrays[3]]) == MEASURED[f"{program.name} {family}"], family


@pytest.mark.parametrize("transfer", transfers(), ids=lambda transfer: transfer.name)
def test_matrix_transfers_equal_the_gpu(transfer: Transfer) -> None:
    result = run(compiled(transfer.text("move"), "move"), transfer.given(), np.zeros(128, "u4"))
    assert result.outcome.fault is None, result.outcome.fault
    assert digest([result.arrays[1]]) == MEASURED[transfer.name]


def test_everything_was_measured_and_is_tested() -> None:
    planned = [case.name for case in [*matrix_cases(), *sparse_cases()]]
    planned += [f"{program.name} {family}" for program in programs() for family in FAMILIES]
    planned += [transfer.name for transfer in transfers()]
    assert sorted(planned) == sorted(MEASURED)
