"""Checks that what a request says of an uploaded file is so."""

import asyncio
from collections.abc import Iterator

from app.arrays import ArrayHeader, read_header
from app.errors import Invalid
from protocol.arguments import Buffer, Initialiser, Upload
from protocol.checks import Equals
from protocol.reading import Fault
from protocol.run import RunRequest
from store.blobs import Blobs


def uploads_of(run: RunRequest) -> Iterator[tuple[str, Buffer, str]]:
    """Field, buffer and digest of every upload that a run refers to."""
    by_name = {buffer.name: buffer for buffer in run.buffers}
    wanted: list[tuple[str, Buffer, Initialiser]] = [
        (f"buffers.{index}.init", buffer, buffer.init) for index, buffer in enumerate(run.buffers)
    ]
    wanted += [
        (f"checks.{index}.expected", by_name[check.buffer], check.expected)
        for index, check in enumerate(run.checks)
        if isinstance(check, Equals)
    ]
    for field, buffer, init in wanted:
        if isinstance(init, Upload):
            yield f"{field}.digest", buffer, init.digest


async def check_uploads(blobs: Blobs, run: RunRequest, place: str = "") -> None:
    """Raises Invalid where a file is not there, or has another dtype or shape than its buffer.

    `place` stands before the fields: where in the body the run is, such as `payload.request.`.
    """
    wanted = [(place + field, buffer, digest) for field, buffer, digest in uploads_of(run)]
    if not wanted:
        return
    faults = await asyncio.to_thread(lambda: [fault for item in wanted if (fault := _fault(blobs, *item))])
    if faults:
        raise Invalid.of(faults)


def _fault(blobs: Blobs, field: str, buffer: Buffer, digest: str) -> Fault | None:
    data = blobs.view(digest)
    if data is None:
        return Fault(field, f"the file for {buffer.name} is not here (any more): upload it again")
    try:
        header = read_header(data)
    except ValueError as error:
        return Fault(field, f"the file for {buffer.name}: {error}")
    if not _dtype_fits(header, buffer) or header.shape != buffer.shape:
        return Fault(
            field,
            f"{buffer.name} is {buffer.dtype} {list(buffer.shape)}, "
            f"but the file holds {header.dtype} {list(header.shape)}",
        )
    return None


def _dtype_fits(header: ArrayHeader, buffer: Buffer) -> bool:
    """NumPy has no bfloat16: its bits come as uint16."""
    return header.dtype == ("uint16" if buffer.dtype == "bfloat16" else buffer.dtype)
