"""The events of a run: from the stream while it lives, else from the database; exactly once and in order."""

import datetime as dt
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import redis.asyncio
from pydantic import TypeAdapter
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from app.hub import Hub
from protocol.events import EventRecord
from protocol.result import RunResult, fold
from store import keys
from store.tables import Run

PATIENCE = 15.0
"""Seconds after which a reader looks at the stream even though nothing was told."""

_RECORDS = TypeAdapter(tuple[EventRecord, ...])

Place = tuple[int, int]
START: Place = (0, 0)


@dataclass(frozen=True)
class StoredRun:
    """A run as it stands."""

    id: str
    created_at: dt.datetime
    request: str
    events: str
    """RunRequest, and a list of EventRecord, as JSON."""

    def records(self) -> tuple[EventRecord, ...]:
        return _RECORDS.validate_json(self.events)

    def result(self) -> RunResult:
        return fold(self.records())


@dataclass(frozen=True)
class Told:
    """One event on its way to a reader; `record` is an EventRecord as JSON."""

    place: Place
    kind: str
    record: str

    @property
    def id(self) -> str:
        return f"{self.place[0]}-{self.place[1]}"


def place_of(event_id: str) -> Place:
    """Raises ValueError."""
    attempt, sequence = event_id.split("-")
    if not (attempt.isascii() and attempt.isdigit() and sequence.isascii() and sequence.isdigit()):
        raise ValueError(event_id)
    if max(len(attempt), len(sequence)) > 15:
        raise ValueError(event_id)
    return int(attempt), int(sequence)


class EventLog:
    def __init__(self, client: redis.asyncio.Redis, engine: AsyncEngine, hub: Hub) -> None:
        self._client = client
        self._engine = engine
        self._hub = hub

    async def find(self, run_id: str) -> StoredRun | None:
        async with self._client.pipeline(transaction=True) as pipe:
            pipe.hmget(keys.run(run_id), ["created", "request"])
            pipe.xrange(keys.events(run_id))
            (created, request), entries = await pipe.execute()
        if request is not None:
            events = f"[{','.join(fields['record'] for _, fields in entries)}]"
            return StoredRun(run_id, dt.datetime.fromtimestamp(float(created), dt.UTC), request, events)
        row = await self._row(run_id)
        return None if row is None else StoredRun(run_id, row.created_at, row.request, row.events)

    async def state(self, run_id: str) -> str | None:
        """queued, running or finished; None where there is no such run."""
        state: Any = await self._client.hget(keys.run(run_id), "state")
        if state is not None:
            return str(state)
        async with self._engine.connect() as connection:
            found = await connection.scalar(select(Run.id).where(Run.id == run_id))
        return None if found is None else "finished"

    async def follow(self, run_id: str, after: Place = START) -> AsyncIterator[Told]:
        """Every event after `after`, until the run has finished or the process closes."""
        at = after
        async with self._hub.subscribe(keys.events(run_id)) as news:
            while not news.closed:
                message = await news.next(PATIENCE)
                told: list[Told] = []
                if message is not None:
                    event_id, kind, record = message.split(" ", 2)
                    place = place_of(event_id)
                    if place <= at:
                        continue
                    if place == (at[0], at[1] + 1):
                        told = [Told(place, kind, record)]
                if not told:
                    # Something is missing, or may be: the stream is the truth.
                    told, known = await self._after(run_id, at)
                    if not known:
                        return
                for item in told:
                    at = item.place
                    yield item
                    if item.kind == "finished":
                        return

    async def more(self, run_id: str, at: Place) -> bool:
        """Whether a run has events after a place."""
        return bool((await self._after(run_id, at))[0])

    async def _after(self, run_id: str, at: Place) -> tuple[list[Told], bool]:
        """What came after a place; False where the run has ended and nothing more will come."""
        entries: Any = await self._client.xrange(keys.events(run_id), f"({at[0]}-{at[1]}")
        if entries:
            return [Told(place_of(name), fields["kind"], fields["record"]) for name, fields in entries], True
        if await self._client.exists(keys.events(run_id)):
            state: Any = await self._client.hget(keys.run(run_id), "state")
            return [], state not in ("finished", None)
        row = await self._row(run_id)
        if row is None:
            return [], False
        told = []
        for item in json.loads(row.events):
            place = place_of(item["id"])
            if place > at:
                told.append(Told(place, item["event"]["kind"], json.dumps(item, separators=(",", ":"))))
        return told, bool(told)

    async def _row(self, run_id: str) -> Run | None:
        async with AsyncSession(self._engine) as session:
            return await session.get(Run, run_id)
