"""One pub/sub connection a process, fanned out in memory to everyone who waits for news."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import redis.asyncio
import structlog
from redis.exceptions import RedisError

from app.tasks import end

log = structlog.get_logger(__name__)

BACKLOG = 256
_ALIVE = "warpyard:hub"


class Subscription:
    """News of one channel. The messages are shared between the subscribers; a slow one loses them and is told."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue(BACKLOG)
        self._missed = False
        self.closed = False

    def push(self, message: str | None) -> None:
        try:
            self._queue.put_nowait(message)
        except asyncio.QueueFull:
            self._missed = True

    def close(self) -> None:
        self.closed = True
        self.push(None)

    async def next(self, timeout: float) -> str | None:
        """A message; None where the subscriber has to read again: it may have missed some, or time has passed."""
        try:
            async with asyncio.timeout(timeout):
                message = await self._queue.get()
        except TimeoutError:
            return None
        if self._missed:
            self._missed = False
            while not self._queue.empty():
                self._queue.get_nowait()
            return None
        return message


class Hub:
    def __init__(self, client: redis.asyncio.Redis) -> None:
        self._pubsub = client.pubsub()
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._commands: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    async def start(self) -> None:
        await self._pubsub.subscribe(_ALIVE)
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._command())]

    async def stop(self) -> None:
        self.close()
        await end(*self._tasks)
        with suppress(RedisError):
            await self._pubsub.aclose()  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Ends every subscription, before the server waits for its streams to end."""
        self._closed = True
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.close()

    @asynccontextmanager
    async def subscribe(self, channel: str) -> AsyncIterator[Subscription]:
        """The first thing that comes is None, once the server has confirmed: what was there before is to be read."""
        subscription = Subscription()
        if self._closed:
            subscription.close()
        others = self._subscriptions.setdefault(channel, set())
        others.add(subscription)
        if len(others) == 1:
            self._commands.put_nowait(("subscribe", channel))
        else:
            subscription.push(None)
        try:
            yield subscription
        finally:
            # Nothing is awaited: the one who leaves may have been cancelled.
            others.discard(subscription)
            if not others and self._subscriptions.get(channel) is others:
                del self._subscriptions[channel]
                self._commands.put_nowait(("unsubscribe", channel))

    async def _command(self) -> None:
        while True:
            command, channel = await self._commands.get()
            wanted = channel in self._subscriptions
            try:
                if command == "subscribe" and wanted:
                    await self._pubsub.subscribe(channel)
                elif command == "unsubscribe" and not wanted:
                    await self._pubsub.unsubscribe(channel)
            except Exception as error:  # whatever it was: without this task no reader would ever be woken
                log.warning("subscription delayed", error=str(error))
                await asyncio.sleep(0.2)
                self._commands.put_nowait((command, channel))

    async def _listen(self) -> None:
        while True:
            try:
                async for message in self._pubsub.listen():
                    # A confirmation is the first one, or tells of a silent reconnection: both mean "read again".
                    text = message["data"] if message["type"] == "message" else None
                    if message["type"] in ("message", "subscribe"):
                        for subscription in self._subscriptions.get(message["channel"], ()):
                            subscription.push(text)
            except Exception as error:
                log.warning("queue connection lost", error=str(error))
            await asyncio.sleep(0.2)
            for subscriptions in self._subscriptions.values():
                for subscription in subscriptions:
                    subscription.push(None)
