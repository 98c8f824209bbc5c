"""Sweeps: one job, one row for each block shape, every run from the same first values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import child_entry
from protocol.run import UNPREPARED, CompileJob, RunRequest, compile_request
from sandbox.keys import code_key
from tests.engine.child_jobs import Job, array, buffer, compiled, launched, ran, request

ADD = "__global__ void add(int *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 1000) y[i] += i; }"


def swept(source: str, *blocks: list[int], grid: Any = None, shared: int = 0, **fields: Any) -> RunRequest:
    """A run of one launch on the buffer y of 1,000 int32."""
    config = {"grid": grid or {"kind": "cover", "buffer": "y"}, "block": [256], "dynamic_shared_bytes": shared}
    step = {"kind": "launch", "config": config, "arguments": [{"kind": "buffer", "buffer": "y"}]}
    fields.setdefault("steps", [step])
    fields.setdefault("buffers", [buffer("y", shape=1000, kind="arange")])
    return request(source, sweep={"blocks": blocks}, **fields)


def states(job: Job) -> list[str]:
    return [event["state"] for event in job.kind("swept")]


def test_every_shape_runs_from_the_first_values_and_is_timed() -> None:
    run = swept(ADD, [64], [1000], [256], [2048], [32, 2])
    code = compiled(run)
    assert code.messages() == []
    assert {name for name in code.artifacts if name.startswith("object:")} == {
        f"object:_Z3addPi:{shape}x1" for shape in ("64x1", "1000x1", "256x1", "32x2")
    }
    job = launched(run, code)
    rows = job.kind("swept")
    assert [row["index"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["state"] for row in rows] == ["ran", "ran", "ran", "refused", "ran"]
    assert [row["block"][0] for row in rows] == [64, 1000, 256, 2048, 32]
    assert [row["grid"] for row in rows] == [[16, 1, 1], [1, 1, 1], [4, 1, 1], [1, 1, 1], [32, 1, 1]]
    assert [row["same_as_first"] for row in rows[:4]] == [None, True, True, None]
    assert [row["occupancy"] and row["occupancy"]["warps_per_sm"] for row in rows[:4]] == [64, 64, 64, None]
    assert all(row["samples"] >= 3 and row["seconds"] > 0 and row["clock"] == "wall" for row in rows[:3])
    assert all(row["device_name"].startswith("PTX emulator (") for row in rows[:3])
    assert {row["registers"] for row in rows} == {rows[0]["registers"]}
    assert rows[3]["diagnostics"][0]["field"] == "sweep.blocks.3"
    assert "2,048 threads along x" in rows[3]["diagnostics"][0]["message"]
    np.testing.assert_array_equal(array(job, "y"), 2 * np.arange(1000))
    (start,) = job.kind("launched")
    assert start["block"] == [64, 1, 1]
    assert len(job.kind("buffer-read")) == 1


def test_results_that_depend_on_the_block_are_named() -> None:
    job = ran(swept("__global__ void size(int *y) { y[7] = blockDim.x / 64; }", [32], [48], [64], [96]))
    rows = job.kind("swept")
    assert [row["same_as_first"] for row in rows] == [None, True, False, False]
    assert [row["differs_at"] for row in rows] == ["", "", "y[7]", "y[7]"]


def test_variables_of_the_module_start_anew_in_every_run() -> None:
    source = "__device__ int runs = 5; __global__ void k(int *y) { if (!threadIdx.x && !blockIdx.x) y[0] = runs++; }"
    job = ran(swept(source, [32], [64], [128], grid=[1]))
    assert [row["same_as_first"] for row in job.kind("swept")] == [None, True, True]
    assert array(job, "y")[0] == 5


def test_a_defect_is_told_once_and_other_shapes_go_on() -> None:
    source = "__global__ void far(int *y) { y[blockDim.x > 64 ? 1000 : 0] = 1; }"
    job = ran(swept(source, [128], [32], [64], [256]))
    assert states(job) == ["failed", "ran", "ran", "failed"]
    assert [event["code"] for event in job.kind("found")] == ["out-of-bounds"]
    assert [row["same_as_first"] for row in job.kind("swept")] == [None, None, True, None]
    (diagnostic,) = job.kind("swept")[3]["diagnostics"]
    assert (diagnostic["code"], diagnostic["severity"], diagnostic["span"]["line"]) == ("out-of-bounds", "error", 1)
    job = ran(swept(source, [32], [128], [256]))
    assert states(job) == ["ran", "failed", "failed"]
    assert [event["code"] for event in job.kind("found")] == ["out-of-bounds"]


ENDLESS = "__global__ void spin(volatile int *y) { if (blockDim.x == 64) while (y[1]) ; y[0] = 3; }"


def test_shapes_that_no_longer_fit_are_named() -> None:
    job = ran(swept(ENDLESS, [32], [64], [128], [96]), deadline_seconds=1.0)
    assert states(job) == ["ran", "not-run", "not-run", "not-run"]
    assert job.kind("found") == []
    assert [message for message in job.messages("warning") if "No time" in message] == [
        "No time was left for these shapes (the run has 1 s): 64, 128, 96"
    ]
    assert "stopped when the time of the run was up" in job.kind("swept")[1]["diagnostics"][0]["message"]
    assert job.kind("swept")[2]["occupancy"]["warps_per_sm"] == 64


def test_a_first_shape_that_never_ends_ends_the_run() -> None:
    job = ran(swept(ENDLESS, [64], [32]), deadline_seconds=0.5)
    assert states(job) == ["not-run", "not-run"]
    assert [(event["class"], event["code"]) for event in job.kind("found")] == [("limit", "wall")]
    assert len(job.kind("buffer-read")) == 1


@pytest.mark.parametrize(
    ("source", "shared", "code"),
    [
        ("__global__ void __launch_bounds__(128) k(int *y) { y[0] = 1; }", 0, "launch-bounds"),
        ("__global__ void k(int *y) { y[0] = 1; }", 300_000, "shared-memory"),
        ("__global__ void k(int *y) { y[0] = 1; }", 0, "block-zero"),
    ],
)
def test_shapes_that_cannot_be_launched_say_why(source: str, shared: int, code: str) -> None:
    run = swept(source, [0] if code == "block-zero" else [256], shared=shared)
    made = compiled(run)
    job = launched(run, made)
    assert made.messages() == []
    (row,) = job.kind("swept")
    assert (row["state"], row["diagnostics"][0]["code"], row["seconds"]) == ("refused", code, None)
    assert job.messages() == ["none of the shapes can be launched"]


def test_faults_of_other_fields_refuse_the_run_before_anything_is_made() -> None:
    step = {"kind": "launch", "config": {"grid": [1], "block": [32]}, "arguments": []}
    run = swept(ADD, [32], [64], steps=[step])
    code = compiled(run)
    assert set(code.artifacts) == {"kernel", "cubin"}
    assert len(code.messages()) == 1
    assert launched(run, code).messages() == code.messages()
    assert launched(run, code).kind("swept") == []


def test_a_launch_in_a_repeat_is_swept_among_others() -> None:
    launch = {"kind": "launch", "entry": "add", "config": {"grid": [4], "block": [256]}}
    launch["arguments"] = [{"kind": "buffer", "buffer": "y"}]
    other = {**launch, "entry": "twice", "config": {"grid": [1000], "block": [1]}}
    steps = [other, {"kind": "repeat", "count": 3, "steps": [launch]}]
    source = ADD + "\n__global__ void twice(int *y) { y[blockIdx.x] *= 2; }"
    run = request(
        source,
        buffers=[buffer("y", shape=1000, kind="arange")],
        steps=steps,
        sweep={"blocks": [[128], [512]], "step": "steps.1.steps.0"},
        checks=[{"buffer": "y", "expected": {"kind": "arange", "step": 5}}],
    )
    job = ran(run)
    rows = job.kind("swept")
    assert [(row["step"], row["grid"], row["state"]) for row in rows] == [
        ("steps.1.steps.0", [8, 1, 1], "ran"),
        ("steps.1.steps.0", [2, 1, 1], "ran"),
    ]
    assert rows[1]["same_as_first"]
    assert job.kind("checked")[0]["passed"]


def test_code_is_made_as_far_as_the_time_goes() -> None:
    run = swept(ADD, [32], [64], [96])
    order = CompileJob(request=compile_request(run), run=run, device="emulator", deadline_seconds=1e-3)
    code = Job()
    child_entry.compile_job(order.model_dump_json().encode(), {}, code)
    assert [name for name in code.artifacts if name.startswith("object:")] == ["object:_Z3addPi:32x1x1"]
    assert [event["diagnostic"]["code"] for event in code.kind("diagnosed")] == [UNPREPARED]
    job = launched(run, code)
    assert states(job) == ["ran", "not-run", "not-run"]
    assert "no time was left to make its code" in job.kind("swept")[1]["diagnostics"][0]["message"]


def test_code_of_a_sweep_is_kept_under_its_shapes() -> None:
    keys = {
        code_key("kernel", swept(ADD, *shapes)) for shapes in ([[32]], [[64]], [[32], [64]], [[64], [32]], [[64, 2]])
    }
    assert len(keys) == 4
