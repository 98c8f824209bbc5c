"""Films through the entry points of a child: which buffer, which rounds, what is left after a fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.buffers import allocate
from engine.devices import DeviceLost, device_type
from engine.emission import Emission
from engine.film import Filming
from engine.launching.plan import plan
from engine.steps import StepRunner
from protocol.kernel import CompiledKernel
from protocol.run import LaunchRequest, RunRequest
from tests.engine.child_jobs import Job, array, buffer, compiled, launched, ran, request

STEP = "__global__ void step(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x] + 1; }"
SWAP = {"kind": "swap", "first": "a", "second": "b"}


def launch(*names: str) -> dict[str, Any]:
    arguments = [{"kind": "buffer", "buffer": name} for name in names]
    return {"kind": "launch", "config": {"grid": [1], "block": [32]}, "arguments": arguments}


def repeat(count: int, *steps: Any) -> dict[str, Any]:
    return {"kind": "repeat", "count": count, "steps": steps}


def filmed(film: Any, *steps: Any, source: str = STEP, **fields: Any) -> RunRequest:
    buffers = [buffer("a"), buffer("b", kind="full", value=-1)]
    return request(source, buffers=buffers, steps=steps, film=film, **fields)


def rounds(job: Job) -> list[int]:
    return [event["round"] for event in job.kind("filmed")]


def frames(job: Job) -> list[int]:
    """The one value that each frame has."""
    values = [np.frombuffer(job.buffers[f"frame {number}"], np.int32) for number in rounds(job)]
    assert all((item == item[0]).all() for item in values)
    return [int(item[0]) for item in values]


@pytest.mark.parametrize(
    ("film", "steps", "wanted"),
    [
        ({"buffer": "a"}, [repeat(3, launch("a", "b"), SWAP)], {0: 0, 1: 1, 2: 2, 3: 3}),
        ({"buffer": "a", "every": 3}, [repeat(10, launch("a", "b"), SWAP)], {0: 0, 3: 3, 6: 6, 9: 9}),
        # The name denotes what it does after the swap: here the buffer that was read last.
        ({"buffer": "b"}, [repeat(2, launch("a", "b"), SWAP)], {0: -1, 1: 0, 2: 1}),
        # A round holds all inner rounds.
        ({"buffer": "a"}, [repeat(2, repeat(5, launch("a", "b"), SWAP))], {0: 0, 1: 5, 2: 10}),
        # Steps before count, and only the repeat that is named is filmed.
        (
            {"buffer": "a", "step": "steps.2"},
            [{"kind": "fill", "buffer": "a", "value": 40}, repeat(2, launch("a", "b")), repeat(2, launch("a", "a"))],
            {0: 40, 1: 41, 2: 42},
        ),
    ],
)
def test_frames_are_what_the_name_denotes_between_rounds(film: Any, steps: Any, wanted: dict[int, int]) -> None:
    job = ran(filmed(film, *steps))
    assert job.messages() == []
    assert dict(zip(rounds(job), frames(job), strict=True)) == wanted
    first, *_ = job.kind("filmed")
    assert (first["buffer"], first["dtype"], first["shape"], first["bytes"]) == (film["buffer"], "int32", [32], 128)
    assert first["minimum"] == first["maximum"] == wanted[0]


def test_frames_leave_as_they_are_taken_and_their_time_is_told_apart() -> None:
    job = ran(filmed({"buffer": "a", "every": 5}, repeat(10, launch("a", "b"), SWAP)))
    order = [event["kind"] if event["kind"] != "timed" else event["stage"] for event in job.events]
    assert order == [
        "setup", "filmed", "launched", "filmed", "filmed", "run", "film", "buffer-read", "buffer-read",
        "transfer",
    ]  # fmt: skip
    (run,) = [event for event in job.kind("timed") if event["stage"] == "run"]
    assert run["launches"] == 10
    assert array(job, "a").tolist() == [10] * 32


def test_a_fault_ends_the_film_and_leaves_what_there_is() -> None:
    source = "__global__ void far(int *a, int *b) { a[0] += 1; a[a[0] > 3 ? 1 << 20 : 1] = a[0]; }"
    job = ran(filmed({"buffer": "a"}, repeat(9, launch("a", "b")), source=source))
    assert [event["code"] for event in job.kind("found")] == ["out-of-bounds"]
    assert rounds(job) == [0, 1, 2, 3]


def test_the_deadline_ends_the_film_and_leaves_what_there_is() -> None:
    source = "__global__ void spin(volatile int *a, int *b) { a[0] += 1; while (a[0] > 2) ; }"
    run = filmed({"buffer": "a"}, repeat(9, launch("a", "b")), source=source)
    job = launched(run, compiled(run), deadline_seconds=1.0)
    assert [event["code"] for event in job.kind("found")] == ["wall"]
    assert rounds(job) == [0, 1, 2]


def test_of_a_sweep_the_first_shape_is_filmed() -> None:
    source = "__global__ void size(int *a, int *b) { if (!threadIdx.x) a[0] += blockDim.x; }"
    job = ran(filmed({"buffer": "a"}, repeat(3, launch("a", "b")), source=source, sweep={"blocks": [[96], [32]]}))
    assert [row["state"] for row in job.kind("swept")] == ["ran", "ran"]
    assert [np.frombuffer(job.buffers[f"frame {number}"], np.int32)[0] for number in rounds(job)] == [0, 96, 192, 288]


@pytest.mark.parametrize(
    ("dtype", "init", "low", "high", "odd"),
    [
        ("float32", {"kind": "literals", "values": ["nan", "-inf", 2, -3]}, -3, 2, 2),
        ("complex64", {"kind": "zeros"}, None, None, 0),
    ],
)
def test_extremes_of_a_frame(dtype: str, init: Any, low: Any, high: Any, odd: int) -> None:
    run = request(
        "__global__ void k(int *a) {}",
        buffers=[buffer("a", dtype, 4, **init)],
        steps=[repeat(1, launch("a"))],
        film={"buffer": "a"},
    )
    for event in ran(run).kind("filmed"):
        assert (event["minimum"], event["maximum"], event["not_finite"]) == (low, high, odd)


def test_memory_that_cannot_be_read_ends_the_run_with_a_reason() -> None:
    run = filmed({"buffer": "a"}, repeat(3, launch("a", "b")))
    code = compiled(run)
    kernel = CompiledKernel.model_validate_json(code.artifacts["kernel"])
    planned = plan(run, kernel)
    blobs = {name: memoryview(data) for name, data in code.artifacts.items() if name.startswith("object:")}
    device = device_type("emulator").open(LaunchRequest(run=run, kernel=kernel, device="emulator"), blobs)

    class Lost:
        address = 0

        def write(self, values: Any) -> None: ...

        def read(self) -> Any:
            raise DeviceLost

    job = Job()
    emission = Emission(job)
    buffers = allocate(run, device, {"a": None, "b": None}) | {"a": Lost()}
    runner = StepRunner(device, planned, run, buffers, emission, 0.0, 1e9, Filming.wanted(run, emission))
    assert not runner.execute()
    assert job.messages() == ["the device's memory could not be read for the film after round 0"]
    (told,) = job.kind("diagnosed")
    assert told["diagnostic"]["field"] == "film"
