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
    sweep = {"blocks": blocks, **fields.pop("sweep", {})}
    return request(source, sweep=sweep, **fields)


def told(job: Job) -> list[dict[str, Any]]:
    """The last row of each cell, by index."""
    return [row for _, row in sorted({event["index"]: event for event in job.kind("swept")}.items())]


def states(job: Job) -> list[str]:
    return [row["state"] for row in told(job)]


def test_every_shape_runs_from_the_first_values_and_is_timed() -> None:
    run = swept(ADD, [64], [1000], [256], [2048], [32, 2])
    code = compiled(run)
    assert code.messages() == []
    assert {name for name in code.artifacts if name.startswith("object:")} == {
        f"object:_Z3addPi:{shape}x1" for shape in ("64x1", "1000x1", "256x1", "32x2")
    }
    job = launched(run, code)
    rows = told(job)
    assert [row["index"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["state"] for row in rows] == ["ran", "ran", "ran", "refused", "ran"]
    assert [row["block"][0] for row in rows] == [64, 1000, 256, 2048, 32]
    assert [row["grid"] for row in rows] == [[16, 1, 1], [1, 1, 1], [4, 1, 1], [1, 1, 1], [32, 1, 1]]
    assert [row["same_as_first"] for row in rows[:4]] == [None, True, True, None]
    assert [row["occupancy"] and row["occupancy"]["warps_per_sm"] for row in rows[:4]] == [64, 64, 64, None]
    assert all(row["samples"] == 1 and row["seconds"] > 0 and row["clock"] == "wall" for row in rows[:3])
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
    rows = told(job)
    assert [row["same_as_first"] for row in rows] == [None, True, False, False]
    assert [row["differs_at"] for row in rows] == ["", "", "y[7]", "y[7]"]


def test_variables_of_the_module_start_anew_in_every_run() -> None:
    source = "__device__ int runs = 5; __global__ void k(int *y) { if (!threadIdx.x && !blockIdx.x) y[0] = runs++; }"
    job = ran(swept(source, [32], [64], [128], grid=[1]))
    assert [row["same_as_first"] for row in told(job)] == [None, True, True]
    assert array(job, "y")[0] == 5


def test_a_defect_is_told_once_and_other_shapes_go_on() -> None:
    source = "__global__ void far(int *y) { y[blockDim.x > 64 ? 1000 : 0] = 1; }"
    job = ran(swept(source, [128], [32], [64], [256]))
    assert states(job) == ["failed", "ran", "ran", "failed"]
    assert [event["code"] for event in job.kind("found")] == ["out-of-bounds"]
    assert [row["same_as_first"] for row in told(job)] == [None, None, True, None]
    (diagnostic,) = told(job)[3]["diagnostics"]
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
    assert "stopped when the time of the run was up" in told(job)[1]["diagnostics"][0]["message"]
    assert told(job)[2]["occupancy"]["warps_per_sm"] == 64


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
    (row,) = told(job)
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
    rows = told(job)
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
    assert "no time was left to make its code" in told(job)[1]["diagnostics"][0]["message"]


def test_code_of_a_sweep_is_kept_under_its_shapes() -> None:
    keys = {
        code_key("kernel", swept(ADD, *shapes)) for shapes in ([[32]], [[64]], [[32], [64]], [[64], [32]], [[64, 2]])
    }
    assert len(keys) == 4


def test_restrictions_grids_and_shared_memory_by_expression() -> None:
    source = "__global__ void k(int *y) { extern __shared__ int s[]; s[threadIdx.x] = 1; y[blockIdx.x] = gridDim.x; }"
    sweep = {"where": ["threads != 64"], "grid": ["1000 // threads"], "dynamic_shared_bytes": "threads * 4"}
    job = ran(swept(source, [32], [64], [128], sweep=sweep))
    rows = told(job)
    assert [row["state"] for row in rows] == ["ran", "excluded", "ran"]
    assert [(row["grid"][0], row["dynamic_shared_bytes"]) for row in rows] == [(31, 128), (15, 256), (7, 512)]
    assert rows[1]["diagnostics"][0]["message"] == "64 is left out by the restriction threads != 64"
    assert rows[2]["occupancy"]["blocks_per_sm"] > 0


def test_the_order_is_one_of_chance_and_the_first_cell_gives_the_results() -> None:
    blocks = [[32 * size] for size in range(1, 13)]
    orders = [[row["index"] for row in ran(swept(ADD, *blocks, sweep={"seed": seed})).kind("swept")] for seed in (1, 2)]
    assert [order[0] for order in orders] == [0, 0]
    assert orders[0] != orders[1] != sorted(orders[1])
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(12))


def test_checks_decide_what_is_right() -> None:
    source = "__global__ void k(int *y) { y[threadIdx.x % 32] = blockDim.x == 64 ? 5 : 6; }"
    check = {"buffer": "y", "expected": {"kind": "full", "value": 5}}
    rows = told(ran(swept(source, [32], [64], [96], grid=[1], checks=[check], buffers=[buffer("y", shape=32)])))
    assert [row["passed"] for row in rows] == [False, True, False]


def test_cells_are_estimated_and_the_best_is_named_with_its_reasons() -> None:
    job = ran(swept(ADD, [32], [256], [1024], [2048], estimate="auto"))
    rows = told(job)
    estimates = [row["estimate"] for row in rows]
    assert estimates[3] is None
    for estimate in estimates[:3]:
        assert estimate["gpu"] == "H200 SXM"
        assert 5e-6 < estimate["seconds"] < 50e-6
        assert estimate["limiter"] == estimate["bounds"][0]["resource"]
        assert estimate["bounds"][0]["seconds"] == max(bound["seconds"] for bound in estimate["bounds"])
        assert (estimate["judged_on"], estimate["median_error"] > 1) == ("H200 SXM", True)
    (end,) = job.kind("concluded")
    best = min(range(3), key=lambda index: estimates[index]["seconds"])
    assert end["best"] == best
    assert "not measured" in end["text"]
    np.testing.assert_array_equal(array(job, "y"), 2 * np.arange(1000))


def test_what_cannot_be_estimated_says_why() -> None:
    source = """#include <cooperative_groups.h>
__global__ void k(int *y) { y[0] = 1; cooperative_groups::this_grid().sync(); }"""
    step = {
        "kind": "launch",
        "config": {"grid": [2], "block": [32], "cooperative": True},
        "arguments": [{"kind": "buffer", "buffer": "y"}],
    }
    job = ran(request(source, steps=[step], buffers=[buffer("y")], estimate="auto"))
    (told_of,) = job.kind("estimated")
    assert (told_of["estimate"], "wait for each other" in told_of["why_not"]) == (None, True)


def test_a_run_is_estimated_once_its_results_are_told() -> None:
    step = {"kind": "launch", "config": {"grid": [4], "block": [256]}, "arguments": [{"kind": "buffer", "buffer": "y"}]}
    job = ran(request(ADD, steps=[step], buffers=[buffer("y", shape=1000, kind="arange")], estimate="H100 SXM"))
    kinds = [event["kind"] for event in job.events]
    assert kinds.index("estimated") > kinds.index("buffer-read")
    assert job.kind("estimated")[0]["estimate"]["gpu"] == "H100 SXM"
    np.testing.assert_array_equal(array(job, "y"), 2 * np.arange(1000))
