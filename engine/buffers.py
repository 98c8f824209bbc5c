"""The buffers of a run: made on the device, and read back at the end."""

from __future__ import annotations

from collections.abc import Mapping

from engine.devices import Device, DeviceBuffer
from engine.emission import Emission
from engine.values.dtypes import Array
from engine.values.initialise import initial_array
from engine.values.results import extremes
from protocol.arguments import Buffer, Initialiser
from protocol.base import FieldError
from protocol.dtypes import write_number
from protocol.events import BufferRead
from protocol.run import RunRequest

_NO_DIGEST = "0" * 64

Uploads = Mapping[str, memoryview]
"""Whole .npy files by their digest."""


def uploads_of(blobs: Mapping[str, memoryview]) -> Uploads:
    """The uploads among a job's blobs."""
    return {name.removeprefix("upload:"): data for name, data in blobs.items() if name.startswith("upload:")}


def allocate(run: RunRequest, device: Device, uploads: Uploads) -> dict[str, DeviceBuffer]:
    """Every buffer with its first values. FieldError where they cannot be made."""
    return {
        buffer.name: device.allocate(
            buffer.name, buffer.dtype, buffer.elements, _values(buffer, buffer.init, f"buffers.{index}.init", uploads)
        )
        for index, buffer in enumerate(run.buffers)
    }


def expected_values(run: RunRequest, uploads: Uploads) -> list[tuple[Array, tuple[int, ...]]]:
    """What each check compares with, and the buffer's shape. FieldError."""
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


def read_back(buffer: Buffer, values: Array, emission: Emission) -> None:
    """Sends a buffer's bytes with its extremes."""
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
