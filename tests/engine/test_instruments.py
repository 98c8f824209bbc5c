"""Instruments of the emulator through the engine: what they find and count, and that runs without them stay plain."""

from __future__ import annotations

import pytest

from tests.engine.child_jobs import buffer, one, ran

RACE = """__global__ void k(int *a) {
    __shared__ int s[64];
    s[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = s[63 - threadIdx.x];
}
"""
UNREAD = "__global__ void k(int *a) {\n    a[threadIdx.x] = a[threadIdx.x] + 1;\n}\n"
EXITED = """__global__ void k(int *a) {
    if (threadIdx.x >= 48) return;
    __syncthreads();
    a[threadIdx.x] = 1;
}
"""
FINDINGS = [
    (RACE, "arange", "race", {3, 4}, "of shared memory: two threads use this place", False),
    (UNREAD, "uninitialised", "initialisation", {2}, "read a[0]: this place is read before anything", False),
    (EXITED, "arange", "synchronisation", {3}, "had ended before this barrier", True),
]


@pytest.mark.parametrize(
    ("text", "init", "kind", "lines", "words", "advice"), FINDINGS, ids=[row[2] for row in FINDINGS]
)
def test_checks_find_what_a_plain_run_does_not_look_for(
    text: str, init: str, kind: str, lines: set[int], words: str, advice: bool
) -> None:
    values = buffer("a", shape=64, kind=init)
    watched = ran(one(text, values, block=64, instruments=["checks"])).kind("found")
    found = [item for item in watched if item["class"] == kind]
    assert found[0]["span"]["line"] in lines
    assert words in found[0]["message"]
    assert {(item["fatal"], item["advice"]) for item in watched} == {(False, advice)}
    assert ran(one(text, values, block=64)).kind("found") == []


def test_counters_count_warps_and_sectors() -> None:
    text = "__global__ void k(const float *x, float *y) { int i = blockIdx.x * 64 + threadIdx.x; y[i] = x[2 * i]; }"
    buffers = buffer("x", "float32", 512, role="in"), buffer("y", "float32", 256, role="out")
    (counted,) = ran(one(text, *buffers, grid=4, block=64, instruments=["counters"])).kind("counted")
    counters = counted["counters"]
    # 8 warps read 32 floats at stride 2, which are 8 sectors of 32 bytes, and write 32 side by side, which are 4.
    assert (counters["global_read_requests"], counters["global_read_sectors"]) == (8, 64)
    assert (counters["global_write_requests"], counters["global_write_sectors"]) == (8, 32)
    assert ran(one(text, *buffers, grid=4, block=64)).kind("counted") == []
