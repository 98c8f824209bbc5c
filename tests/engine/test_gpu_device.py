"""Runs on a real GPU, each through the whole line: compiled, sandboxed, launched, timed. Needs an NVIDIA GPU."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.truth import judge, load
from sandbox.jobs import run_job
from sandbox.launcher import JobLimits
from sandbox.pipeline import PipelineLimits
from store.examples import read_example
from tests.engine.gpu_bench import LIMITS, Bench, bench, buffer, launch, request

__all__ = ["bench"]

pytestmark = pytest.mark.gpu

TRUTH = Path(__file__).parent.parent / "data" / "truth"


_FOLDER = Path(__file__).parent.parent.parent / "examples"
EXAMPLES = [*_FOLDER.glob("*-numba.py"), *_FOLDER.glob("*.ptx")]
CASES = [case for case in load(TRUTH) if not case.defect]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_outputs_are_those_of_the_truth(bench: Bench, case: Any) -> None:
    if bench.gpu.architecture != case.request.architecture:
        pytest.skip(f"not run: the truth is of {case.request.architecture}, and this GPU is {bench.gpu.architecture}")
    result, _ = bench.run(case.request)
    blobs = {item.name: bench.stores.blobs.get(item.digest) or b"" for item in result.buffers}
    verdict = judge(case, result, blobs)
    assert verdict.outcome in ("exact", "tolerance"), verdict
    (launched,) = result.launches
    assert launched.device == "gpu"
    assert launched.device_name == bench.gpu.name
    assert launched.occupancy is not None
    assert launched.occupancy.driver_blocks_per_sm == launched.occupancy.blocks_per_sm
    assert launched.occupancy.sm_count == bench.gpu.sm_count


@pytest.mark.parametrize("path", sorted(EXAMPLES), ids=lambda path: path.stem)
def test_examples_in_ptx_and_python_do_what_they_do_on_the_emulator(bench: Bench, path: Path) -> None:
    example = read_example(path)
    result, end = bench.run(example.payload.request.model_copy(update={"architecture": bench.gpu.architecture}))
    assert end.verdict == "ok", end
    wanted: dict[str, Any] = {"np": np}
    exec(compile(example.reference, path.name, "exec"), wanted)
    assert result.buffers
    for item in result.buffers:
        want = np.asarray(wanted[item.name])
        np.testing.assert_allclose(bench.array(result, item.name), want, rtol=wanted.get("tolerance", 0))


SWAP = {"kind": "swap", "first": "a", "second": "b"}
ADD = "__global__ void add(int *a) { a[threadIdx.x] += threadIdx.x + 1; }"


def test_a_launch_alone_is_repeated_for_its_time_and_its_results_are_the_first(bench: Bench) -> None:
    result, end = bench.run(request(bench, ADD, [launch("a")], buffer("a", kind="full", value=100)))
    assert end.verdict == "ok", end
    assert bench.array(result, "a").tolist() == [101 + i for i in range(32)]
    (timed,) = [item for item in result.timings if item.stage == "run"]
    assert timed.clock == "gpu-events"
    assert timed.samples >= 5
    assert timed.cold_seconds and timed.first_seconds
    assert 0 < timed.seconds < 1e-3


def test_steps_are_timed_by_their_one_pass(bench: Bench) -> None:
    text = "__global__ void step(const int *a, int *b) { b[threadIdx.x] = a[threadIdx.x] + 1; }"
    round_ = {"kind": "repeat", "count": 10, "steps": [launch("a", "b"), {"kind": "swap", "first": "a", "second": "b"}]}
    result, end = bench.run(request(bench, text, [round_], buffer("a"), buffer("b")))
    assert end.verdict == "ok", end
    assert bench.array(result, "a").tolist() == [10] * 32
    (timed,) = [item for item in result.timings if item.stage == "run"]
    assert (timed.launches, timed.samples, timed.clock) == (10, 1, "gpu-events")
    assert timed.first_seconds is None


def test_variables_of_the_module_are_restored_for_further_launches(bench: Bench) -> None:
    text = """__device__ int n = 5; static __device__ volatile int ended;
__global__ void k(int *a) {
  if (threadIdx.x == 0) { while (ended) ; a[0] = atomicAdd(&n, 1); ended = 1; }
}"""
    result, end = bench.run(request(bench, text, [launch("a")], buffer("a")))
    assert end.verdict == "ok", end
    assert bench.array(result, "a")[0] == 5
    (timed,) = [item for item in result.timings if item.stage == "run"]
    assert timed.samples >= 5, timed.note


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('__global__ void k(int *a) { if (!threadIdx.x) printf("x"); a[threadIdx.x] = 1; }', "prints"),
        ("__global__ void k(int *a) { long long t = clock64(); while (clock64() - t < 300000000LL) ; }", "ms"),
    ],
)
def test_why_a_launch_is_timed_once(bench: Bench, text: str, words: str) -> None:
    result, end = bench.run(request(bench, text, [launch("a")], buffer("a")))
    assert end.verdict == "ok", end
    (timed,) = [item for item in result.timings if item.stage == "run"]
    assert timed.samples == 1
    assert words in timed.note


def test_printf(bench: Bench) -> None:
    text = '__global__ void k() { if (threadIdx.x < 3) printf("%d é %s %.2f\\n", threadIdx.x, "s", 0.5); }'
    result, end = bench.run(request(bench, text, [launch(), launch()]))
    assert end.verdict == "ok", end
    assert result.printed == "".join(f"{i} é s 0.50\n" for i in range(3)) * 2


def test_more_printf_than_the_gpu_keeps_is_told(bench: Bench) -> None:
    text = 'extern "C" __global__ void k() { for (int i = 0; i < 64; ++i) printf("0123456789 %d\\n", i); }'
    result, end = bench.run(request(bench, text, [launch(grid=16, block=1024)]))
    assert end.verdict == "limit:log" or any(item.code == "printf-buffer" for item in result.diagnostics)
    assert "0123456789" in result.printed


FAULTS = {
    "illegal-address": ("memory", "a[1LL << 40] = 1;"),
    "misaligned": ("memory", "*(double *)((char *)a + 4) = 1;"),
    "launch-failure": ("trap", 'asm volatile("trap;");'),
    "assert": ("assert", "assert(a[0] == 7);"),
}


@pytest.mark.parametrize("code", FAULTS)
def test_faults_in_plain_words_and_the_next_job_runs(bench: Bench, code: str) -> None:
    kind, statement = FAULTS[code]
    text = f"#include <assert.h>\n__global__ void k(int *a) {{\n  {statement}\n}}"
    result, end = bench.run(request(bench, text, [launch("a")], buffer("a")))
    (found,) = result.findings
    assert (found.class_, found.code) == (kind, code), found
    assert end.verdict == "error"
    assert end.message == found.message
    assert not result.buffers
    if code == "assert":
        assert found.span is not None and found.span.line == 3
        assert found.block == (0, 0, 0)
        assert found.thread is not None
    else:
        assert "emulator" in found.message
    after, end = bench.run(request(bench, ADD, [launch("a")], buffer("a")))
    assert end.verdict == "ok", end
    assert bench.array(after, "a").tolist() == [1 + i for i in range(32)]


SPIN = "__global__ void spin(volatile int *a) { while (!a[0]) ; }"


def test_a_kernel_without_an_end_is_stopped_by_its_deadline(bench: Bench) -> None:
    limits = PipelineLimits(compile=LIMITS.compile, launch=replace(LIMITS.launch, wall=2.0))
    result, end = bench.run(request(bench, SPIN, [launch("a")], buffer("a")), limits)
    assert end.verdict == "limit:wall"
    (found,) = result.findings
    assert (found.class_, found.code) == ("limit", "wall")
    assert "the time that this service gives a run" in end.message
    assert 1.8 <= end.seconds < 4
    _, end = bench.run(request(bench, ADD, [launch("a")], buffer("a")))
    assert end.verdict == "ok", end


def test_cancel_while_a_kernel_spins(bench: Bench) -> None:
    cancelled = threading.Event()
    threading.Timer(1.5, cancelled.set).start()
    begin = time.monotonic()
    _, end = bench.run(request(bench, SPIN, [launch("a")], buffer("a")), cancelled=cancelled)
    assert end.verdict == "cancelled"
    assert time.monotonic() - begin < 6
    _, end = bench.run(request(bench, ADD, [launch("a")], buffer("a")))
    assert end.verdict == "ok", end


def test_another_architecture_is_refused_with_both_names(bench: Bench) -> None:
    other = "sm_80" if bench.gpu.architecture != "sm_80" else "sm_90"
    result, end = bench.run(request(bench, ADD, [launch("a")], buffer("a"), architecture=other))
    assert end.verdict == "error"
    (problem,) = [item for item in result.diagnostics if item.severity == "error"]
    assert problem.field == "architecture"
    for name in (other, bench.gpu.architecture, bench.gpu.name):
        assert name in problem.message


def test_much_dynamic_shared_memory(bench: Bench) -> None:
    text = """extern __shared__ int s[];
__global__ void k(int *a) {
  s[20000 + threadIdx.x] = threadIdx.x; __syncthreads(); a[threadIdx.x] = s[20031 - threadIdx.x];
}"""
    result, end = bench.run(request(bench, text, [launch("a", shared=90_000)], buffer("a")))
    assert end.verdict == "ok", end
    assert bench.array(result, "a").tolist() == list(range(31, -1, -1))


def test_a_job_finds_nothing_of_the_one_before(bench: Bench) -> None:
    """Memory that a kernel asks for without filling it holds no other job's data."""
    size = 1 << 26
    fill = "__global__ void k(unsigned *a) { a[blockIdx.x * 1024u + threadIdx.x] = 0xC0FFEE42u; }"
    written = buffer("a", "uint32", size, "out", kind="uninitialised")
    _, end = bench.run(request(bench, fill, [launch("a", grid=size >> 10, block=1024)], written))
    assert end.verdict == "ok", end
    count = """__global__ void k(const unsigned *a, unsigned *n) {
  if (a[blockIdx.x * 1024u + threadIdx.x] == 0xC0FFEE42u) atomicAdd(n, 1u); }"""
    buffers = (buffer("a", "uint32", size, "in", kind="uninitialised"), buffer("n", "uint32", 1))
    result, end = bench.run(request(bench, count, [launch("a", "n", grid=size >> 10, block=1024)], *buffers))
    assert end.verdict == "ok", end
    assert bench.array(result, "n").tolist() == [0]


def test_what_the_sandbox_gives_a_gpu_job(bench: Bench) -> None:
    assert bench.box.report.mode == "strong"
    outcome = run_job(bench.box, "launch-gpu", b"not JSON", {}, JobLimits(), threading.Event(), lambda *_: None)
    assert outcome.verdict == "error"
    assert b"ValidationError" in outcome.stderr


def test_block_sizes_are_timed_by_events_and_checked_by_a_reference(bench: Bench) -> None:
    text = "__global__ void add(int *a) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 1000) a[i] += i; }"
    run = request(
        bench,
        text,
        [launch("a", grid=8, block=128)],
        buffer("a", shape=1000, kind="full", value=100),
        sweep={"blocks": [[32], [64], [1000], [2048]]},
        checks=[{"kind": "numpy", "text": "a = a + np.arange(1000)", "buffers": ["a"]}],
    )
    result, end = bench.run(run)
    assert end.verdict == "ok", end
    assert bench.array(result, "a").tolist() == [100 + i for i in range(1000)]
    assert [shape.state for shape in result.sweep] == ["ran", "ran", "ran", "refused"]
    assert [shape.same_as_first for shape in result.sweep[:3]] == [None, True, True]
    assert all(shape.clock == "gpu-events" and shape.samples >= 5 for shape in result.sweep[:3])
    assert all(shape.seconds and shape.seconds < 1e-3 for shape in result.sweep[:3])
    assert {shape.device_name for shape in result.sweep[:3]} == {bench.gpu.name}
    assert [(check.passed, check.compared) for check in result.checks] == [(True, True)]


def test_a_defect_in_a_sweep_leaves_no_context_for_later_shapes(bench: Bench) -> None:
    text = "__global__ void far(int *a) { if (blockDim.x == 64) a[1ull << 40] = 1; a[0] = 1; }"
    run = request(bench, text, [launch("a")], buffer("a"), sweep={"blocks": [[32], [64], [96], [2048]]})
    result, end = bench.run(run)
    assert end.verdict == "error"
    assert [shape.state for shape in result.sweep] == ["ran", "failed", "not-run", "refused"]
    assert "a defect at 64 took" in result.sweep[2].diagnostics[0].message


def test_variables_start_anew_for_every_shape(bench: Bench) -> None:
    text = "__device__ int runs = 5; __global__ void k(int *a) { if (!threadIdx.x && !blockIdx.x) a[0] = runs++; }"
    run = request(bench, text, [launch("a")], buffer("a"), sweep={"blocks": [[32], [64], [96]]})
    result, end = bench.run(run)
    assert end.verdict == "ok", end
    assert bench.array(result, "a")[0] == 5
    assert [shape.same_as_first for shape in result.sweep] == [None, True, True]


def test_a_film_holds_every_round_and_costs_no_kernel_time(bench: Bench) -> None:
    size = 1 << 18
    text = "__global__ void step(const int *a, int *b) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[i] + 1; }"
    round_ = {"kind": "repeat", "count": 40, "steps": [launch("a", "b", grid=size >> 8, block=256), SWAP]}
    buffers = (buffer("a", shape=size), buffer("b", shape=size))
    run = request(bench, text, [round_], *buffers, film={"buffer": "a", "every": 4})
    result, end = bench.run(run)
    assert end.verdict == "ok", end
    assert [frame.round for frame in result.film] == list(range(0, 41, 4))
    for frame in result.film:
        values = np.frombuffer(bench.stores.blobs.get(frame.digest) or b"", np.int32)
        assert values.shape == (size,) and (values == frame.round).all()
        assert (frame.minimum, frame.maximum) == (frame.round, frame.round)
    times = {item.stage: item for item in result.timings}
    assert (times["run"].launches, times["run"].clock) == (40, "gpu-events")
    # Forty launches over 1 MiB take some 0.2 ms by the GPU's events; eleven copies to the host alone take more.
    assert times["run"].seconds < times["film"].seconds


def test_a_film_of_a_defect_keeps_the_frames_before_it(bench: Bench) -> None:
    text = "__global__ void far(int *a) { if (!threadIdx.x) { a[0] += 1; if (a[0] > 2) a[1ull << 40] = 1; } }"
    run = request(
        bench, text, [{"kind": "repeat", "count": 9, "steps": [launch("a")]}], buffer("a"), film={"buffer": "a"}
    )
    result, end = bench.run(run)
    assert end.verdict == "error"
    assert [frame.round for frame in result.film] == [0, 1, 2]
    assert result.buffers == ()


TOGETHER = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void whole(int *a) {
  a[blockIdx.x] = blockIdx.x;
  cg::this_grid().sync();
  if (threadIdx.x == 0) a[gridDim.x + blockIdx.x] = a[(blockIdx.x + 1) % gridDim.x] + 10;
}
__global__ void clustered(int *a) {
  __shared__ int mine;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) mine = 100 * blockIdx.x;
  cluster.sync();
  int other = (cluster.block_rank() + 1) % cluster.num_blocks();
  if (threadIdx.x == 0) a[blockIdx.x] = *cluster.map_shared_rank(&mine, other) + cluster.block_rank();
  cluster.sync();
}
__global__ void __cluster_dims__(2) fixed(int *a) { a[blockIdx.x] = cg::this_cluster().block_rank(); }"""


def test_blocks_of_a_cooperative_launch_and_of_clusters_are_together(bench: Bench) -> None:
    steps = [
        launch("a", grid=8, entry="whole", cooperative=True),
        launch("b", grid=8, entry="clustered", cluster=[4]),
        launch("c", grid=32, entry="clustered", cluster=[16]),
        launch("d", grid=8, entry="fixed"),
    ]
    buffers = [buffer("a", shape=16), buffer("b", shape=8), buffer("c", shape=32), buffer("d", shape=8)]
    result, end = bench.run(request(bench, TOGETHER, steps, *buffers))
    assert end.verdict == "ok", end
    assert bench.array(result, "a").tolist() == [*range(8), *((k + 1) % 8 + 10 for k in range(8))]
    for name, size, count in (("b", 4, 8), ("c", 16, 32)):
        ranks = [(block // size * size, block % size) for block in range(count)]
        assert bench.array(result, name).tolist() == [100 * (first + (r + 1) % size) + r for first, r in ranks]
    assert bench.array(result, "d").tolist() == [0, 1] * 4


def test_grid_sync_without_a_cooperative_launch_is_explained(bench: Bench) -> None:
    result, end = bench.run(request(bench, TOGETHER, [launch("a", grid=8, entry="whole")], buffer("a", shape=16)))
    assert end.verdict == "error", end
    (found,) = result.findings
    assert "make the launch cooperative" in found.message
