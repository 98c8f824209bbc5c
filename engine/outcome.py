"""What a run leaves: its buffers, read back, and what became of its checks."""

from __future__ import annotations

import time
from collections.abc import Sequence

from engine.buffers import Expected, read_back
from engine.devices import DeviceLost
from engine.emission import Emission
from engine.launching.covering import covering, place_of
from engine.steps import StepRunner
from engine.values.results import check
from protocol.base import FieldError
from protocol.diagnostics import Diagnostic
from protocol.events import Checked, Timed


def tell_results(runner: StepRunner, expected: Sequence[Expected], emission: Emission, finished: bool) -> None:
    """Reads the buffers back and, where the run `finished`, checks them."""
    begin = time.perf_counter()
    try:
        for buffer in runner.run.buffers:
            if buffer.role != "in":
                read_back(buffer, runner.buffers[buffer.name].read(), emission)
    except DeviceLost:
        return  # the finding that ended the run says so
    emission.event(Timed(stage="transfer", seconds=time.perf_counter() - begin))
    if finished:
        for item in expected:
            emission.event(_checked(item, runner))


def _checked(item: Expected, runner: StepRunner) -> Checked:
    name, shape = item.buffer.name, item.buffer.shape
    if item.values is None:
        message = f"{name} was not compared: the reference gave nothing to compare with"
        return Checked(buffer=name, passed=False, compared=False, check=item.index, message=message)
    result = check(item.check, name, runner.buffers[name].read(), item.values, shape)
    launch = covering(runner.run, runner.plan, item.buffer) if result.index is not None else None
    if launch is None or result.index is None:
        return result.model_copy(update={"check": item.index})
    place = place_of(launch, result.index, shape)
    thread = {"step": place.step, "block": place.block, "thread": place.thread}
    return result.model_copy(update={"check": item.index, **thread})


def values_refused(error: FieldError) -> Diagnostic:
    """Values of the request that cannot be made."""
    return Diagnostic(severity="error", message=str(error), origin="request", code="values", field=error.field)
