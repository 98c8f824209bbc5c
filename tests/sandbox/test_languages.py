"""Every language through the whole pipeline, behind the wall: what a run gives, and what its Python text cannot do."""

from __future__ import annotations

import importlib.metadata
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cli.local import MemoryBlobs
from protocol.events import Event, EventRecord
from protocol.inspection import InspectRequest
from protocol.result import RunResult, fold
from protocol.run import RunRequest, compile_request
from sandbox.inspection import inspect
from sandbox.launcher import JobLimits, Sandbox
from sandbox.pipeline import PipelineLimits, perform
from sandbox.profiles import compiling_kinds
from sandbox.stores import FolderCache, Stores
from tests.sandbox.conftest import open_box

CUDA = """__global__ void add(float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] += x[i];
}
"""
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 x, .param .u64 y)
{
    .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.s32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    ld.global.f32 %f2, [%rd5];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd5], %f3;
    ret;
}
"""
NUMBA = """from numba import cuda

@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    y[i] += x[i]
"""
SOURCES = {"cuda-c++": (CUDA, "kernel.cu"), "ptx": (PTX, "kernel.ptx"), "numba": (NUMBA, "kernel.py")}
LIMITS = PipelineLimits(compile=JobLimits(wall=20.0, cpu=40.0), launch=JobLimits(wall=10.0, cpu=20.0))


@pytest.fixture(scope="module", params=["strong", "weak"])
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with open_box(request.param, (*compiling_kinds(), "launch")) as opened:
        yield opened


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(FolderCache(Path(tmp_path_factory.mktemp("cache"))), MemoryBlobs())


def run_of(language: str, text: str | None = None) -> RunRequest:
    own, file_name = SOURCES[language]
    step = {
        "kind": "launch",
        "config": {"grid": (2,), "block": (32,)},
        "arguments": tuple({"kind": "buffer", "name": name, "buffer": name} for name in ("x", "y")),
    }
    buffers = (
        {"name": "x", "dtype": "float32", "shape": (64,), "init": {"kind": "arange"}, "role": "in"},
        {"name": "y", "dtype": "float32", "shape": (64,), "init": {"kind": "full", "value": 1}},
    )
    source = {"language": language, "text": own if text is None else text, "file_name": file_name}
    return RunRequest.model_validate({"source": source, "buffers": buffers, "steps": (step,)})


def performed(box: Sandbox, stores: Stores, run: RunRequest, limits: PipelineLimits = LIMITS) -> tuple[RunResult, str]:
    records: list[EventRecord] = []

    def emit(event: Event) -> None:
        records.append(EventRecord(id=f"1-{len(records)}", at=0.0, event=event))

    finished = perform(box, run, "emulator", stores, emit, threading.Event(), limits)
    emit(finished)
    return fold(records), finished.message


@pytest.mark.parametrize("language", SOURCES)
def test_a_run_and_then_the_same_from_the_cache(box: Sandbox, stores: Stores, language: str) -> None:
    run = run_of(language)
    for cached in (False, True):
        result, message = performed(box, stores, run)
        assert (result.verdict, message) == ("ok", ""), result.diagnostics
        (read,) = result.buffers
        data = stores.blobs.get(read.digest)
        assert data is not None
        np.testing.assert_array_equal(np.frombuffer(data, np.float32), np.arange(64) + 1)
        assert result.compiled is not None
        assert result.compiled.cached or not cached
        assert [entry.display for entry in result.compiled.entries] == ["add"]


def test_an_inspection_lists_kernels_first_and_describes_them_once_their_types_are_known(
    box: Sandbox, stores: Stores
) -> None:
    run = run_of("numba")
    whole = compile_request(run)
    for request, compiled in ((whole.model_copy(update={"specialisations": ()}), False), (whole, True)):
        report = inspect(box, InspectRequest(compile=request), stores, threading.Event(), LIMITS)
        assert report.verdict == "ok"
        (entry,) = report.entries
        assert entry.compiled == compiled
        assert [item.kind for item in entry.parameters] == ["pointer" if compiled else "unknown"] * 2
        assert (entry.resources.registers > 0) == compiled


def test_kernels_of_cupy_are_read_and_not_run(box: Sandbox, stores: Stores) -> None:
    text = "import cupy as cp\nimport os\nos._exit(3)\nk = cp.RawKernel('__global__ void k() {}', 'k')\n"
    request = compile_request(run_of("numba", text))
    report = inspect(box, InspectRequest(compile=request, recognise=True), stores, threading.Event(), LIMITS)
    assert report.verdict == "ok"
    assert report.recognised is not None
    assert [kernel.name for kernel in report.recognised.kernels] == ["k"]


FAULTS = {
    "an endless source": (NUMBA + "while True:\n    pass\n", "stopped after", 7),
    "a source that ends its process": (NUMBA + "import os\nos._exit(0)\n", "without a kernel", None),
    "a source that crashes": (NUMBA + "import ctypes\nctypes.string_at(0)\n", "process ended by", None),
    "a lie in a frame": (
        NUMBA + 'import os, json, struct\nh = json.dumps({"artifact": "kernel"}).encode()\n'
        'os.write(3, struct.pack("<II", len(h), 2) + h + b"{}")\n',
        "broke the protocol",
        None,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_source_that_misbehaves_ends_its_own_compilation(box: Sandbox, stores: Stores, name: str) -> None:
    text, said, line = FAULTS[name]
    limits = PipelineLimits(compile=JobLimits(wall=3.0, cpu=20.0))
    result, message = performed(box, stores, run_of("numba", text), limits)
    assert result.verdict not in ("ok", None)
    told = [item.message for item in result.diagnostics] + [message]
    assert any(said in text for text in told), told
    if line is not None:
        assert line in [item.span.line for item in result.diagnostics if item.span]
    after, _ = performed(box, stores, run_of("numba"))
    assert after.verdict == "ok"


@pytest.mark.parametrize("missing", ["numba", "numba-cuda", "nvidia-nvvm"])
def test_half_of_numba_keeps_nothing_else_from_running(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == missing:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    assert compiling_kinds() == ("compile", "translate")
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert compiling_kinds() == compiling_kinds("numba") == ("compile",)
