"""Counters agree with the hardware's; the checks find every planted defect and nothing else; results stay the same."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from launching import DATA, module, truth_cases
from test_truth import check_output, launch_case

from emulator import Options, Outcome, compile_entry

# Ours and the profiler's; the wavefronts of accesses that ptxas merges into wider ones are left out below.
NAMES = {
    "global_read_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_read_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_write_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_write_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_read_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_write_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
CASES = [
    "copy_coalesced_b100", "copy_float4", "gather_stride3", "scatter_stride8", "copy_offset9", "gather_indexed",
    "copy_bytes", "copy_double", "shared_stride0", "shared_stride16", "shared_stride33", "shared_store_stride8",
    "transpose_naive", "transpose_tiled", "transpose_padded", "shared_float4", "shared_double", "diverge_parity",
    "block_sum_b256", "scan_block", "histogram_shared", "blur3x3", "life_step",
]  # fmt: skip
with (DATA / "truth" / "counters_sm_90.tsv").open() as table:
    MEASURED = {row["case"]: row for row in csv.DictReader(table, delimiter="\t")}


@pytest.mark.parametrize("name", CASES)
def test_counters_are_the_hardware_s(name: str) -> None:
    case: dict[str, Any] = next(case for case in truth_cases() if case["name"] == name)
    block = (*case["block"], 1, 1)[:3]
    source = module(case["file"].removesuffix(".cu"))
    entry = compile_entry(source, case["entry"], block, Options(instruments=("counters",)))
    outcome, outputs = launch_case(case, entry)
    assert outcome.fault is None
    for key, got in outputs.items():
        check_output(case, key, got)
    measured = {ours: int(float(MEASURED[name][theirs])) for ours, theirs in NAMES.items()}
    assert {ours: outcome.counters[ours] for ours in NAMES} == measured


# Findings of each class of defect; what ends a kernel is reported as its fault.
CLASSES = {
    "memcheck": {"out-of-bounds", "misaligned", "null"},
    "racecheck": {"race"},
    "global race": {"race"},
    "initcheck": {"uninitialised"},
    "synccheck": {"divergent-barrier", "barrier-after-exit", "absent-lanes"},
    "trap": {"trap"},
}
ADVICE = {"barrier-after-exit"}


def checked(case: dict[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    block = (*case["block"], 1, 1)[:3]
    source = module(case["file"].removesuffix(".cu"))
    return launch_case(case, compile_entry(source, case["entry"], block, Options(instruments=("checks",))))


@pytest.mark.parametrize("case", [c for c in truth_cases() if c.get("defect")], ids=lambda case: case["name"])
def test_every_planted_defect_is_found(case: dict[str, Any]) -> None:
    outcome, _ = checked(case)
    found = [*outcome.findings, *([outcome.fault] if outcome.fault else [])]
    lines = {f.source.line for f in found if f.kind in CLASSES[case["defect"]] and f.source is not None}
    assert lines & set(case["lines"])


@pytest.mark.parametrize("case", [c for c in truth_cases() if not c.get("defect")], ids=lambda case: case["name"])
def test_sound_kernels_have_no_finding(case: dict[str, Any]) -> None:
    outcome, outputs = checked(case)
    assert outcome.fault is None
    assert [f for f in outcome.findings if f.kind not in ADVICE] == []
    for key, got in outputs.items():
        check_output(case, key, got)
