"""Reads request bodies: raw, with a cap that chunked ones meet too, then strictly as a protocol model."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request

from app.errors import Invalid, Problem, TooLarge, TooSlow, Unsupported
from protocol.reading import Unreadable, read

M = TypeVar("M", bound=BaseModel)

MOST_SECONDS = 120.0
"""For a whole body: a client that sends a byte now and then must not hold memory for ever."""
_CLOSE = {"Connection": "close"}


async def chunks(request: Request, cap: int, what: str = "The body") -> AsyncIterator[bytes]:
    """The body as it comes. Raises TooLarge before a byte is read where Content-Length already says so."""
    detail = f"{what} is larger than {cap:,} bytes."
    length = request.headers.get("content-length", "0")
    if length.isascii() and length.isdigit() and int(length[:20]) > cap:
        raise TooLarge(detail)
    total = 0
    deadline = asyncio.get_running_loop().time() + MOST_SECONDS
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise TooSlow(f"{what} did not come within {MOST_SECONDS:g} s.", headers=_CLOSE) from None
        except ClientDisconnect:
            raise Problem("The client went away.") from None
        total += len(chunk)
        if total > cap:
            raise TooLarge(detail, headers=_CLOSE)
        yield chunk


async def read_model(request: Request, model: type[M], cap: int) -> M:
    """The body as JSON of `model`. Raises Unsupported, TooLarge, Invalid."""
    media = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media != "application/json":
        raise Unsupported("Send application/json.")
    body = b"".join([chunk async for chunk in chunks(request, cap)])
    try:
        return read(model, body)
    except Unreadable as error:
        raise Invalid.of(error.faults) from None
