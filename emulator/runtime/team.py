"""The OS threads that launches run on, kept from one launch to the next, and the one that watches the clock."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

Call = Callable[[], object]
Alarm = tuple[float, Call]
"""When, by time.perf_counter(), and what is called then, from another thread, once."""

_LOOK_SECONDS = 0.004


class Team:
    """Runs native code on several threads at once. Close it before a fork: its threads are of one process."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Call, queue.SimpleQueue[BaseException | None]] | None] = (
            queue.SimpleQueue()
        )
        self._members: list[threading.Thread] = []
        self._watch: threading.Thread | None = None
        self._alarms: list[Alarm] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def run(self, calls: Sequence[Call], alarms: list[Alarm]) -> None:
        """Returns when all calls have; the first is made by this very thread. Alarms that are not due by then lapse."""
        if self._watch is None:
            self._watch = threading.Thread(target=self._look, daemon=True)
            self._watch.start()
        others = calls[1:]
        while len(self._members) < len(others):
            member = threading.Thread(target=self._work, daemon=True)
            self._members.append(member)
            member.start()
        with self._lock:
            self._alarms = alarms
        if not others:
            try:
                calls[0]()
            finally:
                with self._lock:
                    self._alarms = []
            return
        done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        try:
            for call in others:
                self._calls.put((call, done))
            calls[0]()
        finally:
            failures = [done.get() for _ in others]
            with self._lock:
                self._alarms = []
        for failure in failures:
            if failure is not None:
                raise failure

    def close(self) -> None:
        """Ends the threads, and waits until they are gone."""
        self._closed.set()
        for _ in self._members:
            self._calls.put(None)
        for thread in (*self._members, *((self._watch,) if self._watch else ())):
            thread.join()
        self._members, self._watch = [], None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _work(self) -> None:
        while (task := self._calls.get()) is not None:
            call, done = task
            try:
                call()
            except BaseException as error:
                done.put(error)
            else:
                done.put(None)

    def _look(self) -> None:
        while not self._closed.wait(_LOOK_SECONDS):
            with self._lock:
                now = time.perf_counter()
                for alarm in [item for item in self._alarms if item[0] <= now]:
                    self._alarms.remove(alarm)
                    alarm[1]()
