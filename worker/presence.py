"""Tells every few seconds that this worker lives, and what it offers."""

import threading
from types import TracebackType
from typing import Self

import redis
import structlog

from store.workers import Worker, announce, withdraw

log = structlog.get_logger(__name__)


class Presence:
    """While it is entered, the worker counts as live; it is withdrawn at the end."""

    def __init__(self, client: redis.Redis, worker: Worker, ttl: float) -> None:
        self._client = client
        self._worker = worker
        self._ttl = ttl
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="presence", daemon=True)

    def __enter__(self) -> Self:
        announce(self._client, self._worker, self._ttl)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        try:
            withdraw(self._client, self._worker.name)
        except redis.RedisError as error:
            log.warning("worker not withdrawn", error=str(error))

    def _tell(self) -> None:
        while not self._over.wait(self._ttl / 3):
            try:
                announce(self._client, self._worker, self._ttl)
            except redis.RedisError as error:
                log.warning("worker not announced", error=str(error))
