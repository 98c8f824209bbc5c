"""Defects of kernels: what is said, where, and what is kept; printed text and the deadline."""

from __future__ import annotations

import time
from typing import Any

import pytest

from emulator import Problem, SourceLocation
from engine.devices.findings import COMPILER_TRAP, refusal
from engine.languages.source_text import SourceText
from tests.engine.child_jobs import array, buffer, compiled, one, ran, request

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
        "float *none = nullptr; if (i == 7) none[0] = 1;",
        f"Thread (7, 0, 0) of block (0, 0, 0) {COMPILER_TRAP}",
        "trap",
        {"class": "trap", "thread": [7, 0, 0]},
    ),
    (
        "if (i == 2) { char *lent = (char *)malloc(16); lent[0] = i; free(lent); x[0] = lent[8]; }",
        "Thread (2, 0, 0) of block (0, 0, 0) read 1 byte at byte 8 of malloc #1 (16 bytes) after it was freed.",
        "out-of-bounds",
        {"access": "read"},
    ),
    (
        "__shared__ float s[8]; if (i < 9) s[i] = x[i]; __syncthreads(); x[i] = s[i & 7];",
        "Thread (8, 0, 0) of block (0, 0, 0) wrote 4 bytes at the end of shared memory (32 bytes).",
        "out-of-bounds",
        {"space": "shared"},
    ),
    (
        "extern __shared__ float d[]; if (i == 0) d[0] = 1;",
        "Thread (0, 0, 0) of block (0, 0, 0) wrote 4 bytes at the end of shared memory (0 bytes); "
        "the launch asks for no dynamic shared memory.",
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
        "The kernel was stopped after 0.3 s, the time that this service gives a run. The buffers are as it left them."
    )
    assert array(job, "p")[1] == 7


def test_the_deadline_covers_all_launches_together() -> None:
    launch = {"kind": "launch", "config": {"grid": [1], "block": [1]}, "arguments": [{"kind": "buffer", "buffer": "p"}]}
    text = "__global__ void k(int *p) { for (int i = 0; i < 20000; ++i) atomicAdd(p, 1); }"
    run = request(text, buffers=[buffer("p")], steps=[{"kind": "repeat", "count": 10000, "steps": [launch]}])
    (found,) = ran(run, deadline_seconds=0.3).kind("found")
    assert found["code"] == "wall"


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
    lines = 'asm volatile("fence.proxy.tensormap::generic.release.gpu;");\n' * 30
    code = compiled(one(f"__global__ void k() {{\n{lines}}}"))
    items = [event["diagnostic"] for event in code.kind("diagnosed")]
    assert [item["span"]["line"] for item in items[:-1]] == list(range(2, 22))
    assert {item["code"] for item in items[:-1]} == {"fence.proxy.tensormap::generic.release.gpu"}
    (advice,) = {item["help"] for item in items[:-1]}
    assert advice
    assert (items[-1]["severity"], items[-1]["code"]) == ("note", "left-out")
    assert items[-1]["message"].startswith("10 more instructions")
