"""NumPy references behind the wall: their limits end them alone, and the run keeps its results."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.local import MemoryBlobs
from protocol.events import Event, EventRecord
from protocol.result import RunResult, fold
from protocol.run import RunRequest
from sandbox.launcher import JobLimits, Sandbox
from sandbox.pipeline import PipelineLimits, perform
from sandbox.stores import FolderCache, Stores

ADD = """__global__ void add(int n, const int *x, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] += x[i];
}"""
LIMITS = PipelineLimits(launch=JobLimits(wall=2.0, memory=256 << 20))


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(profiles=("compile", "reference", "launch")) as opened:
        yield opened


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(tmp_path_factory.mktemp("cache"))


def performed(box: Sandbox, cache: Path, *texts: str, **fields: Any) -> RunResult:
    run = RunRequest.model_validate(
        {
            "source": {"text": ADD},
            "buffers": (
                {"name": "x", "dtype": "int32", "shape": (100,), "init": {"kind": "arange"}, "role": "in"},
                {"name": "y", "dtype": "int32", "shape": (100,), "init": {"kind": "full", "value": 1}},
            ),
            "steps": (
                {
                    "kind": "launch",
                    "config": {"grid": {"kind": "cover", "buffer": "y"}, "block": (32,)},
                    "arguments": (
                        {"kind": "scalar", "value": 100},
                        {"kind": "buffer", "buffer": "x"},
                        {"kind": "buffer", "buffer": "y"},
                    ),
                },
            ),
            "checks": tuple({"kind": "numpy", "text": text, "buffers": ("y",)} for text in texts),
            **fields,
        }
    )
    records: list[EventRecord] = []

    def emit(event: Event) -> None:
        records.append(EventRecord(id=f"1-{len(records)}", at=time.time(), event=event))

    stores = Stores(FolderCache(cache), MemoryBlobs())
    emit(perform(box, run, "emulator", stores, emit, threading.Event(), LIMITS))
    return fold(records)


def test_a_reference_passes_or_names_the_element_and_its_thread(box: Sandbox, cache: Path) -> None:
    result = performed(box, cache, "y = x + y", "y = x + y\ny[40] -= n")
    assert (result.verdict, result.diagnostics) == ("ok", ())
    first, second = result.checks
    assert (first.check, first.passed) == (0, True)
    assert (second.check, second.passed, second.index, second.got, second.expected) == (1, False, (40,), 41, -59)
    assert (second.block, second.thread) == ((1, 0, 0), (8, 0, 0))
    assert sum(timed.stage == "reference" for timed in result.timings) == 2


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("y = x\nwhile True:\n    y = y + 1", "the reference was stopped: it had not ended after 1.8 s", None),
        ("y = x\nz = np.ones(1 << 27)", "The reference needed more than 256 MiB of memory", None),
        ("import os\nos._exit(0)", "The reference's process ended before it was done.", None),
        ("import os\nos.write(3, b'\\2\\0\\0\\0\\0\\0\\0\\0{}')", "The reference broke the protocol (", None),
        ("import os\nos.write(3, b'nonsense' * 100)", "The reference's process ended before it was done.", None),
        ("print('x' * 300_000)\ny = x + y", "The reference wrote more than 262,144 bytes", None),
        ("y = x\ny = open('/etc/passwd').read()", "PermissionError", 2),
        ("import socket\nsocket.socket()", "PermissionError", 2),
        ("import os\nos.fork()", "PermissionError", 2),
        ("y = x\nopen('/tmp/left', 'w')", "", 2),
    ],
)
def test_a_reference_that_fails_costs_the_check_alone(
    box: Sandbox, cache: Path, text: str, message: str, line: int | None
) -> None:
    result = performed(box, cache, text)
    assert (result.verdict, [item.name for item in result.buffers]) == ("ok", ["y"])
    assert result.buffers[0].maximum == 100
    (told,) = result.diagnostics
    assert told.message.startswith(message)
    assert (told.severity, told.field, told.code, told.file) == ("error", "checks.0.text", "reference", "reference")
    assert line is None or (told.span is not None and told.span.line == line)
    (check,) = result.checks
    assert (check.passed, check.compared) == (False, False)


def test_a_sweep_and_its_reference_go_through_one_job(box: Sandbox, cache: Path) -> None:
    for _ in range(2):  # compiled, then from the cache
        result = performed(box, cache, "y = x + y", sweep={"blocks": ((32,), (64,), (4096,))})
        assert result.verdict == "ok"
        assert [shape.state for shape in result.sweep] == ["ran", "ran", "refused"]
        # The kernel takes blocks for 32 threads wide: threads of 64 overlap.
        assert result.sweep[1].same_as_first is False
        assert result.checks[0].passed
    assert result.compiled is not None and result.compiled.cached


def test_expected_values_may_be_uploaded(box: Sandbox, cache: Path) -> None:
    check = {"kind": "equals", "buffer": "y", "expected": {"kind": "upload", "digest": "0" * 64}}
    result = performed(box, cache, checks=(check,))
    assert (result.verdict, result.message) == ("error", "The file uploaded for y is no longer kept: upload it again.")
