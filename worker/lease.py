"""Keeps a run's lease while it is worked on, and hears of its cancellation."""

import threading
import time
from types import TracebackType
from typing import Literal, Self

import redis
import structlog

from store.claims import Claims, HeldRun

log = structlog.get_logger(__name__)

INTERVAL = 0.05
"""Seconds between two looks at the cancel flag, each of which renews the lease."""

Why = Literal["", "cancel", "lost", "stopping"]


class Lease:
    """A thread that sets `cancelled` once the run is to end early; `why` then says for what reason."""

    def __init__(self, claims: Claims, held: HeldRun, stopping: threading.Event, lease_seconds: float) -> None:
        self.cancelled = threading.Event()
        self.why: Why = ""
        self._claims = claims
        self._held = held
        self._stopping = stopping
        self._patience = lease_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"lease-{held.id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def end(self, why: Why) -> None:
        """Stops the work; the first reason stays. A cancelled run keeps its lease until its end is written."""
        if not self.cancelled.is_set():
            self.why = why
            self.cancelled.set()

    def _watch(self) -> None:
        renewed = time.monotonic()
        while not self._over.wait(INTERVAL):
            if self._stopping.is_set():
                return self.end("stopping")
            try:
                state = self._claims.watch(self._held)
                renewed = time.monotonic()
            except redis.RedisError as error:
                log.warning("lease not renewed", run=self._held.id, error=str(error))
                state = "lost" if time.monotonic() - renewed > self._patience else "held"
            if state != "held":
                self.end(state)
            if state == "lost":
                return None
        return None
