"""Every example does what its NumPy reference says, through the sandbox as on the server."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.local import MemoryBlobs
from cli.report import array_of
from protocol.arguments import Upload
from protocol.events import Event, EventRecord
from protocol.result import RunResult, fold
from sandbox.launcher import Sandbox
from sandbox.pipeline import PipelineLimits, perform
from sandbox.profiles import compiling_kinds
from sandbox.stores import FolderCache, Stores
from store.examples import Example, load_examples

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples"
EXAMPLES = load_examples(FOLDER)


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(profiles=(*compiling_kinds(), "reference", "launch")) as opened:
        yield opened


@pytest.fixture(scope="module")
def lone_core() -> Iterator[Sandbox]:
    """Blocks run one after another here, so that sums by atomics have one order."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with Sandbox(profiles=(*compiling_kinds(), "reference", "launch")) as opened:
            yield opened
    finally:
        os.sched_setaffinity(0, cores)


def run(box: Sandbox, example: Example, folder: Path) -> tuple[RunResult, MemoryBlobs]:
    blobs = MemoryBlobs()
    stores = Stores(FolderCache(folder), blobs)
    for _, path in example.files:
        blobs.put(path.read_bytes())
    records: list[EventRecord] = []

    def emit(event: Event) -> None:
        records.append(EventRecord(id=f"1-{len(records)}", at=time.time(), event=event))

    request = example.payload.request
    emit(perform(box, request, "emulator", stores, emit, threading.Event(), PipelineLimits()))
    return fold(records), blobs


def shipped(example: Example) -> dict[str, Any]:
    """Buffers that start from a file, by name."""
    files = dict(example.files)
    inits = {buffer.name: buffer.init for buffer in example.payload.request.buffers}
    return {name: np.load(files[init.digest]) for name, init in inits.items() if isinstance(init, Upload)}


def test_files_are_of_the_dtype_and_shape_of_their_buffers() -> None:
    for example in EXAMPLES:
        arrays = shipped(example)
        for buffer in example.payload.request.buffers:
            if buffer.name in arrays:
                assert (arrays[buffer.name].dtype, arrays[buffer.name].shape) == (buffer.dtype, buffer.shape)
    assert any(example.files for example in EXAMPLES)


def test_every_shipped_file_is_used_and_its_origin_stands_beside_it() -> None:
    used = {path for example in EXAMPLES for _, path in example.files}
    assert {path for path in (FOLDER / "data").iterdir() if path.suffix != ".md"} == used
    noted = (FOLDER / "data" / "README.md").read_text()
    assert all(f"`{path.name}`" in noted for path in used)
    assert all(path.stat().st_size <= 1 << 20 for path in used)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_an_example_does_what_numpy_does(example: Example, box: Sandbox, tmp_path: Path) -> None:
    assert example.reference, "an example needs a reference"
    wanted: dict[str, Any] = {"np": np, **shipped(example)}
    exec(compile(example.reference, f"{example.id}.reference", "exec"), wanted)
    result, blobs = run(box, example, tmp_path)

    if "finding" in wanted:
        found = [item for item in result.findings if item.class_ == wanted["finding"]]
        assert found
        assert all(item.span is not None for item in found)
        # A fault of memory ends the kernel; what the instruments find does not.
        assert (result.verdict == "error") is any(item.fatal for item in found)
        assert any(item.fatal for item in found) is not bool(example.payload.request.instruments)
        return
    assert (result.verdict, result.message) == ("ok", "")
    assert result.findings == ()
    assert [item.message for item in result.diagnostics if item.severity in ("error", "warning")] == []
    assert [check.message for check in result.checks if not check.passed] == []
    assert {event.name for event in result.buffers} <= wanted.keys()
    for event in result.buffers:
        data = blobs.get(event.digest)
        assert data is not None
        got, want = array_of(event, data), np.asarray(wanted[event.name])
        assert got.shape == want.shape, event.name
        if "tolerance" in wanted:
            np.testing.assert_allclose(got, want, wanted["tolerance"], wanted.get("absolute", 0), err_msg=event.name)
        else:
            np.testing.assert_array_equal(got, want, err_msg=event.name)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_an_example_is_named_ordered_and_explained(example: Example) -> None:
    request = example.payload.request
    first = request.source.text.splitlines()[0]
    comment = "# " if request.source.language == "numba" else "// "
    assert first.startswith(comment), "the source begins with what it does"
    assert len(example.title) <= 60
    assert len(example.summary) <= 110
    assert [other.id for other in EXAMPLES if other.order == example.order] == [example.id]
    assert set(example.payload.views) <= {buffer.name for buffer in request.buffers}
    assert all(len(line) <= 110 for line in request.source.text.splitlines())


PAIRS = [
    (example.id.rpartition("-")[0], example.id)
    for example in EXAMPLES
    if example.payload.request.source.language != "cuda-c++" and example.id != "monte-carlo-numba"
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_same_example_in_two_languages_gives_equal_arrays(
    first: str, second: str, lone_core: Sandbox, tmp_path: Path
) -> None:
    by_id = {example.id: example for example in EXAMPLES}
    made = []
    for name in (first, second):
        result, blobs = run(lone_core, by_id[name], tmp_path)
        assert (result.verdict, result.message) == ("ok", "")
        made.append({event.name: blobs.get(event.digest) for event in result.buffers})
    assert made[0]
    assert made[0] == made[1]


def test_most_kinds_of_kernels_are_there_in_python() -> None:
    assert len([second for _, second in PAIRS if second.endswith("-numba")]) >= 6
