"""The launch step: buffers are made, the steps run on one device, and the results are read back and checked."""

from __future__ import annotations

import time
from collections.abc import Mapping

from engine.buffers import Uploads, allocate, expected_values, read_back, uploads_of
from engine.devices import Device, DeviceLost, DeviceRefusal, device_type
from engine.emission import Emission
from engine.launching.plan import Plan, plan
from engine.steps import StepRunner
from engine.values.results import check
from protocol.base import FieldError
from protocol.diagnostics import Diagnostic
from protocol.events import Timed
from protocol.run import LaunchRequest


def launch_job(request: LaunchRequest, blobs: Mapping[str, memoryview], emission: Emission, begin: float) -> None:
    """Emits all that happens; buffers are read back even after a fault, where the device still can, as it left them.

    `begin` is when the job started, by time.perf_counter().
    """
    planned = plan(request.run, request.kernel)
    emission.diagnosed(planned.diagnostics)
    if planned.refused:
        return
    try:
        device = device_type(request.device).open(request, blobs)
    except DeviceRefusal as refusal:
        emission.diagnosed(refusal.diagnostics)
        return
    try:
        _run(request, planned, device, uploads_of(blobs), emission, begin)
    except DeviceRefusal as refusal:
        emission.diagnosed(refusal.diagnostics)
    except FieldError as error:
        problem = Diagnostic(severity="error", message=str(error), origin="request", code="values", field=error.field)
        emission.diagnosed([problem])
    finally:
        device.close()


def _run(
    request: LaunchRequest, planned: Plan, device: Device, uploads: Uploads, emission: Emission, begin: float
) -> None:
    buffers = allocate(request.run, device, uploads)
    expected = expected_values(request.run, uploads)
    emission.event(Timed(stage="setup", seconds=time.perf_counter() - begin))
    runner = StepRunner(device, planned, request.run, buffers, emission, begin, request.deadline_seconds)
    finished = runner.execute()
    try:
        for buffer in request.run.buffers:
            if buffer.role != "in":
                read_back(buffer, runner.buffers[buffer.name].read(), emission)
    except DeviceLost:
        return  # the finding that ended the run says so
    if finished:
        for item, (want, shape) in zip(request.run.checks, expected, strict=True):
            emission.event(check(item, runner.buffers[item.buffer].read(), want, shape))
