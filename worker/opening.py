"""Opens the sandbox, and says why not for as long as it does not open."""

import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack

import redis
import structlog

from sandbox.launcher import Sandbox, SandboxUnavailable
from store.workers import Worker
from worker.presence import Presence

log = structlog.get_logger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0
"""Seconds between two attempts: a machine under load may miss the time of the first."""


def open_sandbox(
    attempt: Callable[[], Sandbox],
    client: redis.Redis,
    worker: Worker,
    ttl: float,
    stopping: threading.Event,
) -> Sandbox | None:
    """Tries until it opens; meanwhile no message is taken, and the page can say why. None where it is to stop."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    pause = FIRST_PAUSE
    with ExitStack() as told:
        while not stopping.is_set():
            try:
                return attempt()
            except SandboxUnavailable as error:
                log.error("no job is taken", reason=str(error), again_in=pause)
                told.close()
                refusal = worker.model_copy(update={"refuses": str(error)})
                told.enter_context(Presence(client, refusal, ttl))
            stopping.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
    return None
