"""What a GPU's errors and times become, and how one that is not there is refused; needs no GPU."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from engine import child_entry
from engine.devices import gpu, gpu_errors, gpu_timing
from engine.devices.gpu_streams import DriverStreams
from engine.languages.cubin import variables
from engine.languages.source_text import SourceText
from engine.steps import out_of_time
from protocol.kernel import CompiledKernel
from protocol.run import CompileJob, LaunchRequest, RunRequest, compile_request
from protocol.timing import differ
from tests.engine.test_launch import Job, compiled, one

SOURCE = SourceText("int a;\nint b;\n  assert(x);\n", "kernel.cu")
SAID = (
    "kernel.cu:3: void k(int *): block: [2,1,0], thread: [33,0,4] Assertion `x == 'a' && y` failed.\n"
    "kernel.cu:3: void k(int *): block: [2,1,0], thread: [34,0,4] Assertion `x == 'a' && y` failed.\n"
)


@pytest.mark.parametrize("status", gpu_errors.FAULTS)
def test_a_fault_names_what_happened_and_where_more_is_told(status: int) -> None:
    found = gpu_errors.finding(status, "steps.0", "", SOURCE)
    assert found.fatal
    assert found.step == "steps.0"
    assert found.span is None
    assert "does not say which thread" in found.message
    assert "emulator" in found.message
    assert "no results" in found.message
    assert not any(word in found.message for word in ("cuda", "CUDA", str(status)))


def test_an_unknown_error_keeps_its_number() -> None:
    found = gpu_errors.finding(4711, "steps.0", "", SOURCE)
    assert (found.class_, found.code) == ("trap", "cuda-4711")
    assert "4711" in found.message
    assert "4711" in gpu_errors.refusal(4711, "steps.0.config").message
    assert "4711" in gpu_errors.attaching(4711)


def test_a_failed_assertion_has_its_line_and_its_thread() -> None:
    found = gpu_errors.finding(gpu_errors.ASSERTION, "steps.0", SAID, SOURCE)
    assert (found.class_, found.code) == ("assert", "assert")
    assert found.span is not None
    assert (found.span.line, found.span.column) == (3, 3)
    assert (found.block, found.thread) == ((2, 1, 0), (33, 0, 4))
    assert found.message.startswith("Thread (33, 0, 4) of block (2, 1, 0): assertion `x == 'a' && y` failed.")
    elsewhere = gpu_errors.finding(gpu_errors.ASSERTION, "steps.0", SAID.replace("kernel.cu", "math.h"), SOURCE)
    assert elsewhere.span is None
    assert gpu_errors.finding(gpu_errors.ASSERTION, "steps.0", "", SOURCE).message.startswith("An assertion")


def test_a_deadline_is_a_limit() -> None:
    found = out_of_time("steps.1", 9.0, lost=True)
    assert (found.class_, found.code, found.step) == ("limit", "wall", "steps.1")
    assert found.message.startswith("The kernel was stopped after 9 s")
    assert "no results" in found.message
    assert "as it left them" in out_of_time("steps.1", 9.0).message


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("__constant__ int c[4]; __shared__ int s;", []),
        ("__device__ int n; __device__ double d[3] = {1};", [("d", 24), ("n", 4)]),
        ("static __device__ char t = 1;", [("t", 1)]),
    ],
)
def test_variables_of_a_module(text: str, found: list[tuple[str, int]]) -> None:
    uses = "".join(f" a[0] += (int)*(volatile char *)&{name};" for name, _ in found)
    source = f'{text} __global__ void k(int *a) {{ printf("%d", a[0]);{uses} }}'
    code = compiled(one(source, {"name": "a", "dtype": "int32", "shape": [1]}))
    assert sorted(variables(code.artifacts["cubin"])) == found


@pytest.mark.parametrize("status", gpu_errors.REFUSALS)
def test_a_refused_call_belongs_to_a_field(status: int) -> None:
    problem = gpu_errors.refusal(status, "steps.0.config", "x takes 8 bytes; 4 are free.")
    assert (problem.severity, problem.field) == ("error", "steps.0.config")
    assert problem.message.endswith("x takes 8 bytes; 4 are free.")
    assert str(status) not in problem.message.replace("8 bytes; 4", "")


def first(**changes: Any) -> gpu_timing.FirstRun:
    values: dict[str, Any] = {
        "seconds": 1e-5, "printed": False, "keeps_state": False, "has_copy": True, "seconds_left": 9.0,
    }  # fmt: skip
    return gpu_timing.FirstRun(**{**values, **changes})


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (first(), ""),
        (first(printed=True), gpu_timing.PRINTS),
        (first(keeps_state=True), gpu_timing.KEEPS_STATE),
        (first(seconds=0.051), gpu_timing.TAKES_LONG),
        (first(has_copy=False), gpu_timing.NO_ROOM),
        (first(seconds_left=0.4), gpu_timing.NO_TIME),
    ],
)
def test_which_launches_are_repeated(known: gpu_timing.FirstRun, reason: str) -> None:
    assert gpu_timing.reason_against(known) == reason


@pytest.mark.parametrize(("left", "seconds"), [(100.0, 0.3), (9.0, 0.27), (1.0, 0.03), (-1.0, 0.0)])
def test_a_series_takes_a_share_of_what_is_left(left: float, seconds: float) -> None:
    assert gpu_timing.budget(left) == pytest.approx(seconds)


# Of tables of the sign test's confidence interval for a median, 95 %, two-sided.
@pytest.mark.parametrize(
    ("count", "rank"), [(1, 0), (5, 0), (6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18), (100, 40)]
)
def test_the_values_that_span_a_median(count: int, rank: int) -> None:
    assert gpu_timing.rank(count) == rank
    if rank:
        assert gpu_timing.interval([float(value) for value in range(count, 0, -1)]) == (rank, count + 1 - rank)
    else:
        assert gpu_timing.interval([1.0] * count) is None


@pytest.mark.parametrize(
    ("values", "spent", "stopped"),
    [
        ([1.0] * 14, 0.0, None),
        ([1.0] * 15, 0.0, "precise"),
        ([1.0] * 16, 0.0, None),
        ([1.0, 1.2] * 10, 0.0, None),
        ([1.0, 1.2] * 10, 1.0, "time"),
        ([], 1.0, None),
        ([1.0, 1.2] * 128, 0.0, "count"),
    ],
)
def test_when_a_series_ends(values: list[float], spent: float, stopped: str | None) -> None:
    assert gpu_timing.stop(values, spent, 0.5) == stopped


def test_a_series_is_called_different_by_its_interval_and_by_more_than_its_precision() -> None:
    base = gpu_timing.series("warm", [1.0] * 15, "precise")
    for median, different in ((1.015, False), (1.03, True), (0.97, True)):
        assert differ(base, gpu_timing.series("warm", [median] * 15, "precise")) is different
    wide = gpu_timing.series("warm", [0.9, 1.2] * 8, "time")
    assert (wide.low, wide.high) == (0.9, 1.2)
    assert not differ(base, wide)


def test_text_of_a_library_is_taken_and_none_of_it_reaches_the_streams(capfd: pytest.CaptureFixture[str]) -> None:
    import ctypes
    import os

    streams = DriverStreams()
    printf = ctypes.CDLL(None).printf
    for text in ("one\n", "two \xe9\n", ""):
        with streams.diverted():
            printf(b"%s", text.encode("latin-1"))
            os.write(2, b"failed\n")
            assert streams.take() == (text.replace("\xe9", "�"), "failed\n")
    os.write(1, b"outside\n")
    assert capfd.readouterr() == ("outside\n", "")


def test_what_a_kernel_without_an_end_prints_reaches_no_stream() -> None:
    code = """
import os
from engine.devices.gpu_streams import DriverStreams
streams = DriverStreams()
with streams.diverted():
    streams.abandon_output()
os.write(1, b"still printing")
os.write(2, b"a traceback")
assert streams.take() == ("still printing", "")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "a traceback")


def run_on(device: str, run: RunRequest, kernel: CompiledKernel) -> Job:
    job = Job()
    request = LaunchRequest(run=run, kernel=kernel, device=device).model_dump_json().encode()
    child_entry.launch_job(request, {"cubin": memoryview(b"")}, job)
    return job


def test_without_cupy_or_gpu_a_request_for_one_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_card", [])
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.api.driver", None)
    run = one("__global__ void k(int *a) { a[0] = 1; }", {"name": "a", "dtype": "int32", "shape": [1]})
    kernel = CompiledKernel.model_validate_json(compiled(run).artifacts["kernel"])
    job = run_on("gpu:h200", run, kernel)
    assert job.messages() == ["The GPU cannot be used: CuPy, the extra 'gpu' of this package, is not installed."]
    assert [event["kind"] for event in job.events] == ["diagnosed"]


def test_another_architecture_is_refused_by_both_names() -> None:
    problem = gpu_errors.wrong_architecture("sm_80", "NVIDIA H200", "sm_90")
    assert problem.field == "architecture"
    assert problem.message == "The kernel is compiled for sm_80, and NVIDIA H200 is sm_90."
    assert problem.help == "Choose sm_90 as the architecture, or the emulator as the device."


def test_the_engine_imports_no_part_of_cupy() -> None:
    code = "import engine.child_entry, sys; print([name for name in sys.modules if name.startswith('cupy')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_gpu_is_prepared_for_in_no_compile_step() -> None:
    run = one("__global__ void k(int *a) { a[0] = 1; }", {"name": "a", "dtype": "int32", "shape": [1]})
    job = Job()
    request = CompileJob(request=compile_request(run), run=run, device="gpu:h200")
    child_entry.compile_job(request.model_dump_json().encode(), {}, job)
    assert set(job.artifacts) == {"kernel", "cubin"}
