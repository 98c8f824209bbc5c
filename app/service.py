"""Everything that a route needs, opened when the process starts and closed when it ends."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, cast

import redis.asyncio
import structlog
from fastapi import Depends, Request
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from app.event_log import EventLog
from app.hub import Hub
from app.observe import Metrics
from app.outbox import Outbox
from app.page import Page
from app.queue import Queue
from app.reaper import Reaper
from app.recent import Recent
from store.blobs import Blobs, StorageFull, open_blobs
from store.claims import Claims
from store.connections import connect, connect_blocking
from store.database import open_database, open_database_blocking
from store.examples import Example, load_examples
from store.settings import Settings
from store.workers import Worker, live_workers

log = structlog.get_logger(__name__)

_WORKERS_SECONDS = 0.5
_FIRST_WORKER_SECONDS = 0.05
_SHARES_BYTES = 32 << 20


@dataclass
class Service:
    settings: Settings
    client: redis.asyncio.Redis
    engine: AsyncEngine
    hub: Hub
    queue: Queue
    events: EventLog
    blobs: Blobs
    metrics: Metrics
    page: Page
    secret: str
    """Signs the sessions' cookies."""
    examples: tuple[Example, ...]
    shares: Recent = field(default_factory=lambda: Recent(_SHARES_BYTES))
    """Answers of /api/shares/{id}."""
    streams: Counter[str] = field(default_factory=Counter)
    """Open event streams by client."""
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    opened: float = field(default_factory=time.monotonic)
    _workers: tuple[Worker, ...] = ()
    _workers_at: float = float("-inf")

    async def workers(self) -> tuple[Worker, ...]:
        """The workers that live; asked again after half a second."""
        if time.monotonic() - self._workers_at > _WORKERS_SECONDS:
            self._workers = await live_workers(self.client)
            self._workers_at = time.monotonic()
        return self._workers

    async def awaited(self, fit: Callable[[Worker], bool]) -> tuple[Worker, ...]:
        """The workers that live; a service that has just started waits for the first one that fits.

        It waits for none that says why it takes no jobs: that reason is the answer.
        """
        while True:
            workers = await self.workers()
            if any(worker.refuses or fit(worker) for worker in workers):
                return workers
            if time.monotonic() - self.opened > self.settings.start_patience:
                return workers
            self._workers_at = float("-inf")
            await asyncio.sleep(_FIRST_WORKER_SECONDS)

    async def view(self, digest: str) -> memoryview | None:
        """A blob, without loading it where it is a file."""
        return await asyncio.to_thread(self.blobs.view, digest)


@asynccontextmanager
async def open_service(settings: Settings, metrics: Metrics) -> AsyncIterator[Service]:
    """Connects, and warms every connection up before the first request."""
    settings.prepare()
    async with AsyncExitStack() as stack:
        client = connect(settings.redis)
        stack.push_async_callback(client.aclose)
        blocking = connect_blocking(settings.redis, retries=6)
        stack.callback(blocking.close)
        engine = open_database(settings)
        stack.push_async_callback(engine.dispose)
        ending = open_database_blocking(settings)
        stack.callback(ending.dispose)
        await asyncio.gather(*(client.ping() for _ in range(4)))
        async with engine.connect() as connection:
            await connection.execute(text("select 1"))
        outbox = Outbox(settings)
        stack.callback(outbox.close)
        queue = Queue(client, Claims(blocking, ending, settings), outbox, settings)
        warming = asyncio.create_task(outbox.warm())
        stack.push_async_callback(asyncio.wait, [warming])
        hub = Hub(connect(settings.redis, retries=1))
        await hub.start()
        stack.push_async_callback(hub.stop)
        reaper = Reaper(queue, engine, metrics, settings)
        reaper.start()
        stack.push_async_callback(reaper.stop)
        blobs, examples = open_blobs(settings), _examples(settings)
        await asyncio.to_thread(keep_files, blobs, examples)
        yield Service(
            settings=settings,
            client=client,
            engine=engine,
            hub=hub,
            queue=queue,
            events=EventLog(client, engine, hub),
            blobs=blobs,
            metrics=metrics,
            page=Page(settings.page_dir),
            secret=await asyncio.to_thread(settings.signing_secret),
            examples=examples,
        )


def _examples(settings: Settings) -> tuple[Example, ...]:
    """Raises ExampleError for one that cannot be read; without the folder the menu is empty, and the log says so."""
    if not settings.examples_dir.is_dir():
        log.error("no examples", folder=str(settings.examples_dir))
        return ()
    return tuple(load_examples(settings.examples_dir))


def keep_files(blobs: Blobs, examples: Iterable[Example]) -> None:
    """Keeps what examples ship as uploads that no eviction takes. Where there is no room the log says so."""
    for example in examples:
        for digest, path in example.files:
            try:
                blobs.put(path.read_bytes())
                kept, reason = blobs.keep(digest), "no room"
            except (StorageFull, OSError) as error:
                kept, reason = False, repr(error)
            if not kept:
                log.error("file of an example not kept", example=example.id, file=path.name, reason=reason)


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


Served = Annotated[Service, Depends(_service)]
