"""The launch step: buffers are made, the steps run on one device, and the results are read back and checked."""

from __future__ import annotations

import time
from collections.abc import Mapping

from engine.devices import Device, DeviceBuffer, device_type
from engine.emission import Emission
from engine.launching.plan import plan
from engine.steps import StepRunner
from engine.values.dtypes import Array
from engine.values.initialise import initial_array
from engine.values.results import check, extremes
from protocol.arguments import Buffer, Initialiser
from protocol.base import FieldError
from protocol.diagnostics import Diagnostic
from protocol.dtypes import write_number
from protocol.events import BufferRead, Timed
from protocol.run import LaunchRequest, RunRequest

_NO_DIGEST = "0" * 64

Uploads = Mapping[str, memoryview]


def launch_job(
    request: LaunchRequest, blobs: Mapping[str, memoryview], emission: Emission, deadline_seconds: float
) -> None:
    """Emits all that happens; buffers are read back even after a fault, as the kernel left them."""
    planned = plan(request.run, request.kernel)
    emission.diagnosed(planned.diagnostics)
    if planned.refused:
        return
    uploads = {name.removeprefix("upload:"): data for name, data in blobs.items() if name.startswith("upload:")}
    begin = time.perf_counter()
    device = device_type(request.device).open(request, blobs)
    try:
        buffers = _allocate(request.run, device, uploads)
        expected = _expected(request.run, uploads)
        emission.event(Timed(stage="setup", seconds=time.perf_counter() - begin))
        runner = StepRunner(device, planned, request.run, buffers, emission, deadline_seconds)
        finished = runner.execute()
        for buffer in request.run.buffers:
            if buffer.role != "in":
                _read_back(buffer, runner.buffers[buffer.name].read(), emission)
        for item, (want, shape) in zip(request.run.checks, expected if finished else (), strict=False):
            emission.event(check(item, runner.buffers[item.buffer].read(), want, shape))
    except FieldError as error:
        problem = Diagnostic(severity="error", message=str(error), origin="request", code="values", field=error.field)
        emission.diagnosed([problem])
    finally:
        device.close()


def _allocate(run: RunRequest, device: Device, uploads: Uploads) -> dict[str, DeviceBuffer]:
    return {
        buffer.name: device.allocate(
            buffer.name, buffer.dtype, buffer.elements, _values(buffer, buffer.init, f"buffers.{index}.init", uploads)
        )
        for index, buffer in enumerate(run.buffers)
    }


def _expected(run: RunRequest, uploads: Uploads) -> list[tuple[Array, tuple[int, ...]]]:
    by_name = {buffer.name: buffer for buffer in run.buffers}
    result = []
    for index, item in enumerate(run.checks):
        buffer, field = by_name[item.buffer], f"checks.{index}.expected"
        values = _values(buffer, item.expected, field, uploads)
        if values is None:
            raise FieldError(field, f"{buffer.name}: an uninitialised buffer is nothing to compare with")
        result.append((values, buffer.shape))
    return result


def _values(buffer: Buffer, init: Initialiser, field: str, uploads: Uploads) -> Array | None:
    try:
        return initial_array(init, buffer.dtype, buffer.shape, uploads)
    except ValueError as error:
        raise FieldError(field, f"{buffer.name}: {error}") from None


def _read_back(buffer: Buffer, values: Array, emission: Emission) -> None:
    smallest, largest, not_finite = extremes(values, buffer.dtype)
    event = BufferRead(
        name=buffer.name,
        dtype=buffer.dtype,
        shape=buffer.shape,
        digest=_NO_DIGEST,
        bytes=buffer.bytes,
        minimum=None if smallest is None else write_number(smallest),
        maximum=None if largest is None else write_number(largest),
        not_finite=not_finite,
    )
    emission.buffer(event, values)
