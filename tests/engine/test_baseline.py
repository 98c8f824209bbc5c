"""Baselines: the text or its function is timed on fresh arrays, and what is wrong with it is told at its line."""

from __future__ import annotations

from typing import Any

import pytest

from engine.baseline import baseline_job
from protocol.baseline import break_even
from protocol.kernel import CompiledKernel
from protocol.run import BaselineJob
from tests.engine.child_jobs import Job, buffer, compiled, one

KERNEL = "__global__ void k(int *y, const int *x) { y[threadIdx.x] += x[threadIdx.x]; }"


def timed(text: str) -> Job:
    run = one(KERNEL, buffer("y", kind="arange"), buffer("x", role="in", kind="arange"), baselines=[{"text": text}])
    kernel = CompiledKernel.model_validate_json(compiled(run).artifacts["kernel"])
    job = Job()
    baseline_job(BaselineJob(run=run, kernel=kernel, index=0).model_dump_json().encode(), {}, job)
    return job


@pytest.mark.parametrize(
    "text",
    [
        "y = y + x",
        "y += x\nassert y[3] == 6, y",
        "calls = []\ndef baseline(x, y):\n    y += x\n    calls.append(1)\n    assert y[3] == 6, y",
        "from numba import njit\n@njit\ndef baseline(x, y):\n    for i in range(y.size):\n        y[i] += x[i]",
    ],
)
def test_each_call_sees_the_first_values(text: str) -> None:
    job = timed(text)
    assert job.messages() == []
    (told,) = job.kind("baselined")
    assert told["samples"] >= 3
    assert 0 < told["seconds"] <= told["first_seconds"] * 50
    assert told["transfer_bytes"] == 4 * 32 * 3


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("y = (", 1, "the baseline is not Python: '(' was never closed"),
        ("y = 1\ny = q", 2, "NameError: name 'q' is not defined"),
        ("def baseline(x, z):\n    pass", None, "baseline takes z, which is no buffer or scalar; there are"),
        ("def baseline(x):\n    raise ValueError('no')", 2, "ValueError: no"),
        ("raise SystemExit", 1, "the baseline ended itself"),
    ],
)
def test_faults_stand_at_their_line(text: str, line: int | None, words: str) -> None:
    job = timed(text)
    assert job.kind("baselined") == []
    (told,) = [event["diagnostic"] for event in job.kind("diagnosed")]
    assert (told["file"], told["field"], words in told["message"]) == ("baseline", "baselines.0.text", True)
    assert (told["span"] or {}).get("line") == line


@pytest.mark.parametrize(
    ("times", "factor"), [((10e-6, 6e-6, 0.0, 100e-6), 6 / 96), ((10e-6, 6e-6, 90e-6, 60e-6), None)]
)
def test_break_even(times: tuple[float, float, float, float], factor: float | None) -> None:
    found: Any = break_even(*times)
    assert found is None if factor is None else found == pytest.approx(factor)
