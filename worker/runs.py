"""One run, from its message in the queue to its last event."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import redis
import structlog
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from protocol.diagnostics import Diagnostic
from protocol.events import Compiling, Diagnosed, Event, Finished, Timed
from protocol.reading import Unreadable, read
from protocol.run import RunRequest
from store.claims import Claims, HeldRun, Lost
from worker.lease import Lease

log = structlog.get_logger(__name__)

Perform = Callable[[RunRequest, str, Callable[[Event], None], threading.Event], Finished]

CANCELLED = Finished(verdict="cancelled", message="Cancelled before it began.")
WRITE_SECONDS = 600.0
"""How long the end of a run waits for a database that takes nothing."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 2.0
PASSING = (OperationalError, PoolTimeout, redis.ConnectionError, redis.TimeoutError)
"""Locked, full or away: what an operator mends while the worker waits."""
WAITING = Diagnostic(
    severity="note",
    message="The kernel is done; its results waited for the service's database, which is locked, full or away",
    origin="service",
    code="database",
)
WORKER_FAILED = "The worker failed: {}. This is our fault; the run may be sent again."


class Runs:
    """`perform` is sandbox.pipeline.perform with the worker's sandbox, stores and limits."""

    def __init__(
        self, claims: Claims, perform: Perform, name: str, stopping: threading.Event, lease_seconds: float
    ) -> None:
        self._claims = claims
        self._perform = perform
        self._name = name
        self._stopping = stopping
        self._lease_seconds = lease_seconds

    def run(self, queue: str) -> None:
        """Works off the run whose turn it is: a message says that one waits, and not which."""
        held = self._claims.take(queue)
        if held is None:
            log.debug("nothing waits", queue=queue)
            return
        with structlog.contextvars.bound_contextvars(run=held.id, attempt=held.attempt):
            try:
                end = self._attempt(held)
                if end is None:
                    return
                self._finish(held, end)
                log.info("run finished", verdict=end.verdict, seconds=round(end.seconds, 3))
            except Lost:
                log.warning("run lost to another worker")
            except (redis.RedisError, SQLAlchemyError) as error:
                # The lease runs out, and the run is taken up again.
                log.error("run not written", error=str(error))

    def _attempt(self, held: HeldRun) -> Finished | None:
        """The end; None where the run now belongs to another, or is to be taken up again."""
        if held.cancelled:
            return CANCELLED
        self._claims.emit(held, Compiling(attempt=held.attempt, worker=self._name))
        with Lease(self._claims, held, self._stopping, self._lease_seconds) as lease:

            def emit(event: Event) -> None:
                if lease.why in ("lost", "stopping"):
                    return
                try:
                    self._claims.emit(held, event)
                except Lost:
                    lease.end("lost")

            end = self._work(held, emit, lease.cancelled)
        if lease.why == "lost":
            raise Lost(held.id)
        if lease.why == "stopping" and end.verdict == "cancelled":
            log.info("run given back: the worker stops")
            self._claims.give_back(held)
            return None
        return end

    def _finish(self, held: HeldRun, end: Finished) -> None:
        """Writes the end. What has been worked out waits, lease in hand, for a database that is locked or full."""
        deadline, pause, told = time.monotonic() + WRITE_SECONDS, FIRST_PAUSE, False
        with Lease(self._claims, held, self._stopping, self._lease_seconds):
            while True:
                try:
                    return self._claims.finish(held, end)
                except PASSING as error:
                    log.warning("run not written yet", error=str(error))
                    if self._stopping.is_set() or time.monotonic() > deadline:
                        raise
                if not told:
                    self._tell_of_the_wait(held)
                    told = True
                self._stopping.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _tell_of_the_wait(self, held: HeldRun) -> None:
        with suppress(redis.RedisError):
            self._claims.emit(held, Diagnosed(diagnostic=WAITING))

    def _work(self, held: HeldRun, emit: Callable[[Event], None], cancelled: threading.Event) -> Finished:
        try:
            request = read(RunRequest, held.request)
        except Unreadable as error:
            log.error("stored request not readable", error=str(error))
            return Finished(verdict="error", message=f"This worker does not understand the request: {error}")
        emit(Timed(stage="queue", seconds=max(0.0, held.claimed - held.enqueued)))
        try:
            return self._perform(request, held.device, emit, cancelled)
        except redis.RedisError:
            raise
        except Exception as error:
            log.exception("run failed in the worker")
            return Finished(verdict="error", message=WORKER_FAILED.format(type(error).__name__))
