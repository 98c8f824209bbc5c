"""A warp's accesses and the lanes of blocks: what the kernel's own arithmetic says they are."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from protocol.reading import Unreadable, read
from protocol.run import RunRequest
from tests.engine.child_jobs import Job, array, buffer, one, ran, request

SOURCE = """__global__ void k(float *x, int *y)
{
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x * 2 % 64] = x[i * 3 % 512];
    __syncthreads();
    if (threadIdx.x % 4 == 0)
        for (int n = 0; n < 5; ++n)
            y[i] += s[threadIdx.x];
}
"""


def traced(**wish: Any) -> Job:
    x = buffer("x", "float32", 512, "in", kind="arange")
    return ran(one(SOURCE, x, buffer("y", shape=512), grid=8, block=64, trace=wish))


def test_a_warp_is_told_lane_by_lane_and_the_results_stay() -> None:
    job = traced(block=[2, 0, 0], warp=1)
    (told,) = job.kind("traced")
    assert (told["block"], told["warp"], told["why_not"]) == ([2, 0, 0], 1, "")
    lanes = np.arange(32) + 32
    index = 2 * 64 + lanes
    accesses = {(item["space"], item["access"]): item for item in told["accesses"]}
    load = accesses["global", "read"]
    found = [item for item in told["accesses"] if item["span"]["line"] == 5 and item["space"] == "global"]
    assert [item["offsets"] for item in found] == [list(4 * (index * 3 % 512))]
    assert (found[0]["buffer"], found[0]["bytes"], found[0]["times"], load["form"][:9]) == ("x", 4, 1, "ld.global")
    (store,) = [item for item in told["accesses"] if (item["space"], item["access"]) == ("shared", "write")]
    assert [offset % 256 for offset in store["offsets"]] == list(lanes * 2 % 64 * 4)
    writes = [item for item in told["accesses"] if item["buffer"] == "y" and item["access"] == "write"]
    assert [at is not None for at in writes[0]["offsets"]] == [lane % 4 == 0 for lane in range(32)]
    assert sum(item["times"] for item in writes) in (1, 5)
    x = buffer("x", "float32", 512, "in", kind="arange")
    plain = ran(one(SOURCE, x, buffer("y", shape=512), grid=8, block=64))
    np.testing.assert_array_equal(array(job, "y"), array(plain, "y"))
    kinds = [event["kind"] for event in job.events]
    assert kinds.index("traced") > kinds.index("buffer-read")


def test_blocks_tell_how_many_lanes_they_used() -> None:
    source = "__global__ void k(int *y) { if (blockIdx.x % 2) { for (int n = 0; n < 99; ++n) y[threadIdx.x] = n; } }"
    job = ran(one(source, buffer("y", shape=64), grid=6, block=33, trace={}))
    blocks = {item["index"]: item for item in job.kind("traced")[0]["blocks"]}
    assert sorted(blocks) == list(range(6))
    assert {blocks[index]["instructions"] for index in (0, 2, 4)} == {blocks[0]["instructions"]}
    assert blocks[1]["instructions"] > blocks[0]["instructions"]
    share = blocks[1]["lanes"] / (32 * blocks[1]["instructions"])
    assert share == pytest.approx(33 / 64, abs=0.02)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"block": [8, 0, 0]}, "there is no such warp: the grid is 8 × 1 × 1 blocks of 2 warps"),
        ({"warp": 2}, "2 warps"),
    ],
)
def test_a_warp_that_is_not_there(wish: dict[str, Any], words: str) -> None:
    (told,) = traced(**wish).kind("traced")
    assert (told["accesses"], words in told["why_not"]) == ([], True)


def test_a_defect_that_the_block_meets_then_is_told() -> None:
    source = "__global__ void k(int *y) { if (y[0]) __trap(); if (threadIdx.x == 40) y[0] = 1; }"
    step = {"kind": "launch", "config": {"grid": [1], "block": [64]}, "arguments": [{"kind": "buffer", "buffer": "y"}]}
    last = {"kind": "fill", "buffer": "y", "value": 7}
    other = {**step, "config": {"grid": [1], "block": [32]}}
    run = request(source, buffers=[buffer("y")], steps=[other, step, last], trace={"step": "steps.0"})
    (told,) = ran(run).kind("traced")
    assert told["why_not"] == "the block met a defect, or took too long"


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"trace": {"step": "steps.3"}}, "trace.step", "steps.3 is no launch (there are: steps.0)"),
        ({"trace": {"warp": 32}}, "trace.warp", "less than or equal to 31"),
        ({"trace": {}, "device": "gpu"}, "trace", "a GPU cannot be looked into"),
    ],
)
def test_faults_name_their_field(fields: dict[str, Any], field: str, words: str) -> None:
    body = one(SOURCE, buffer("x"), buffer("y")).model_dump(mode="json") | fields
    with pytest.raises(Unreadable) as caught:
        read(RunRequest, json.dumps(body))
    assert [(fault.field, words in fault.message) for fault in caught.value.faults] == [(field, True)]
