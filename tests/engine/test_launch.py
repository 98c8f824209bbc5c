"""Whole runs through the two entry points of a child: compile, launch, events, buffers."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from emulator import Problem, SourceLocation
from engine import child_entry
from engine.devices.findings import refusal
from engine.languages.source_text import SourceText
from protocol.events import Event
from protocol.inspection import EntryOccupancy
from protocol.kernel import CompiledKernel
from protocol.run import CompileJob, CompileRequest, LaunchRequest, OccupancyQuestion, RunRequest, compile_request

TRUTH = Path(__file__).parent.parent / "data" / "truth"
EVENT: TypeAdapter[Any] = TypeAdapter(Event)


@dataclass
class Job:
    """What a child sent: checked frames, as the host would read them."""

    events: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    buffers: dict[str, bytes] = field(default_factory=dict)

    def __call__(self, header: Any, payload: bytes | memoryview) -> None:
        assert len(json.dumps(header, allow_nan=False)) < 1 << 20
        if "artifact" in header:
            name = header["artifact"] if "key" not in header else f"object:{header['key']}"
            self.artifacts[name] = bytes(payload)
            return
        event = header["event"]
        if event["kind"] == "buffer-read":
            self.buffers[event["name"]] = bytes(payload)
            assert "digest" not in event
            event = {**event, "digest": "0" * 64}
        EVENT.validate_json(json.dumps(event))
        self.events.append(event)

    def kind(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == name]

    def messages(self, severity: str = "error") -> list[str]:
        items = [event["diagnostic"] for event in self.kind("diagnosed")]
        return [item["message"] for item in items if item["severity"] == severity]


def compiled(run: RunRequest, kernel: CompiledKernel | None = None) -> Job:
    job = Job()
    request = CompileJob(request=compile_request(run), run=run, device="emulator", kernel=kernel)
    child_entry.compile_job(request.model_dump_json().encode(), {}, job)
    return job


def launched(
    run: RunRequest,
    code: Job,
    kernel: CompiledKernel | None = None,
    uploads: dict[str, memoryview] | None = None,
    **options: Any,
) -> Job:
    kernel = kernel or CompiledKernel.model_validate_json(code.artifacts["kernel"])
    blobs = {name: memoryview(data) for name, data in code.artifacts.items() if name.startswith("object:")}
    job = Job()
    request = LaunchRequest(run=run, kernel=kernel, device="emulator", **options).model_dump_json().encode()
    child_entry.launch_job(request, {**blobs, **(uploads or {})}, job)
    return job


def request(text: str, **fields: Any) -> RunRequest:
    return RunRequest.model_validate_json(json.dumps({"source": {"text": text}, **fields}))


def one(text: str, *buffers: dict[str, Any], grid: int = 1, block: int = 32, **fields: Any) -> RunRequest:
    """A run of one launch, whose arguments are all its buffers."""
    arguments = [{"kind": "buffer", "buffer": buffer["name"]} for buffer in buffers]
    step = {"kind": "launch", "config": {"grid": [grid], "block": [block]}, "arguments": arguments}
    return request(text, buffers=buffers, steps=[step], **fields)


def buffer(name: str, dtype: str = "int32", shape: int = 32, role: str = "inout", **init: Any) -> dict[str, Any]:
    init.setdefault("kind", "zeros")
    return {"name": name, "dtype": dtype, "shape": [shape], "role": role, "init": init}


def ran(run: RunRequest, **options: Any) -> Job:
    code = compiled(run)
    assert code.messages() == []
    return launched(run, code, **options)


def array(job: Job, name: str, dtype: str = "int32") -> Any:
    return np.frombuffer(job.buffers[name], dtype)


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
        "timed", "launched", "timed", "buffer-read", "checked", "checked",
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


STORE = "__global__ void k(float *x) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  {}\n}}\n"
FAULTS: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "x[i + 1000] = 1.0f;",
        "Thread (24, 0, 0) of block (0, 0, 0) wrote x[1024], one past the end of x (1,024 float32).",
        "out-of-bounds",
        {"access": "write", "buffer": "x", "index": 1024, "bytes": 4, "warp": 0, "lane": 24, "class": "memory"},
    ),
    (
        "if (i == 40) x[5] = x[i - 44];",
        "Thread (8, 0, 0) of block (1, 0, 0) read x[-4], 4 before the start of x (1,024 float32).",
        "out-of-bounds",
        {"access": "read", "buffer": "x", "index": -4},
    ),
    (
        "if (i == 3) ((float4 *)x)[256] = make_float4(1, 2, 3, 4);",
        "Thread (3, 0, 0) of block (0, 0, 0) wrote 16 bytes at x[1024], one past the end of x (1,024 float32).",
        "out-of-bounds",
        {"index": 1024, "bytes": 16},
    ),
    (
        "if (i == 2) atomicAdd(x + 1024, 1.0f);",
        "Thread (2, 0, 0) of block (0, 0, 0) updated x[1024], one past the end of x (1,024 float32).",
        "out-of-bounds",
        {"access": "atomic"},
    ),
    (
        "if (i == 1) x[0] = *(float *)((char *)x + 2);",
        "Thread (1, 0, 0) of block (0, 0, 0) read 4 bytes at byte 2 of x, which is no multiple of 4.",
        "misaligned",
        {"buffer": "x"},
    ),
    (
        "x[i] = *(float *)(size_t)(4 * threadIdx.y);",
        "Thread (0, 0, 0) of block (0, 0, 0) read 4 bytes through a null pointer (address 0x0).",
        "null",
        {"access": "read"},
    ),
    (
        "if (i == 7) __trap();",
        "Thread (7, 0, 0) of block (0, 0, 0) executed a trap.",
        "trap",
        {"class": "trap", "thread": [7, 0, 0]},
    ),
    (
        "__shared__ float s[8]; if (i < 9) s[i] = x[i]; __syncthreads(); x[i] = s[i & 7];",
        "Thread (8, 0, 0) of block (0, 0, 0) wrote 4 bytes at the end of shared memory (32 bytes).",
        "out-of-bounds",
        {"space": "shared"},
    ),
]


@pytest.mark.parametrize(("statement", "message", "code", "fields"), FAULTS)
def test_fault(statement: str, message: str, code: str, fields: dict[str, Any]) -> None:
    run = one(STORE.format(statement), buffer("x", "float32", 1024, kind="full", value=7), grid=2)
    job = ran(run)
    (found,) = job.kind("found")
    assert (found["message"], found["code"], found["fatal"]) == (message, code, True)
    assert found["span"]["line"] == 3
    assert {key: found[key] for key in fields} == fields
    assert found["step"] == "steps.0"
    assert len(job.buffers["x"]) == 4096
    assert job.kind("checked") == []


def test_assertion() -> None:
    text = "#include <cassert>\n__global__ void k(int *p) { assert(p[threadIdx.x] != 9); }"
    (found,) = ran(one(text, buffer("p", kind="arange"))).kind("found")
    assert found["class"] == "assert"
    assert "p[threadIdx.x] != 9" in found["message"]
    assert (found["thread"], found["span"]["line"]) == ([9, 0, 0], 2)


def test_a_variable_of_the_module_is_not_a_buffer_of_its_name() -> None:
    text = """__device__ int p[4];
namespace far { __device__ int q[4]; }
__global__ void k(int *x) { x[0] = p[x[1] + 4] + far::q[x[1]]; }
__global__ void j(int *x) { x[0] = p[x[1]] + far::q[x[1] + 9]; }
"""
    for entry, name, message in (
        ("k", "p", "read 4 bytes at the end of p (16 bytes)."),
        ("j", "far::q", "read 4 bytes, 20 bytes past the end of far::q (16 bytes)."),
    ):
        step = {
            "kind": "launch",
            "entry": entry,
            "config": {"grid": [1], "block": [1]},
            "arguments": [{"kind": "buffer", "buffer": "p"}],
        }
        (found,) = ran(request(text, buffers=[buffer("p")], steps=[step])).kind("found")
        assert (found["buffer"], found["index"]) == (name, None)
        assert found["message"].endswith(message)


def test_results_before_a_fault_are_kept_and_later_steps_are_not_run() -> None:
    text = "__global__ void k(int *p, int at) { p[at] += 1; }"

    def launch(at: int) -> dict[str, Any]:
        return {
            "kind": "launch",
            "config": {"grid": [1], "block": [1]},
            "arguments": [{"kind": "buffer", "buffer": "p"}, {"kind": "scalar", "value": at}],
        }

    job = ran(request(text, buffers=[buffer("p", shape=4)], steps=[launch(1), launch(4), launch(2)]))
    assert list(array(job, "p")) == [0, 1, 0, 0]
    assert [event["step"] for event in job.kind("launched")] == ["steps.0", "steps.1"]
    assert job.kind("found")[0]["step"] == "steps.1"


def test_an_inlined_function_is_blamed_at_its_own_line() -> None:
    text = "__device__ int get(int *p, int i) {\n  return p[i];\n}\n__global__ void k(int *p) { *p = get(p, 99); }"
    (found,) = ran(one(text, buffer("p"))).kind("found")
    assert found["span"]["line"] == 2


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


def test_printed_text_is_in_order_and_in_few_pieces() -> None:
    text = '#include <cstdio>\n__global__ void k() { for (int i = 0; i < 2000; ++i) printf("%d %s\\n", i, "é"); }'
    job = ran(one(text, block=1))
    pieces = [event["text"] for event in job.kind("printed")]
    assert "".join(pieces) == "".join(f"{i} é\n" for i in range(2000))
    assert len(pieces) <= 20
    assert max(map(len, pieces)) <= 8192


def test_text_that_is_no_text() -> None:
    text = '__global__ void k() { printf("\\xff\\x80 %c end\\n", 200); }'
    printed = "".join(event["text"] for event in ran(one(text, block=1)).kind("printed"))
    assert printed.endswith("end\n")
    printed.encode()


def test_the_deadline_ends_an_endless_kernel_and_its_buffers_are_read() -> None:
    text = "__global__ void k(volatile int *p) { p[1] = 7; while (p[0] == 0) { } }"
    begin = time.perf_counter()
    job = ran(one(text, buffer("p"), block=1), deadline_seconds=0.3)
    assert time.perf_counter() - begin < 5
    (found,) = job.kind("found")
    assert (found["class"], found["code"], found["fatal"]) == ("limit", "wall", True)
    assert found["message"] == (
        "The kernel was stopped: the run had reached its 0.3 s. The buffers are as it left them."
    )
    assert array(job, "p")[1] == 7


def test_the_deadline_covers_all_launches_together() -> None:
    launch = {"kind": "launch", "config": {"grid": [1], "block": [1]}, "arguments": [{"kind": "buffer", "buffer": "p"}]}
    text = "__global__ void k(int *p) { for (int i = 0; i < 20000; ++i) atomicAdd(p, 1); }"
    run = request(text, buffers=[buffer("p")], steps=[{"kind": "repeat", "count": 10000, "steps": [launch]}])
    (found,) = ran(run, deadline_seconds=0.3).kind("found")
    assert found["code"] == "wall"


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


def test_a_refusal_of_the_emulator_names_the_instruction_and_its_line() -> None:
    source = SourceText("one\n  two\n", "kernel.cu")
    header = SourceLocation("mma.h", 90, 3, inlined_at=SourceLocation("kernel.cu", 2, 5))
    item = refusal(Problem("is not supported", 17, header, "wmma.load.a", "Use mma.sync."), source, "k")
    assert item.origin == "emulator"
    assert item.span is not None
    assert (item.span.line, item.span.column, item.span.end_column) == (2, 3, 6)
    assert item.message == "The emulator cannot run this: wmma.load.a: is not supported"
    assert item.notes == ("in k, line 17 of its PTX",)


def test_refused_instructions_are_listed_once_and_counted() -> None:
    lines = 'asm volatile("barrier.cluster.arrive;");\n' * 30
    code = compiled(one(f"__global__ void k() {{\n{lines}}}"))
    items = [event["diagnostic"] for event in code.kind("diagnosed")]
    assert [item["span"]["line"] for item in items[:-1]] == list(range(2, 22))
    assert {item["code"] for item in items[:-1]} == {"barrier.cluster.arrive"}
    assert all(item["help"].startswith("supported: ") for item in items[:-1])
    assert (items[-1]["severity"], items[-1]["code"]) == ("note", "left-out")
    assert items[-1]["message"].startswith("10 more instructions")


def test_an_unknown_device_is_no_other_device() -> None:
    run = saxpy(1)
    kernel = CompiledKernel.model_validate_json(compiled(run).artifacts["kernel"])
    request = LaunchRequest(run=run, kernel=kernel, device="gpu:h200").model_dump_json().encode()
    job = Job()
    child_entry.launch_job(request, {}, job)
    assert job.messages() == ["this worker has no device gpu:h200; it has emulator"]
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


# Cases of the measured truth, chosen for their arguments; the emulator's own tests run them all.
MEASURED = [
    "copy_coalesced_b100", "copy_float4", "copy_bytes", "copy_double", "gather_indexed", "saxpy_grid_stride",
    "dynamic_reverse", "transpose_padded", "mandelbrot", "warp_misc", "block_sum_b1024", "histogram_shared",
    "atomics_all", "matmul_tiled16", "life_step", "integer_math", "float_ieee", "half2_axpy", "bf16_scale",
    "tile_reduce", "function_pointer", "inline_ptx", "spin_lock_sum", "softmax_rows",
]  # fmt: skip


def measured_request(case: dict[str, Any]) -> RunRequest:
    buffers, arguments = [], []
    for index, item in enumerate(case["arguments"]):
        if "scalar" in item:
            arguments.append({"kind": "scalar", "dtype": item["scalar"], "value": item["value"]})
            continue
        init = item["init"]
        made: dict[str, Any] = {"kind": "zeros"}
        if "random" in init:
            made = {"kind": "uniform", "seed": init["random"]}
        elif "normal" in init:
            made = {"kind": "normal", "seed": init["normal"]}
        elif "integers" in init:
            low, high = init["integers"]
            made = {"kind": "integers", "low": low, "high": high, "seed": init["seed"]}
        elif "full" in init:
            made = {"kind": "full", "value": init["full"]}
        name = f"b{index}"
        buffers.append(
            {"name": name, "dtype": item["buffer"], "shape": item["shape"], "init": made, "role": item["role"]}
        )
        arguments.append({"kind": "buffer", "buffer": name})
    config = {key: case[key] for key in ("grid", "block", "dynamic_shared_bytes")}
    step = {"kind": "launch", "entry": case["entry"], "config": config, "arguments": arguments}
    text = (TRUTH / "kernels" / case["file"]).read_text()
    return request(text, buffers=buffers, steps=[step])


@pytest.fixture(scope="module")
def kernels() -> dict[str, CompiledKernel]:
    return {}


@pytest.mark.parametrize("name", MEASURED)
def test_outputs_are_those_of_the_gpu(name: str, kernels: dict[str, CompiledKernel]) -> None:
    (case,) = [item for item in json.loads((TRUTH / "cases.json").read_text()) if item["name"] == name]
    outputs = json.loads((TRUTH / "outputs_sm_90.json").read_text())
    run = measured_request(case)
    code = compiled(run, kernels.get(case["file"]))
    if "kernel" in code.artifacts:
        kernels[case["file"]] = CompiledKernel.model_validate_json(code.artifacts["kernel"])
    assert code.messages() == []
    job = launched(run, code, kernels[case["file"]])
    assert job.messages() == []
    assert job.kind("found") == []
    assert job.buffers
    for buffer_name, data in job.buffers.items():
        key = f"{name}.{buffer_name[1:]}"
        if "tolerance" not in case:
            assert hashlib.sha256(data).hexdigest() == outputs[key]["sha256"]
            continue
        with np.load(TRUTH / "outputs_sm_90.npz") as stored:
            want = stored[key]
        np.testing.assert_allclose(
            np.frombuffer(data, want.dtype), want.reshape(-1), rtol=case["tolerance"], atol=case.get("absolute", 0)
        )
