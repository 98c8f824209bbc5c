"""The buffers of a run: made on the device, and read back at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.devices import Device, DeviceBuffer
from engine.emission import NO_DIGEST, Emission
from engine.values.dtypes import Array, numpy_dtype
from engine.values.initialise import initial_array
from engine.values.results import extremes
from protocol.arguments import Buffer, Initialiser
from protocol.base import FieldError
from protocol.checks import Check, Equals
from protocol.dtypes import write_number
from protocol.events import BufferRead
from protocol.frames import expected_key
from protocol.run import RunRequest

Uploads = Mapping[str, memoryview]
"""Whole .npy files by their digest."""


def uploads_of(blobs: Mapping[str, memoryview]) -> Uploads:
    """The uploads among a job's blobs."""
    return {name.removeprefix("upload:"): data for name, data in blobs.items() if name.startswith("upload:")}


def initial_values(run: RunRequest, uploads: Uploads) -> dict[str, Array | None]:
    """What every buffer starts from, flat; None where it is left as allocated. FieldError."""
    return {
        buffer.name: _values(buffer, buffer.init, f"buffers.{index}.init", uploads)
        for index, buffer in enumerate(run.buffers)
    }


def allocate(run: RunRequest, device: Device, values: Mapping[str, Array | None]) -> dict[str, DeviceBuffer]:
    """Every buffer with its first values."""
    return {
        buffer.name: device.allocate(buffer.name, buffer.dtype, buffer.elements, values[buffer.name])
        for buffer in run.buffers
    }


@dataclass(frozen=True, slots=True)
class Expected:
    """What a buffer is compared with; `values` are None where a reference did not give them."""

    index: int
    check: Check
    buffer: Buffer
    values: Array | None


def expected_values(run: RunRequest, blobs: Mapping[str, memoryview]) -> list[Expected]:
    """One for each buffer of each check: given, or what its reference computed before (see protocol/frames.py).

    FieldError.
    """
    by_name = {buffer.name: buffer for buffer in run.buffers}
    result = []
    for index, item in enumerate(run.checks):
        if isinstance(item, Equals):
            buffer, field = by_name[item.buffer], f"checks.{index}.expected"
            values = _values(buffer, item.expected, field, uploads_of(blobs))
            if values is None:
                raise FieldError(field, f"{buffer.name}: an uninitialised buffer is nothing to compare with")
            result.append(Expected(index, item, buffer, values))
            continue
        for name in item.buffers:
            data = blobs.get(expected_key(index, name))
            given = None if data is None else np.frombuffer(data, numpy_dtype(by_name[name].dtype))
            result.append(Expected(index, item, by_name[name], given))
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
        digest=NO_DIGEST,
        bytes=buffer.bytes,
        minimum=None if smallest is None else write_number(smallest),
        maximum=None if largest is None else write_number(largest),
        not_finite=not_finite,
    )
    emission.buffer(event, values)
