"""Puts runs into the queue and takes them out of it, as far as the API does so."""

import asyncio
import datetime as dt
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis.asyncio
import structlog

from app.clients import Caller
from app.errors import Conflict, TooMany
from app.outbox import Outbox
from protocol.events import Finished
from protocol.run import RunRequest
from store import keys
from store.claims import Claims, HeldRun, Lost
from store.identifiers import new_id
from store.scripts import load
from store.settings import Settings
from store.version import VERSION

log = structlog.get_logger(__name__)

CANCELLED = Finished(verdict="cancelled", message="Cancelled while it waited.")
LOST = "The worker was lost {} times while it worked on this run, so it is not tried again."


@dataclass(frozen=True)
class Waiting:
    """Where a run is: how many will be taken up before it, and in about how many seconds it will be, where known."""

    state: str
    ahead: int
    seconds: float | None


@dataclass(frozen=True)
class Admitted:
    """A run in the queue, with the number of runs ahead of it."""

    id: str
    device: str
    position: int
    state: str = "queued"


class Queue:
    """Admission and cancellation are scripts; Celery only carries the id of a run to a worker."""

    def __init__(self, client: redis.asyncio.Redis, claims: Claims, outbox: Outbox, settings: Settings) -> None:
        self._client = client
        self._claims = claims
        self._outbox = outbox
        self._settings = settings
        self._scripts: dict[str, Any] = {name: load(client, name) for name in ("admit", "cancel", "reap", "take_token")}

    async def take_token(self, kind: str, client: Caller, per_second: float, burst: int) -> None:
        """Raises TooMany where the client has used up its share."""
        wait = await self._take(keys.rate(kind, client.id), per_second, burst)
        if wait > 0:
            raise TooMany(f"At most {per_second:g} a second, {burst} at once. Wait a moment.", wait, kind="rate")

    async def may_begin_session(self, network: str) -> bool:
        """Whether an address, which may be a whole class's, has a session left to begin."""
        settings = self._settings
        return (
            await self._take(keys.rate("session", network), settings.sessions_per_second, settings.sessions_burst) <= 0
        )

    async def _take(self, bucket: str, per_second: float, burst: int) -> float:
        return float(await self._scripts["take_token"](keys=[bucket], args=[per_second, burst]))

    async def admit(self, request: RunRequest, device: str, client: Caller, key: str | None) -> Admitted:
        """The run, waiting; with an idempotency key that was used before, the earlier one.

        Raises TooMany, or Conflict where the key was used for another request.
        """
        settings = self._settings
        run_id, queue = new_id(), device
        text = request.model_dump_json()
        names = [
            *(keys.run(run_id), keys.events(run_id), keys.pending(queue), keys.SEQUENCE, keys.HELD_BYTES),
            *(keys.rate("run", client.id), keys.idempotency(client.id, key or ""), keys.QUEUES),
            *(keys.turns(queue), keys.waiting(queue), keys.gpu_seconds(client.id, _today())),
        ]
        status, detail = await self._scripts["admit"](
            keys=names,
            args=[
                *(
                    run_id,
                    queue,
                    device,
                    text,
                    hashlib.sha256(text.encode()).hexdigest(),
                    f"{time.time():.6f}",
                ),
                *(settings.queue_cap, settings.queue_bytes, settings.runs_per_second, settings.runs_burst),
                settings.idempotency_seconds if key else 0,
                VERSION,
                *(client.id, client.network, settings.waiting_per_client, settings.waiting_per_network),
                settings.gpu_seconds_per_day if device.startswith("gpu") else 0,
            ],
        )
        if status == "rate":
            raise TooMany(
                f"At most {settings.runs_per_second:g} runs a second, {settings.runs_burst} at once. Wait a moment.",
                float(detail),
                kind="rate",
            )
        if status == "full":
            raise TooMany(f"The queue is full: {detail} runs wait.", 5, kind="queue-full")
        if status in ("yours", "network"):
            whose = "yours" if status == "yours" else "your network's"
            raise TooMany(f"{detail} runs of {whose} wait already. Wait until some have run.", 5, kind="waiting")
        if status == "gpu":
            used = f"{float(detail):.0f} s of GPU time today, of {settings.gpu_seconds_per_day:g}"
            spent = f"You have used {used}."
            raise TooMany(f"{spent} The emulator has no such limit.", _seconds_of_today_left(), kind="gpu-seconds")
        if status == "conflict":
            raise Conflict("This Idempotency-Key was used for another request.", kind="idempotency")
        if status == "repeated":
            return await self._earlier(detail, device)
        await self.send(run_id, queue)
        return Admitted(run_id, device, int(detail))

    async def send(self, run_id: str, queue: str) -> None:
        """Where this fails the run is in the line all the same, and the reaper sends its message."""
        try:
            await self._outbox.run(run_id, queue)
        except Exception as error:
            log.warning("message not sent; the reaper will", run=run_id, error=str(error))

    async def ask(self, question_id: str, expires: float) -> None:
        """Sends a compile-only question to the workers that compile."""
        await self._outbox.inspect(question_id, keys.COMPILE_QUEUE, expires)

    async def cancel(self, run_id: str) -> str | None:
        """The state after the wish: finished where the run waited or had ended; None where it is not known here."""
        state: str = await self._scripts["cancel"](keys=[keys.run(run_id)])
        if state == "queued":
            return await asyncio.to_thread(self._end, run_id, CANCELLED)
        return state or None

    async def reap(self) -> int:
        """Lines up what lost workers had; ends what has lost too many. Answers how many runs were lined up."""
        count = 0
        for queue in await self._client.smembers(keys.QUEUES):
            name = str(queue)
            again, exhausted = await self._scripts["reap"](
                keys=[
                    *(keys.RUNNING, keys.pending(name), name, keys.turns(name), keys.waiting(name)),
                    *(keys.SEQUENCE, keys.LOST),
                ],
                args=[
                    *(name, repr(time.time()), self._settings.orphan_grace),
                    *(self._settings.max_attempts, keys.PREFIX, int(self._settings.lease_seconds * 1000)),
                ],
            )
            for run_id in again:
                log.warning("run lined up again", run=run_id, queue=name)
                await self.send(run_id, name)
            for run_id in exhausted:
                log.error("run lost its workers too often", run=run_id)
                end = Finished(verdict="error", message=LOST.format(self._settings.max_attempts))
                await asyncio.to_thread(self._end, run_id, end)
            count += len(again)
        return count

    async def place(self, run_id: str, slots: Callable[[str], int]) -> Waiting | None:
        """None where the run is not known here; `slots` tells how many runs of a device are worked on at once."""
        held: Any = await self._client.hmget(keys.run(run_id), ["state", "queue"])
        state, queue = held
        if state != "queued":
            return Waiting(state, 0, None) if state else None
        place: Any = await self._client.zrank(keys.pending(queue), run_id)
        ahead = int(place or 0)
        pace: Any = await self._client.hget(keys.PACE, queue)
        seconds = None if pace is None else float(pace) * (ahead + 1) / max(1, slots(queue))
        return Waiting(state, ahead, seconds)

    async def _earlier(self, run_id: str, device: str) -> Admitted:
        held: Any = await self._client.hmget(keys.run(run_id), ["state", "device", "queue"])
        state, known, queue = held
        place: Any = await self._client.zrank(keys.pending(queue), run_id) if queue else None
        return Admitted(run_id, known or device, int(place or 0), state or "finished")

    def _end(self, run_id: str, end: Finished) -> str:
        """Takes the run up as a worker would, to end it at once."""
        held = self._claims.claim(run_id, most_attempts=0)
        if not isinstance(held, HeldRun):
            return "finished" if held in ("finished", "gone") else "running"
        try:
            self._claims.finish(held, end)
        except Lost:
            return "running"
        return "finished"


def _today() -> str:
    return dt.datetime.now(dt.UTC).date().isoformat()


def _seconds_of_today_left() -> int:
    now = dt.datetime.now(dt.UTC)
    return 24 * 3600 - (now.hour * 3600 + now.minute * 60 + now.second)
