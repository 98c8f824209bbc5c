"""Sends messages to workers from one thread of its own, in the order in which they are handed over."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import structlog

from store.settings import Settings

if TYPE_CHECKING:
    from store.broker import Sender

log = structlog.get_logger(__name__)


class Outbox:
    """Celery is loaded by the thread, so that the page is there before; messages wait for it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, "outbox")
        self._sender: Sender | None = None

    async def warm(self) -> None:
        """Makes the first message as quick as the others."""
        try:
            await self._do(lambda sender: sender.warm())
        except Exception as error:
            log.warning("outbox not warm", error=str(error))

    async def run(self, run_id: str, queue: str) -> None:
        """Raises what Celery raises where the broker is away."""
        await self._do(lambda sender: sender.run(run_id, queue))

    async def inspect(self, question_id: str, queue: str, expires: float) -> None:
        await self._do(lambda sender: sender.inspect(question_id, queue, expires))

    def close(self) -> None:
        self._thread.shutdown()
        if self._sender is not None:
            self._sender.close()

    async def _do(self, send: Callable[["Sender"], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._send, send)

    def _send(self, send: Callable[["Sender"], None]) -> None:
        if self._sender is None:
            from store.broker import Sender, open_celery

            self._sender = Sender(open_celery(self._settings))
        send(self._sender)
