"""Event streams and accepted runs: how soon many readers have an event, and how many runs a second are taken."""

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from cli.bench import percentile
from cli.bench_load import Session
from cli.local import examples
from cli.served import served
from cli.usage import Refused
from protocol.devices import DeviceInfo
from protocol.events import Finished, Printed
from store.claims import Claims, HeldRun
from store.connections import connect_blocking
from store.database import open_database_blocking
from store.settings import Settings
from store.workers import Worker, announce

DEVICE = DeviceInfo(id="gpu:bench", kind="gpu", name="A measurement's own", isolation="strong")
"""No kernel runs: the measurement plays the worker, so that only queue, API and streams are timed."""
WIDE = {
    **dict.fromkeys(("RUNS_PER_SECOND", "RUNS_BURST", "WAITING_PER_CLIENT", "WAITING_PER_NETWORK"), "100000"),
    **dict.fromkeys(("QUEUE_CAP", "SESSIONS_BURST", "LEASE_SECONDS", "ORPHAN_GRACE", "MAX_STREAMS"), "100000"),
}
READERS_A_RUN = 10
EVENTS_A_SECOND = 50
SENDERS = 8
READY_SECONDS = 60.0


def measure(readers: int, posts: int, seconds: float) -> dict[str, Any]:
    """Times in seconds: from before an event is emitted until a reader has it, and of POST /api/runs. Raises Refused.

    Readers and senders share the processors with the service.
    """
    with tempfile.TemporaryDirectory(prefix="warpyard-bench-") as folder, served(Path(folder), WIDE) as (port, _):
        settings = Settings(data_dir=Path(folder), lease_seconds=100000)
        engine = open_database_blocking(settings)
        try:
            with connect_blocking(settings.redis) as client, _device(client):
                claims = Claims(client, engine, settings)
                runs = [_accepted(port) for _ in range(-(-readers // READERS_A_RUN))]
                held = [_held(claims, run_id) for run_id, _ in runs]
                places = [runs[number % len(runs)] for number in range(readers)]
                delays = asyncio.run(_streams(port, places, claims, held, seconds))
                return {"processors": os.cpu_count(), "streams": delays, "posts": _posts(port, posts)}
        finally:
            engine.dispose()


@contextmanager
def _device(client: redis.Redis) -> Iterator[None]:
    worker = Worker(name="bench", queues=(DEVICE.id,), devices=(DEVICE,))
    over = threading.Event()

    def tell() -> None:
        while True:
            announce(client, worker, 10)
            if over.wait(2):
                return

    teller = threading.Thread(target=tell)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _body() -> bytes:
    request = next(example for example in examples() if example.id == "saxpy").payload.request
    return request.model_copy(update={"device": DEVICE.id}).model_dump_json().encode()


def _accepted(port: int) -> tuple[str, str]:
    """(id, cookie) of a new run of a new session. Raises Refused."""
    session, deadline = Session(port), time.monotonic() + READY_SECONDS
    try:
        while True:
            status, told = session.post(_body())
            if status == 202:
                return str(told["id"]), session.headers.get("Cookie", "")
            if status != 503 or time.monotonic() > deadline:
                raise Refused(f"POST /api/runs answered {status}: {told}", code=1)
            time.sleep(0.2)
    finally:
        session.close()


def _held(claims: Claims, run_id: str) -> HeldRun:
    held = claims.claim(run_id)
    if not isinstance(held, HeldRun):
        raise Refused(f"the run {run_id} could not be taken: {held}", code=1)
    return held


async def _streams(
    port: int, places: list[tuple[str, str]], claims: Claims, held: list[HeldRun], seconds: float
) -> dict[str, Any]:
    delays: list[float] = []
    connected = asyncio.Semaphore(0)
    readers = [asyncio.create_task(_read(port, *place, delays, connected)) for place in places]
    for _ in readers:
        await asyncio.wait_for(connected.acquire(), READY_SECONDS)
    emitted = await asyncio.to_thread(_emit, claims, held, seconds)
    ends = await asyncio.wait_for(asyncio.gather(*readers), READY_SECONDS)
    expected = emitted * len(places) // len(held)
    return {
        "readers": len(places),
        "runs": len(held),
        "emitted": emitted,
        "received": len(delays),
        "missing": expected - len(delays),
        "ended": sum(ends),
        **{f"p{share}": percentile(delays, share / 100) for share in (50, 95, 99)},
    }


async def _read(port: int, run_id: str, cookie: str, delays: list[float], connected: asyncio.Semaphore) -> bool:
    """Whether the stream went on until the run's end; a bare socket, as a client's own time must not count."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n"
        writer.write(head.encode())
        status = await reader.readline()
        if b" 200 " not in status:
            raise Refused(f"a stream was refused: {status.decode(errors='replace').strip()}", code=1)
        while line := await reader.readline():
            if b'"sent ' in line:
                delays.append(time.perf_counter() - float(line.partition(b'"sent ')[2].partition(b'"')[0]))
            elif b'"kind":"queued"' in line:
                connected.release()
            elif b'"kind":"finished"' in line:
                return True
        return False
    finally:
        writer.close()


def _emit(claims: Claims, held: list[HeldRun], seconds: float) -> int:
    """How many events were emitted: each run in turn, at an even pace and as often as the others, then its end."""
    count, begin = max(1, round(seconds * EVENTS_A_SECOND / len(held))) * len(held), time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, begin + number / EVENTS_A_SECOND - time.perf_counter()))
        claims.emit(held[number % len(held)], Printed(text=f"sent {time.perf_counter()!r}"))
    for run in held:
        claims.finish(run, Finished(verdict="ok"))
    return count


def _posts(port: int, count: int) -> dict[str, Any]:
    body = _body()

    def send(share: int) -> list[tuple[int, float]]:
        session, told = Session(port), []
        try:
            for _ in range(share):
                begin = time.perf_counter()
                status, _answer = session.post(body)
                told.append((status, time.perf_counter() - begin))
        finally:
            session.close()
        return told

    begin = time.perf_counter()
    with ThreadPoolExecutor(SENDERS) as pool:
        shares = [count // SENDERS + (number < count % SENDERS) for number in range(SENDERS)]
        answers = [answer for part in pool.map(send, shares) for answer in part]
    whole = time.perf_counter() - begin
    times = [seconds for _, seconds in answers]
    accepted = sum(status == 202 for status, _ in answers)
    figures = {f"p{share}": percentile(times, share / 100) for share in (50, 95, 99)}
    return {"sent": count, "accepted": accepted, "senders": SENDERS, "a_second": accepted / whole, **figures}


def table(figures: dict[str, Any]) -> list[tuple[str, ...]]:
    streams, posts = figures["streams"], figures["posts"]

    def times(item: dict[str, Any]) -> tuple[str, ...]:
        return tuple(f"{item[name] * 1000:.2f} ms" for name in ("p50", "p95", "p99"))

    return [
        ("service", "p50", "p95", "p99", "n"),
        (f"emit to receive, {streams['readers']} streams", *times(streams), str(streams["received"])),
        (f"POST /api/runs, {posts['a_second']:.0f}/s", *times(posts), str(posts["accepted"])),
    ]
