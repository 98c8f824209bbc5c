"""Has a GPU to itself among the workers of one queue, wherever they run."""

import os
import signal
import threading
import time
from types import TracebackType
from typing import Self

import redis
import structlog

from store import keys

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.5


class GpuTaken(Exception):
    """Another worker has the GPU; the message names it."""


class GpuLease:
    """While it is entered no other worker gets the GPU. A worker that loses it stops in order."""

    def __init__(self, client: redis.Redis, uuid: str, worker: str, ttl: float) -> None:
        self._client = client
        self._key = keys.gpu(uuid)
        self._uuid = uuid
        self._worker = worker
        self._ttl = ttl
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="gpu-lease", daemon=True)

    def __enter__(self) -> Self:
        """Waits for a killed worker's lease to run out. Raises GpuTaken."""
        deadline = time.monotonic() + self._ttl + 1
        while not self._client.set(self._key, self._worker, nx=True, px=int(self._ttl * 1000)):
            if time.monotonic() > deadline:
                holder = str(self._client.get(self._key))
                raise GpuTaken(f"the worker {holder} has the GPU {self._uuid}; a GPU runs one job at a time")
            time.sleep(LOOK_SECONDS)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        try:
            if self._client.get(self._key) == self._worker:
                self._client.delete(self._key)
        except redis.RedisError as error:
            log.warning("GPU not given back; its lease runs out", error=str(error))

    def _keep(self) -> None:
        while not self._over.wait(self._ttl / 3):
            try:
                holder = self._client.get(self._key)
                if holder is None:
                    self._client.set(self._key, self._worker, nx=True, px=int(self._ttl * 1000))
                elif holder == self._worker:
                    self._client.pexpire(self._key, int(self._ttl * 1000))
                else:
                    log.error("GPU lost to another worker", holder=str(holder))
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
            except redis.RedisError as error:
                log.warning("GPU lease not renewed", error=str(error))
