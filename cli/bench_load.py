"""A class presses Run: sessions of one address that send the examples within a minute, under the limits as they are."""

import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from cli.bench import percentile
from cli.local import examples
from cli.served import events, served
from cli.usage import Refused

PATIENCE = 300.0
"""Seconds after which a run that has no end counts as lost."""
READY_SECONDS = 60.0


class Session:
    """One browser: a connection and a cookie."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._headers = {"Content-Type": "application/json"}

    def post(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Status and JSON of POST /api/runs."""
        self._connection.request("POST", "/api/runs", body, self._headers)
        answer = self._connection.getresponse()
        cookie = answer.headers.get("Set-Cookie")
        if cookie:
            self._headers["Cookie"] = cookie.partition(";")[0]
        return answer.status, json.loads(answer.read())

    @property
    def headers(self) -> dict[str, str]:
        return dict(self._headers)

    def verdict(self, run_id: str) -> str:
        """Of the finished event; empty where the stream ends without one."""
        self._connection.request("GET", f"/api/runs/{run_id}/events", headers=self._headers)
        for event in events(self._connection):
            if event["kind"] == "finished":
                return str(event["verdict"])
        return ""

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True)
class Press:
    """What one session got: `status` 0 where the connection broke, `seconds` from the press to the end of the run."""

    status: int
    verdict: str
    seconds: float


def press(port: int, body: bytes) -> Press:
    session, begin, status, verdict = Session(port), time.perf_counter(), 0, ""
    try:
        status, told = session.post(body)
        if status == 202:
            verdict = session.verdict(told["id"])
    except (OSError, HTTPException, ValueError):
        pass
    finally:
        session.close()
    return Press(status, verdict, time.perf_counter() - begin)


def wait_until_ready(port: int) -> None:
    """Raises Refused where the workers of a server are not up in time."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        finally:
            connection.close()
        time.sleep(0.1)
    raise Refused(f"the workers were not ready within {READY_SECONDS:.0f} s", code=1)


def measure(workers: int, sessions: int, within: float, seed: int = 1) -> dict[str, Any]:
    """One class on a server with that many workers; every example in turn, at random moments of `within` seconds.

    Figures in seconds. `lost`: runs that were accepted and had no end. Raises Refused where the server fails.
    """
    bodies = [example.payload.request.model_dump_json().encode() for example in examples()]
    chance = random.Random(seed)
    moments = sorted(chance.uniform(0, within) for _ in range(sessions))
    presses: list[Press] = []
    with (
        tempfile.TemporaryDirectory(prefix="warpyard-bench-") as folder,
        served(Path(folder), {}, workers) as (port, _),
    ):
        wait_until_ready(port)
        begin = time.monotonic()

        def student(number: int) -> None:
            time.sleep(max(0.0, begin + moments[number] - time.monotonic()))
            presses.append(press(port, bodies[number % len(bodies)]))

        threads = [threading.Thread(target=student, args=(number,)) for number in range(sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        whole = time.monotonic() - begin
    return {"workers": workers, "sessions": sessions, "within": within, "seconds": whole} | summary(presses)


def summary(presses: Sequence[Press]) -> dict[str, Any]:
    """Counts by status and verdict, and times of the runs that ended, in seconds."""
    ended = [item.seconds for item in presses if item.verdict]
    return {
        "ended": len(ended),
        "ok": sum(item.verdict == "ok" for item in presses),
        "lost": sum(item.status == 202 and not item.verdict for item in presses),
        "refused": sum(item.status == 429 for item in presses),
        "statuses": dict(Counter(str(item.status) for item in presses)),
        "verdicts": dict(Counter(item.verdict for item in presses if item.verdict)),
        **{f"p{share}": percentile(ended, share / 100) if ended else None for share in (50, 95, 99)},
        "longest": max(ended, default=None),
    }


def curve(workers: Sequence[int], sessions: int, within: float, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """`measure` for each number of workers, one after another."""
    found = []
    for count in workers:
        say(f"{sessions} sessions within {within:g} s, {count} runs at a time …")
        found.append(measure(count, sessions, within))
    return found


def table(figures: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("runs at a time", "sessions", "ended", "ok", "lost", "429", "p50", "p95", "longest")
    ]
    for item in figures:
        counts = (str(item[name]) for name in ("sessions", "ended", "ok", "lost", "refused"))
        times = ("–" if item[name] is None else f"{item[name]:.2f} s" for name in ("p50", "p95", "longest"))
        rows.append((str(item["workers"]), *counts, *times))
    return rows
