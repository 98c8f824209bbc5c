"""What is made of a GPU's sensors, peaks and declared work; needs no GPU."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.run import RunRequest
from protocol.timing import Conditions, Measured, Peaks, Work
from sandbox.gpu_use import TOO_FAST, TOO_MANY, remark, work_of
from sandbox.probes import is_known, known_run, peak_runs, peaks_of
from sandbox.telemetry import Look, conditions

PEAKS = Peaks(bytes_per_second=4e12, flops_per_second=6e13)


def measured(**medians: float) -> Measured:
    series = [
        {"cache": cache, "samples": [at], "median": at, "low": at, "high": at, "stopped": "time"}
        for cache, at in medians.items()
    ]
    return Measured.model_validate_json(json.dumps({"series": series}))


def test_looks_become_their_extremes_and_reasons_in_words() -> None:
    looks = [Look(0.0, 1500, 3201, 41, 300.5, 0x04), Look(0.1, 1980, 3200, 44, 210.0, 0x40 | 0x04)]
    assert conditions(looks) == Conditions(
        looks=2,
        sm_mhz=(1500, 1980),
        memory_mhz=(3200, 3201),
        celsius=44,
        watts=300.5,
        throttled=("the power limit", "temperature (hardware)"),
    )
    assert conditions([]) is None
    assert conditions([Look(0.0, 1980, 3201, 35, 100.0, 0)]).throttled == ()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("work", "cold", "said"),
    [
        (Work(bytes=4_000_000), 1e-6, ""),
        (Work(bytes=4_000_000), 0.9e-6, TOO_FAST),
        (Work(bytes=4_000_000, origin="buffers"), 0.9e-6, ""),
        (Work(flops=60_000_000), 1e-6, ""),
        (Work(flops=60_000_000), 0.9e-6, TOO_MANY),
        (None, 1e-9, ""),
    ],
)
def test_what_cannot_be_so_is_remarked(work: Work | None, cold: float, said: str) -> None:
    assert remark(measured(warm=cold / 10, cold=cold), work, PEAKS) == said
    assert remark(measured(warm=cold / 10, cold=cold), work, None) == ""
    assert remark(measured(warm=1e-12), work, PEAKS) == ""


def request(**more: Any) -> RunRequest:
    buffers = [
        {"name": name, "dtype": "float32", "shape": [1000], "role": role, "init": {"kind": "zeros"}}
        for name, role in (("a", "in"), ("b", "inout"), ("c", "out"), ("idle", "in"))
    ]
    launch = {
        "kind": "launch",
        "entry": "k",
        "config": {"grid": [4], "block": [256]},
        "arguments": [{"kind": "buffer", "buffer": name} for name in "abc"],
    }
    values = {"source": {"text": "__global__ void k(float *a, float *b, float *c) {}"}, "buffers": buffers}
    return RunRequest.model_validate_json(json.dumps({**values, "steps": [launch], **more}))


def test_work_is_as_declared_or_each_buffer_of_the_launch_once() -> None:
    assert work_of(request(), "steps.0") == Work(bytes=4000 + 2 * 4000 + 4000, origin="buffers")
    assert work_of(request(work={"bytes": 7, "flops": 9}), "steps.0") == Work(bytes=7, flops=9)
    assert work_of(request(), "steps.1") is None


def test_peaks_come_from_a_copy_and_from_multiply_adds() -> None:
    copy, fma = peak_runs("sm_90", 132)
    assert {buffer.bytes for buffer in copy.buffers} == {1 << 29}
    assert fma.steps[0].kind == "launch"
    found = peaks_of(measured(warm=1e-3, cold=2e-3), measured(warm=1e-3, cold=2e-3), 132)
    assert found.bytes_per_second == pytest.approx(2 * 2**29 / 1e-3)
    # 132 SMs, 32 blocks of 256 threads each, 16 chains of 2,048 operations that count twice.
    assert found.flops_per_second == pytest.approx(132 * 32 * 256 * 16 * 2048 * 2 / 1e-3)


def test_the_known_result_is_known() -> None:
    run = known_run("sm_90")
    count = run.buffers[0].shape[0]
    good = b"".join((index * 2654435761 % 2**32).to_bytes(4, "little") for index in range(count))
    assert is_known(good)
    assert not is_known(good[:-1] + bytes([good[-1] ^ 1]))
    assert not is_known(good[4:])
    assert not is_known(None)
