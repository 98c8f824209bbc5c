"""Whole runs through the two entry points of a child: compile, launch, events, buffers."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from engine import child_entry
from protocol.inspection import EntryOccupancy
from protocol.kernel import CompiledKernel
from protocol.run import CompileJob, CompileRequest, LaunchRequest, OccupancyQuestion, RunRequest
from tests.engine.child_jobs import Job, array, buffer, compiled, launched, one, ran, request

SAXPY = """__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
"""


def saxpy(n: int) -> RunRequest:
    return request(
        SAXPY,
        buffers=[
            buffer("x", "float32", 1000, "in", kind="uniform", seed=1),
            buffer("y", "float32", 1000, kind="arange"),
        ],
        steps=[
            {
                "kind": "launch",
                "config": {"grid": {"kind": "cover", "buffer": "y"}, "block": [256]},
                "arguments": [
                    {"kind": "buffer", "name": "y", "buffer": "y"},
                    {"kind": "scalar", "name": "n", "value": n},
                    {"kind": "scalar", "name": "a", "value": 2.5},
                    {"kind": "buffer", "name": "x", "buffer": "x"},
                ],
            }
        ],
        checks=[
            {"kind": "equals", "buffer": "y", "expected": {"kind": "arange"}, "absolute": 2.5},
            {"kind": "equals", "buffer": "y", "expected": {"kind": "zeros"}},
        ],
    )


def test_a_whole_run() -> None:
    code = compiled(saxpy(1000))
    assert set(code.artifacts) == {"kernel", "cubin", "object:_Z5saxpyifPKfPf:256x1x1"}
    assert [(event["stage"], event["clock"]) for event in code.kind("timed")] == [("compile", "wall"), ("jit", "wall")]
    job = launched(saxpy(1000), code)
    assert [event["kind"] for event in job.events] == [
        "timed", "launched", "timed", "buffer-read", "timed", "checked", "checked",
    ]  # fmt: skip
    (start,) = job.kind("launched")
    assert (start["grid"], start["block"], start["device"], start["entry"]) == (
        [4, 1, 1],
        [256, 1, 1],
        "emulator",
        "saxpy",
    )
    assert start["device_name"].startswith("PTX emulator (")
    assert start["occupancy"]["blocks_per_sm"] == 8
    x = np.random.default_rng(1).random(1000, dtype=np.float32)
    want = np.float32(2.5) * x.astype(np.float64) + np.arange(1000)
    np.testing.assert_array_equal(array(job, "y", "float32"), want.astype(np.float32))
    (read,) = job.kind("buffer-read")
    assert (read["minimum"], read["maximum"]) == (
        float(want.astype(np.float32).min()),
        float(want.astype(np.float32).max()),
    )
    first, second = job.kind("checked")
    assert first["passed"]
    assert (second["passed"], second["differing"], second["index"]) == (False, 1000, [0])


def test_a_kernel_from_the_cache_only_gets_its_code() -> None:
    kernel = CompiledKernel.model_validate_json(compiled(saxpy(1)).artifacts["kernel"])
    code = compiled(saxpy(1000), kernel)
    assert set(code.artifacts) == {"object:_Z5saxpyifPKfPf:256x1x1"}
    assert [event["stage"] for event in code.kind("timed")] == ["jit"]
    assert launched(saxpy(1000), code, kernel).kind("checked")[0]["passed"]


def test_what_the_launch_gets_wrong_is_said_once_and_nothing_runs() -> None:
    run = request(SAXPY, steps=[{"kind": "launch", "config": {"grid": [1], "block": [2000]}, "arguments": []}])
    code = compiled(run)
    assert len(code.messages()) == 3
    assert set(code.artifacts) == {"kernel", "cubin"}
    kernel = CompiledKernel.model_validate_json(code.artifacts["kernel"])
    job = launched(run, code, kernel)
    assert job.messages() == code.messages()
    assert {event["kind"] for event in job.events} == {"diagnosed"}


def test_notes_of_the_launch_come_from_the_launch_alone() -> None:
    run = one("__global__ void k(const int *p) {}", buffer("p"))
    code = compiled(run)
    assert code.kind("diagnosed") == []
    assert launched(run, code).messages("note") == ["p has role inout, but no kernel gets it as something to write"]


PING_PONG = """__global__ void step(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x] * 2 + 1; }
"""


def ping_pong(rounds: int, size: int = 32) -> RunRequest:
    return request(
        PING_PONG,
        buffers=[buffer("a", shape=size, kind="arange"), buffer("b", shape=size)],
        steps=[
            {"kind": "fill", "buffer": "a", "value": 5},
            {
                "kind": "repeat",
                "count": rounds,
                "steps": [
                    {
                        "kind": "launch",
                        "config": {"grid": [1], "block": [32]},
                        "arguments": [{"kind": "buffer", "buffer": "a"}, {"kind": "buffer", "buffer": "b"}],
                    },
                    {"kind": "swap", "first": "a", "second": "b"},
                ],
            },
        ],
    )


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_repeat_swap_and_fill(rounds: int) -> None:
    job = ran(ping_pong(rounds))
    values = [5]
    for _ in range(rounds):
        values.append(values[-1] * 2 + 1)
    assert set(array(job, "a")) == {values[-1]}
    assert set(array(job, "b")) == {values[-2]}
    assert [event["step"] for event in job.kind("launched")] == ["steps.1.steps.0"]
    timed = [event for event in job.kind("timed") if event["stage"] == "run"]
    assert [(event["step"], event["launches"]) for event in timed] == [("steps.1.steps.0", rounds)]


def test_a_swapped_buffer_is_blamed_by_its_present_name() -> None:
    (found,) = ran(ping_pong(2, size=16)).kind("found")
    assert "read a[16], one past the end of a (16 int32)" in found["message"]
    text = "__global__ void k(int *p) { p[threadIdx.x] = 1; }"
    launch = {
        "kind": "launch",
        "config": {"grid": [1], "block": [32]},
        "arguments": [{"kind": "buffer", "buffer": "b"}],
    }
    run = request(
        text,
        buffers=[buffer("a", shape=8), buffer("b", shape=8)],
        steps=[{"kind": "swap", "first": "a", "second": "b"}, launch],
    )
    (found,) = ran(run).kind("found")
    assert (found["buffer"], found["index"]) == ("b", 8)


ARGUMENTS = """#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
struct Body { float at[2]; int kind; };
__global__ void k(char c, half h, __nv_bfloat16 b, float3 v, Body s, double d, bool t, uint64_t u, double *out) {
  out[0] = c; out[1] = __half2float(h); out[2] = __bfloat162float(b); out[3] = v.x; out[4] = v.z;
  out[5] = s.at[1]; out[6] = s.kind; out[7] = d; out[8] = t; out[9] = (double)u;
}
"""


def test_every_kind_of_argument() -> None:
    arguments = [
        {"kind": "scalar", "value": -5},
        {"kind": "scalar", "value": 0.1},
        {"kind": "scalar", "value": 0.1},
        {"kind": "vector", "dtype": "float32", "values": [1.5, 2.5, 3.5]},
        {"kind": "struct", "hex": np.array([1.25, 2.25], np.float32).tobytes().hex() + "2a000000"},
        {"kind": "scalar", "value": 0.1},
        {"kind": "scalar", "value": True},
        {"kind": "scalar", "value": str((1 << 64) - 2048)},
        {"kind": "buffer", "buffer": "out"},
    ]
    step = {"kind": "launch", "config": {"grid": [1], "block": [1]}, "arguments": arguments}
    job = ran(request(ARGUMENTS, buffers=[buffer("out", "float64", 10)], steps=[step]))
    assert list(array(job, "out", "float64")) == [
        -5, float(np.float16(0.1)), 0.10009765625, 1.5, 3.5, 2.25, 42, 0.1, 1, float((1 << 64) - 2048),
    ]  # fmt: skip


def test_a_template_is_instantiated_by_its_launches() -> None:
    text = "template <class T, int N> __global__ void scale(T *x) { x[threadIdx.x] *= N; }"
    steps = [
        {
            "kind": "launch",
            "entry": entry,
            "config": {"grid": [1], "block": [32]},
            "arguments": [{"kind": "buffer", "buffer": name}],
        }
        for entry, name in (("scale<int, 3>", "i"), ("scale<float,2>", "f"))
    ]
    buffers = [buffer("i", kind="arange"), buffer("f", "float32", kind="arange")]
    job = ran(request(text, buffers=buffers, steps=steps))
    np.testing.assert_array_equal(array(job, "i"), np.arange(32) * 3)
    np.testing.assert_array_equal(array(job, "f", "float32"), np.arange(32) * 2)
    steps[1]["entry"] = "scale<quux,2>"
    code = compiled(request(text, buffers=buffers, steps=steps))
    (problem,) = [event["diagnostic"] for event in code.kind("diagnosed")]
    assert problem["field"] == "steps.1.entry"
    assert code.artifacts == {}


def test_dynamic_shared_memory_and_two_kernels() -> None:
    text = """extern __shared__ int tile[];
__global__ void reverse(int *p) {
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
__device__ int counter;
__global__ void count(int *p) { p[threadIdx.x] += atomicAdd(&counter, 1) >= 0; }
"""
    steps = [
        {
            "kind": "launch",
            "entry": entry,
            "config": {"grid": [1], "block": [100], "dynamic_shared_bytes": shared},
            "arguments": [{"kind": "buffer", "buffer": "p"}],
        }
        for entry, shared in (("reverse", 400), ("count", 0), ("count", 0))
    ]
    job = ran(request(text, buffers=[buffer("p", shape=100, kind="arange")], steps=steps))
    np.testing.assert_array_equal(array(job, "p"), np.arange(100)[::-1] + 2)


def npy(values: Any) -> memoryview:
    file = io.BytesIO()
    np.save(file, values)
    return memoryview(file.getvalue())


def test_uploads_and_values_that_cannot_be_made() -> None:
    text = "__global__ void k(int *p) { p[threadIdx.x] += 1; }"
    digest = "ab" * 32
    run = one(text, buffer("p", kind="upload", digest=digest))
    uploads = {f"upload:{digest}": npy(np.arange(32, dtype=np.int32))}
    np.testing.assert_array_equal(array(ran(run, uploads=uploads), "p"), np.arange(32) + 1)
    job = ran(run, uploads={f"upload:{digest}": npy(np.arange(32))})
    assert job.messages() == ["p: the uploaded array is int64; the buffer is int32"]
    assert job.kind("diagnosed")[0]["diagnostic"]["field"] == "buffers.0.init"
    assert job.kind("launched") == []
    job = ran(one(text, buffer("p", kind="formula", text="i + foo")))
    assert job.messages()[0].startswith("p: column 5: foo is not known")
    checks = [{"kind": "equals", "buffer": "p", "expected": {"kind": "full", "value": "1.5"}}]
    job = ran(one(text, buffer("p"), checks=checks))
    assert job.kind("diagnosed")[0]["diagnostic"]["field"] == "checks.0.expected"


def test_uninitialised_memory_holds_no_zeros() -> None:
    text = "__global__ void k(unsigned *p) { p[0] = p[1]; }"
    assert array(ran(one(text, buffer("p", "uint32", kind="uninitialised"))), "p", "uint32")[0] == 0xCDCDCDCD


def test_compile_errors_leave_no_kernel() -> None:
    code = compiled(one("__global__ void k(int *p) { q; }", buffer("p")))
    assert code.messages() == ['identifier "q" is undefined']
    assert code.artifacts == {}


def test_inspection_with_occupancy() -> None:
    text = "__global__ void __launch_bounds__(256) k(int *p) { p[0] = 1; }\n__global__ void free(int *p) { p[0] = 1; }"
    source = RunRequest.model_validate_json(json.dumps({"source": {"text": text}, "steps": [
        {"kind": "launch", "config": {"grid": [1], "block": [1]}}]})).source  # fmt: skip
    job = Job()
    question = OccupancyQuestion(grid=(1000,), block=(512,))
    inspection = CompileJob(request=CompileRequest(source=source), occupancy=question)
    child_entry.compile_job(inspection.model_dump_json().encode(), {}, job)
    found = TypeAdapter(tuple[EntryOccupancy, ...]).validate_json(job.artifacts["occupancy"])
    assert [(item.entry, item.occupancy and item.occupancy.blocks_per_sm) for item in found] == [
        ("_Z1kPi", None),
        ("_Z4freePi", 4),
    ]
    assert len(found[1].curve) == 32
    (problem,) = [event["diagnostic"] for event in job.kind("diagnosed")]
    assert (problem["field"], problem["code"]) == ("launch.block", "launch-bounds")


def test_an_unknown_device_is_no_other_device() -> None:
    run = saxpy(1)
    kernel = CompiledKernel.model_validate_json(compiled(run).artifacts["kernel"])
    request = LaunchRequest(run=run, kernel=kernel, device="tpu").model_dump_json().encode()
    job = Job()
    child_entry.launch_job(request, {}, job)
    assert job.messages() == ["this worker has no device tpu; it has emulator, gpu"]
    assert [event["kind"] for event in job.events] == ["diagnosed"]


def test_jobs_run_in_a_process_that_was_forked_after_the_prewarming() -> None:
    child_entry.prewarm_compile()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if ran(saxpy(1000)).kind("checked")[0]["passed"] else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
