"""Answers compile-only questions for as long as somebody waits."""

import threading
from collections.abc import Callable

import redis
import structlog

from protocol.inspection import InspectReport, InspectRequest
from protocol.reading import read
from store import keys

log = structlog.get_logger(__name__)

Inspect = Callable[[InspectRequest, threading.Event], InspectReport]

INTERVAL = 0.1
"""Seconds between two looks at whether the question still stands."""
ANSWER_SECONDS = 60


class Inspections:
    """`inspect` is sandbox.inspection.inspect with the worker's sandbox, stores and limits."""

    def __init__(self, client: redis.Redis, inspect: Inspect, stopping: threading.Event) -> None:
        self._client = client
        self._inspect = inspect
        self._stopping = stopping

    def answer(self, question_id: str) -> None:
        """Nothing is done where the question was withdrawn, which happens when its asker goes away."""
        question = self._client.get(keys.question(question_id))
        if question is None:
            return
        request = read(InspectRequest, str(question))
        over, cancelled = threading.Event(), threading.Event()

        def watch() -> None:
            while not over.wait(INTERVAL):
                if self._stopping.is_set() or not self._client.exists(keys.question(question_id)):
                    return cancelled.set()
            return None

        watcher = threading.Thread(target=watch, name=f"question-{question_id}", daemon=True)
        watcher.start()
        try:
            report = self._inspect(request, cancelled)
        except Exception as error:
            log.exception("inspection failed in the worker", question=question_id)
            report = InspectReport(
                verdict="error",
                message=f"The worker failed: {type(error).__name__}. This is our fault.",
                architecture=request.compile.architecture,
            )
        finally:
            over.set()
            watcher.join()
        if cancelled.is_set() and not self._stopping.is_set():
            return
        with self._client.pipeline() as pipe:
            pipe.set(keys.answer(question_id), report.model_dump_json(), ex=ANSWER_SECONDS)
            pipe.delete(keys.question(question_id))
            pipe.publish(keys.answer(question_id), "")
            pipe.execute()
