"""Uploads of .npy files."""

import asyncio
import mmap
import tempfile
from typing import IO

from fastapi import APIRouter, Request
from pydantic import BaseModel

from app.arrays import read_header, row_major
from app.body import chunks
from app.clients import Client
from app.errors import Invalid, NoSpace, TooLarge, TooMany, TooSlow, Unavailable, documented
from app.service import Served
from store.blobs import Blobs

router = APIRouter(tags=["uploads"])


class Uploaded(BaseModel):
    """A buffer's initialiser names it by its digest."""

    digest: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    """Of the array alone."""


@router.post(
    "/api/uploads",
    status_code=201,
    responses=documented(TooSlow, TooLarge, Invalid, TooMany, Unavailable, NoSpace),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "A .npy file",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def create_upload(request: Request, service: Served, client: Client) -> Uploaded:
    """Keeps a .npy file for a while; sharing a run that uses it keeps it for good."""
    settings = service.settings
    await service.queue.take_token("upload", client, settings.runs_per_second, settings.runs_burst)
    async with service.uploads:
        with tempfile.TemporaryFile() as file:
            async for chunk in chunks(request, settings.max_upload_bytes, "The file"):
                if file.tell() + len(chunk) < 1 << 20:
                    file.write(chunk)
                else:
                    await asyncio.to_thread(file.write, chunk)
            return await asyncio.to_thread(_keep, file, service.blobs)


def _keep(file: IO[bytes], blobs: Blobs) -> Uploaded:
    file.flush()
    if not file.tell():
        raise Invalid("The body is empty: send a .npy file.")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
        try:
            header = read_header(data)
        except ValueError as error:
            raise Invalid(f"{str(error)[0].upper()}{str(error)[1:]}.") from None
        digest = blobs.put(row_major(data, header))
        size = len(data) - header.offset
    return Uploaded(digest=digest, dtype=header.dtype, shape=header.shape, bytes=size)
