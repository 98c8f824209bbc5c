"""What the API does at its leisure: runs of lost workers every two seconds, old rows every hour."""

import asyncio
import datetime as dt
import time

import structlog
from redis.exceptions import RedisError
from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.observe import Metrics
from app.queue import Queue
from app.tasks import end
from store.settings import Settings
from store.tables import Run, Share, now

log = structlog.get_logger(__name__)

PURGE_INTERVAL = 3600.0


class Reaper:
    """Several may run: each step is atomic in Redis or in the database."""

    def __init__(self, queue: Queue, engine: AsyncEngine, metrics: Metrics, settings: Settings) -> None:
        self._queue = queue
        self._engine = engine
        self._metrics = metrics
        self._settings = settings
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        if self._task is not None:
            await end(self._task)

    async def _work(self) -> None:
        purged = time.monotonic() - PURGE_INTERVAL + 60
        while True:
            await asyncio.sleep(self._settings.reap_interval)
            try:
                self._metrics.reaped.inc(await self._queue.reap())
                if time.monotonic() - purged > PURGE_INTERVAL:
                    purged = time.monotonic()
                    await self.purge()
            except (RedisError, SQLAlchemyError, OSError) as error:
                log.warning("reaper", error=str(error))

    async def purge(self) -> None:
        """Deletes the runs that are older than `run_days`, but for those whose results a link shows."""
        before = now() - dt.timedelta(days=self._settings.run_days)
        shown = select(Share.run).where(Share.run.is_not(None))
        async with self._engine.begin() as connection:
            await connection.execute(delete(Run).where(Run.finished_at < before, Run.id.not_in(shown)))
