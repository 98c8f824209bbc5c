"""The emulator's benchmark: its cases are whole, and a measurement compares right results."""

import json
import re

import pytest

from benchmarks.emulator import large
from benchmarks.emulator.cases import CASES, FOLDER
from cli import bench_latency
from cli.bench_emulator import PREVIOUS, UNSIMULATED, measure, table
from cli.usage import Refused
from emulator.syntax import Instruction, parse

NAMES = [case.name for case in CASES]
SIMULATED = (FOLDER / "simulated.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_case_has_its_kernel_and_its_baseline(case):
    kernels, cpp = ((FOLDER / name).read_text(encoding="utf-8") for name in ("kernels.cu", "baseline.cpp"))
    assert re.search(rf"__global__ void {case.entry}\(", kernels)
    assert f"CASE({case.name})" in cpp
    assert (f'"{case.name}": lambda' in SIMULATED) != (case.name in UNSIMULATED)


def test_the_committed_run_has_every_kernel():
    kernels = json.loads(PREVIOUS.read_text(encoding="utf-8"))["kernels"]
    assert list(kernels) == NAMES
    assert all(kernels[name]["time_ratio_to_cpp"] > 0 and kernels[name]["jit_ms"] > 0 for name in NAMES)


def test_a_measurement_names_its_times_and_ratios():
    said: list[str] = []
    results = measure(2, 1, ["matmul_tiled_32"], said.append)
    got = results["kernels"]["matmul_tiled_32"]
    assert got["run_ms"] > 0 and got["jit_ms"] > 0 and got["thread_instructions_per_second"] > 0
    assert (got["time_ratio_to_cpp"] is None) == any("without C++" in line for line in said)
    head, row = table(results)
    assert len(head) == len(row) and row[0] == "matmul_tiled_32"


def test_an_unknown_kernel_is_named():
    with pytest.raises(Refused, match="no such kernel: sax; there are saxpy"):
        measure(2, 1, ["sax"])


def test_latencies_are_shown_with_their_bars():
    figures = {**dict.fromkeys(bench_latency.BARS, 1.0), "ready_p50_ms": 12.5, "launch_us": 15.01, "memory_mb": 50.0}
    head, *rows = bench_latency.table(figures)
    shown = {row[0]: row[1:] for row in rows}
    assert all(len(row) == len(head) for row in rows) and len(rows) == len(figures)
    assert shown["PTX to ready, p50 (CPU)"] == ("12.50 ms", "", "")
    assert shown["a launch in a loop, beyond its work"] == ("15.01 µs", "15 µs", "over")
    assert shown["memory of a launch beside its arena"] == ("50.00 MB", "50 MB", "kept")


def test_the_committed_run_has_the_latencies():
    latency = json.loads(PREVIOUS.read_text(encoding="utf-8"))["latency"]
    assert latency.keys() >= bench_latency.BARS.keys()
    assert all(value > 0 for value in latency.values())


@pytest.mark.parametrize(("name", "count"), [("straight_5000", 5000), ("branchy_600", 600 * 5)])
def test_large_kernels_are_as_large_as_they_say(name, count):
    module, problems = parse(large.text(name))
    assert problems == []
    body = [item for item in module.functions[large.ENTRY].body or () if isinstance(item, Instruction)]
    assert count <= len(body) < count + 250
