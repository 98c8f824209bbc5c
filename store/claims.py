"""A run in the hands of the one that holds its lease: claim, renew, emit, finish. All calls block."""

import datetime as dt
import threading
import time
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

import redis
from sqlalchemy import Engine

from protocol.events import Event, EventRecord, Finished
from store import keys
from store.scripts import load
from store.settings import Settings
from store.tables import Run, now
from store.version import newer

Refusal = Literal["gone", "finished", "held", "exhausted", "newer"]
"""newer: the run is of a later release, whose requests this one may not understand."""
Watched = Literal["held", "cancel", "lost"]


CANDIDATES = 16
"""Runs at the head of the line that are looked at together."""
LOOKS = 8


class Lost(Exception):
    """Another one holds the run now: whatever this one still says of it is refused."""


@dataclass
class HeldRun:
    """One attempt at a run. Events get the ids <attempt>-1, <attempt>-2, …"""

    id: str
    attempt: int
    device: str
    request: str
    """A RunRequest as JSON."""
    created: float
    enqueued: float
    claimed: float
    """Unix times in seconds."""
    cancelled: bool
    client: str
    """Who sent it."""
    records: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def _insert(dialect: str) -> Any:
    """INSERT … ON CONFLICT is each dialect's own; only the one in use is loaded."""
    return import_module(f"sqlalchemy.dialects.{dialect}").insert


class Claims:
    """Takes runs up and ends them. The database has a run before anybody is told that it has finished."""

    def __init__(self, client: redis.Redis, engine: Engine, settings: Settings) -> None:
        self._client = client
        self._engine = engine
        self._settings = settings
        self._lease = int(settings.lease_seconds * 1000)
        self._scripts: dict[str, Any] = {name: load(client, name) for name in ("claim", "watch", "emit", "finish")}

    def take(self, queue: str) -> HeldRun | None:
        """The run whose turn it is: clients take turns, each with its runs in their order. None where nothing waits."""
        for _ in range(LOOKS):
            waiting: Any = self._client.zrange(keys.pending(queue), 0, CANDIDATES - 1)
            answers = []
            for run_id in waiting:
                answer = self.claim(str(run_id))
                if isinstance(answer, HeldRun):
                    return answer
                if answer == "gone":
                    self._client.zrem(keys.pending(queue), run_id)
                answers.append(answer)
            # Others have taken some of these meanwhile; a run of a later release waits for a worker of its own.
            if len(waiting) < CANDIDATES or all(answer == "newer" for answer in answers):
                return None
        return None

    def claim(self, run_id: str, most_attempts: int | None = None) -> HeldRun | Refusal:
        """A new attempt at the run, or why there is none. `most_attempts` 0 takes it up however often it was lost."""
        most = self._settings.max_attempts if most_attempts is None else most_attempts
        told: Any = self._client.hmget(keys.run(run_id), ["queue", "release"])
        queue, release = told
        if queue is None:
            return "gone"
        if newer(release or ""):
            return "newer"
        names = [
            keys.run(run_id),
            keys.lease(run_id),
            keys.pending(str(queue)),
            keys.RUNNING,
            keys.turns(str(queue)),
            keys.waiting(str(queue)),
        ]
        moment = time.time()
        answer = self._scripts["claim"](keys=names, args=[run_id, self._lease, most, repr(moment)])
        if answer[0] != "claimed":
            refusal: Refusal = answer[0]
            return refusal
        _, attempt, device, request, created, enqueued, cancel, client = answer
        return HeldRun(
            *(run_id, int(attempt), device, request, float(created), float(enqueued), moment),
            *(bool(cancel), client),
        )

    def watch(self, held: HeldRun) -> Watched:
        """Renews the lease; tells whether the run is to be cancelled or belongs to another by now."""
        state: Watched = self._scripts["watch"](
            keys=[keys.run(held.id), keys.lease(held.id)], args=[held.attempt, self._lease]
        )
        return state

    def emit(self, held: HeldRun, event: Event) -> None:
        """Appends an event to the run's stream. Raises Lost."""
        with held.lock:
            event_id, record = self._next(held, event)
            arguments = [held.attempt, event_id, event.kind, record]
            if not self._scripts["emit"](keys=[keys.run(held.id), keys.events(held.id)], args=arguments):
                raise Lost(held.id)
            held.records.append(record)

    def finish(self, held: HeldRun, end: Finished) -> None:
        """Writes the run to the database, then tells its end; may be called again where that failed. Raises Lost."""
        if self.watch(held) == "lost":
            raise Lost(held.id)
        with held.lock:
            event_id, record = self._next(held, end)
            earlier: Any = self._client.xrange(keys.events(held.id), "-", f"({held.attempt}-0")
            self._write(held, end, [*(fields["record"] for _, fields in earlier), *held.records, record])
            names = [keys.run(held.id), keys.lease(held.id), keys.RUNNING, keys.events(held.id)]
            seconds = max(0.0, time.time() - held.claimed)
            spent = keys.gpu_seconds(held.client, dt.datetime.now(dt.UTC).date().isoformat())
            told = self._scripts["finish"](
                keys=[*names, keys.HELD_BYTES, keys.VERDICTS, keys.PACE, spent],
                args=[
                    *(held.id, held.attempt, event_id, record, end.verdict, self._settings.stream_seconds),
                    *(repr(seconds), int(held.device.startswith("gpu"))),
                ],
            )
        if not told:
            raise Lost(held.id)

    def give_back(self, held: HeldRun) -> None:
        """Lets the lease go, so that the run is lined up again for another worker."""
        if self.watch(held) != "lost":
            self._client.delete(keys.lease(held.id))

    def _next(self, held: HeldRun, event: Event) -> tuple[str, str]:
        event_id = f"{held.attempt}-{len(held.records) + 1}"
        return event_id, EventRecord(id=event_id, at=time.time(), event=event).model_dump_json()

    def _write(self, held: HeldRun, end: Finished, records: list[str]) -> None:
        row = {
            "id": held.id,
            "device": held.device,
            "verdict": end.verdict,
            "attempt": held.attempt,
            "request": held.request,
            "events": f"[{','.join(records)}]",
            "created_at": dt.datetime.fromtimestamp(held.created, dt.UTC),
            "finished_at": now(),
        }
        statement: Any = _insert(self._engine.dialect.name)(Run).values(row)
        with self._engine.begin() as connection:
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=[Run.id],
                    set_={name: statement.excluded[name] for name in row if name != "id"},
                    where=Run.attempt <= statement.excluded.attempt,
                )
            )
