"""Whether a worker's GPU may have the next run: asked after a fault, and of the card's own account of its errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import structlog

from protocol.events import Finished

log = structlog.get_logger(__name__)

State = Literal["sound", "doubtful", "quarantined"]
ATTEMPTS = 3
"""Checks that a GPU may fail in a row: the driver takes a moment to clear up after a kernel that was killed."""
PAUSE_SECONDS = 0.2

Check = Callable[[], str]
"""Runs a kernel whose result is known; why that did not go well, or nothing."""
QUARANTINED = "{gpu} is in quarantine since {at}: {why}. It gets no runs until its worker is started anew."


@dataclass
class Health:
    """`sound` -> `doubtful` by an end that may have hurt the card -> `sound` or, by checks that fail, `quarantined`.

    What the card tells of itself (`broken`) leads to quarantine at once, from where no way leads back: a person looks.
    """

    gpu: str
    check: Check
    broken: Callable[[], str]
    pause: Callable[[float], None] = time.sleep
    state: State = "sound"
    why: str = ""

    def after(self, end: Finished) -> State:
        """To be told of every run's end, before the next."""
        if self.state == "quarantined":
            return self.state
        if why := self.broken():
            return self._quarantine(why)
        if not doubtful(end):
            return self.state
        self.state = "doubtful"
        for attempt in range(1, ATTEMPTS + 1):
            failed = self._checked()
            if why := self.broken():
                return self._quarantine(why)
            if not failed:
                self.state = "sound"
                return self.state
            log.warning("GPU fails a check", attempt=attempt, reason=failed)
            if attempt < ATTEMPTS:
                self.pause(PAUSE_SECONDS * attempt)
        return self._quarantine(f"a kernel whose result is known failed {ATTEMPTS} times: {failed}")

    def _checked(self) -> str:
        try:
            return self.check()
        except Exception as error:
            log.exception("GPU could not be checked")
            return f"the check was not done ({type(error).__name__}: {error})"

    def _quarantine(self, why: str) -> State:
        at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        self.state, self.why = "quarantined", QUARANTINED.format(gpu=self.gpu, at=at, why=why)
        log.error("GPU in quarantine", reason=why)
        return self.state


def doubtful(end: Finished) -> bool:
    """Whether a run ended in a way after which a GPU is not taken to be sound: killed, crashed or at fault."""
    return end.verdict not in ("ok", "compile-error")
