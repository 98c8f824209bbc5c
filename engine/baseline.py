"""Times a run's baseline: the user's Python text on the processor, in a child of its own, on the run's first values."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.buffers import initial_values, uploads_of
from engine.emission import Emission, Emit
from engine.outcome import values_refused
from engine.reference import Refused, Text, names_of
from protocol.base import FieldError
from protocol.baseline import Baselined
from protocol.run import BaselineJob

FUNCTION = "baseline"
FILE = "baseline"
MOST_SAMPLES = 15
LEAST_SAMPLES = 3
BUDGET_SECONDS = 1.0


def baseline_job(request: bytes, blobs: Mapping[str, memoryview], emit: Emit) -> None:
    """`request` is a protocol.run.BaselineJob as JSON; blobs are the uploads. Emits one `baselined` event.

    Without it the diagnostics say why, at a line of the text where one is to blame.
    """
    begin = time.perf_counter()
    job, emission = BaselineJob.model_validate_json(request), Emission(emit)
    baseline = job.run.baselines[job.index]
    text = Text(baseline.text, f"baselines.{job.index}.text", FILE, "baseline")
    buffers = {buffer.name: buffer for buffer in job.run.buffers}
    try:
        names = names_of(job.run, job.kernel, initial_values(job.run, uploads_of(blobs)), FILE)
        with text.watched(emission, job.deadline_seconds, begin):
            code = text.compiled()
            start = time.perf_counter()
            own = _fresh(names)
            text.execute(code, own, buffers)
            call = _call(own, names, text)
            if call is not None:
                text.guarded(call, buffers)
            first = time.perf_counter() - start
            times = _times(call or (lambda: text.execute(code, _fresh(names), buffers)), names, text, own)
    except FieldError as error:
        emission.diagnosed([values_refused(error)])
        return
    except Refused as error:
        emission.diagnosed([error.diagnostic])
        return
    emission.event(
        Baselined(
            index=job.index,
            name=baseline.name,
            seconds=statistics.median(times),
            samples=len(times),
            first_seconds=first,
            threads=len(os.sched_getaffinity(0)),
            transfer_bytes=sum(
                buffer.bytes * ((buffer.role != "out") + (buffer.role != "in")) for buffer in job.run.buffers
            ),
        )
    )


def prewarm_baseline() -> None:
    """Loads Numba, with what its parallel loops take: a confined job can import nothing that is not loaded.

    No threads are started, which would not outlive the fork. PyTorch is loaded where it is installed.
    """
    for module in (
        "numba", "numba.parfors.parfor", "numba.parfors.parfor_lowering", "numba.parfors.array_analysis",
        "numba.stencils.stencilparfor", "numba.np.ufunc.parallel", "numba.np.ufunc.workqueue",
        "numba.core.typed_passes",
    ):  # fmt: skip
        importlib.import_module(module)
    numba = sys.modules["numba"]
    numba.njit("void(float64[:])")(_warm)
    if importlib.util.find_spec("torch") is not None:
        importlib.import_module("torch")


def _warm(values: Any) -> None:
    for index in range(values.size):
        values[index] = 2 * values[index] + np.sqrt(values[index])


def _fresh(names: Mapping[str, Any]) -> dict[str, Any]:
    """The names with arrays of their own."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in names.items()}


def _call(own: Mapping[str, Any], names: Mapping[str, Any], text: Text) -> Callable[[], object] | None:
    """A call of the text's function on fresh arrays; None where it has none. Refused."""
    function = own.get(FUNCTION)
    if not callable(function):
        return None
    try:
        wanted = list(inspect.signature(getattr(function, "py_func", function)).parameters)
    except (TypeError, ValueError):
        wanted = []
    missing = next((name for name in wanted if name not in names), None)
    if missing is not None:
        known = ", ".join(name for name in names if not name.startswith("__"))
        raise Refused(text.told(f"{FUNCTION} takes {missing}, which is no buffer or scalar; there are {known}", None))
    given = _fresh({name: names[name] for name in wanted})
    return lambda: function(*given.values())


def _times(work: Callable[[], object], names: Mapping[str, Any], text: Text, own: Mapping[str, Any]) -> list[float]:
    """Seconds of calls, each on fresh arrays that are made before it."""
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < MOST_SAMPLES:
        call = _call(own, names, text) or work
        start = time.perf_counter()
        text.guarded(call, {})
        times.append(time.perf_counter() - start)
        if len(times) >= LEAST_SAMPLES and time.perf_counter() - begin > BUDGET_SECONDS:
            break
    return times
