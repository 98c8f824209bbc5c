"""The launch step: buffers are made, the steps run on one device, and the results are read back and checked."""

from __future__ import annotations

import time
from collections.abc import Mapping

from engine.buffers import allocate, expected_values, initial_values, uploads_of
from engine.devices import Device, DeviceRefusal, device_type
from engine.devices.emulated import EmulatedDevice
from engine.emission import Emission
from engine.estimating.told import tell_estimates
from engine.film import Filming
from engine.launching.plan import Plan, plan
from engine.outcome import tell_results, values_refused
from engine.steps import StepRunner
from engine.sweep import sweep_job
from engine.tracing import tell_trace
from protocol.base import FieldError
from protocol.events import Timed
from protocol.run import LaunchRequest


def launch_job(request: LaunchRequest, blobs: Mapping[str, memoryview], emission: Emission, begin: float) -> None:
    """Emits all that happens; buffers are read back even after a fault, where the device still can, as it left them.

    `begin` is when the job started, by time.perf_counter().
    """
    if request.run.sweep is not None:
        sweep_job(request, blobs, emission, begin)
        return
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
        _run(request, planned, device, blobs, emission, begin)
    except DeviceRefusal as refusal:
        emission.diagnosed(refusal.diagnostics)
    except FieldError as error:
        emission.diagnosed([values_refused(error)])
    finally:
        device.close()


def _run(
    request: LaunchRequest,
    planned: Plan,
    device: Device,
    blobs: Mapping[str, memoryview],
    emission: Emission,
    begin: float,
) -> None:
    run = request.run
    values = initial_values(run, uploads_of(blobs))
    buffers = allocate(run, device, values)
    expected = expected_values(run, blobs)
    emission.event(Timed(stage="setup", seconds=time.perf_counter() - begin))
    film = Filming.wanted(run, emission)
    runner = StepRunner(device, planned, run, buffers, emission, begin, request.deadline_seconds, film)
    finished = runner.execute()
    tell_results(runner, expected, emission, finished)
    if finished and run.estimate is not None and isinstance(device, EmulatedDevice):
        tell_estimates(runner, device, values, run.estimate, emission)
    if finished and run.trace is not None and isinstance(device, EmulatedDevice):
        tell_trace(runner, device, values, run.trace, emission)
