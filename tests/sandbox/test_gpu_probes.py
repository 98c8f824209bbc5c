"""Our own kernels compile for a GPU and do what is concluded from them, here on the emulator; needs no GPU."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.languages import language
from protocol.kernel import CompiledKernel
from protocol.run import RunRequest, compile_request
from protocol.timing import Measured, Peaks, Work
from sandbox.gpu_use import TOO_FAST, TOO_MANY, remark, work_of
from sandbox.probes import SOURCE, is_known, known_run, peak_runs
from sandbox.telemetry import REASONS, Look, conditions
from tests.engine.child_jobs import ran

PROBES = {"flush", "compare", "empty", "known", "spin", "copy_peak", "fma_peak"}


@pytest.fixture(scope="module")
def kernel() -> CompiledKernel:
    result = language("cuda-c++").compile(compile_request(known_run("sm_90")))
    assert result.kernel is not None, result.diagnostics
    assert [item for item in result.diagnostics if item.severity != "note"] == []
    return result.kernel


def test_the_kernels_compile_under_their_names(kernel: CompiledKernel) -> None:
    assert ".target sm_90" in kernel.ptx
    assert {name for name in PROBES if f".entry {name}(" in kernel.ptx} == PROBES
    assert SOURCE.count("__global__") == len(PROBES)


def test_the_peak_of_operations_is_of_fused_multiply_adds(kernel: CompiledKernel) -> None:
    body = kernel.ptx.split(".entry fma_peak(")[1].split(".entry ")[0]
    fused = body.count("fma.rn.f32")
    assert fused
    assert fused % 16 == 0
    assert body.count("mul.f32") + body.count("mul.rn.f32") == 0


def test_the_kernel_with_the_known_result_gives_it() -> None:
    run = known_run("sm_90")
    values = run.model_dump(mode="json", by_alias=True) | {"device": "emulator"}
    job = ran(RunRequest.model_validate_json(json.dumps(values)))
    assert job.messages() == []
    assert is_known(job.buffers["out"])


@pytest.mark.parametrize(
    ("size", "at"), [(64, None), (64, 0), (64, 63), (1030, 1029), (1030, 1023), (1030, None), (3, 2), (3, None)]
)
def test_two_buffers_are_compared_to_their_last_byte(size: int, at: int | None) -> None:
    one = {"kind": "zeros"}
    values = [0] * size
    if at is not None:
        values[at] = 1
    two = {"kind": "literals", "values": values}
    buffers = [
        {"name": "a", "dtype": "uint8", "shape": [size], "role": "in", "init": one},
        {"name": "b", "dtype": "uint8", "shape": [size], "role": "in", "init": two},
        {"name": "found", "dtype": "int32", "shape": [1], "role": "out", "init": one},
    ]
    arguments: list[dict[str, Any]] = [{"kind": "buffer", "buffer": name} for name in ("a", "b")]
    arguments += [{"kind": "scalar", "dtype": "uint64", "value": size}, {"kind": "buffer", "buffer": "found"}]
    step = {
        "kind": "launch", "entry": "compare", "config": {"grid": [2], "block": [64]}, "arguments": arguments,
    }  # fmt: skip
    compare = SOURCE[SOURCE.index('extern "C" __global__ void compare') : SOURCE.index('extern "C" __global__ void em')]
    text = f"typedef unsigned long long u64;\n{compare}"
    job = ran(
        RunRequest.model_validate_json(json.dumps({"source": {"text": text}, "buffers": buffers, "steps": [step]}))
    )
    assert job.messages() == []
    assert int.from_bytes(job.buffers["found"], "little") == (at is not None)


@pytest.mark.parametrize("sm_count", [1, 40, 132])
def test_the_requests_of_the_peaks_are_valid(sm_count: int) -> None:
    copy, fma = peak_runs("sm_80", sm_count)
    for run in (copy, fma, known_run("sm_80")):
        assert RunRequest.model_validate_json(run.model_dump_json(by_alias=True)) == run
        assert (run.architecture, run.device) == ("sm_80", "gpu")
    launches = [run.steps[0].model_dump() for run in (copy, fma)]
    assert [item["entry"] for item in launches] == ["copy_peak", "fma_peak"]
    # One thread copies 16 bytes.
    assert launches[0]["config"]["grid"][0] * launches[0]["config"]["block"][0] * 16 == copy.buffers[0].bytes
    assert launches[1]["config"]["grid"][0] % sm_count == 0


def nested(*names: str) -> RunRequest:
    """One launch in a repeat, after another one."""
    roles = {"a": "in", "b": "inout", "c": "out"}
    buffers = [
        {"name": name, "dtype": "float64", "shape": [10], "role": role, "init": {"kind": "zeros"}}
        for name, role in roles.items()
    ]

    def launch(*given: str) -> dict[str, Any]:
        arguments = [{"kind": "buffer", "buffer": name} for name in given]
        return {"kind": "launch", "entry": "k", "config": {"grid": [1], "block": [32]}, "arguments": arguments}

    steps = [launch("a", "b", "c"), {"kind": "repeat", "count": 2, "steps": [launch(*names)]}]
    return RunRequest.model_validate_json(
        json.dumps({"source": {"text": "__global__ void k(double *p) {}"}, "buffers": buffers, "steps": steps})
    )


@pytest.mark.parametrize(("names", "size"), [("", 0), ("a", 80), ("b", 160), ("c", 80), ("aa", 80), ("abc", 320)])
def test_a_launch_in_a_repeat_has_the_bytes_of_its_own_buffers(names: str, size: int) -> None:
    run = nested(*names)
    assert work_of(run, "steps.1.steps.0") == Work(bytes=size, origin="buffers")
    assert work_of(run, "steps.0") == Work(bytes=320, origin="buffers")
    assert work_of(run, "steps.1") is None


@pytest.mark.parametrize(
    ("work", "said"),
    [
        # A peak may be passed by 2 %, as it is measured itself.
        (Work(bytes=1019), ""),
        (Work(bytes=1021), TOO_FAST),
        (Work(flops=10_190), ""),
        (Work(flops=10_210), TOO_MANY),
        (Work(bytes=1021, flops=10_210), TOO_FAST),
        (Work(bytes=1, flops=10_210), TOO_MANY),
        (Work(bytes=1021, flops=10_210, origin="buffers"), ""),
        (Work(), ""),
    ],
)
def test_a_peak_is_passed_by_more_than_its_own_error(work: Work, said: str) -> None:
    at = {"samples": [1.0], "median": 1.0, "low": 1.0, "high": 1.0, "stopped": "time"}
    measured = Measured.model_validate_json(json.dumps({"series": [{"cache": "cold", **at}]}))
    assert remark(measured, work, Peaks(bytes_per_second=1000.0, flops_per_second=10_000.0)) == said


@pytest.mark.parametrize("bit", REASONS)
def test_every_reason_has_its_words_and_idle_has_none(bit: int) -> None:
    found = conditions(iter([Look(0.0, 1, 2, 3, 4.0, 1), Look(0.1, 1, 2, 3, 4.0, bit)]))
    assert found is not None
    assert found.throttled == (REASONS[bit],)
    assert found.looks == 2
