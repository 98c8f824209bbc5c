"""A service of our own with its data in an empty folder, and a run on it, asked over HTTP as the page does."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from cli.usage import Refused

ROOT = Path(__file__).resolve().parent.parent
# A busy machine must not end a measurement; on an idle one no run takes as long.
GENEROUS = {"RUNS_PER_SECOND": "1000", "RUNS_BURST": "1000", "RUN_WALL_SECONDS": "60"}


@contextmanager
def served(folder: Path, limits: Mapping[str, str] = GENEROUS, workers: int = 1) -> Iterator[tuple[int, float]]:
    """(port, seconds until the page answered) of a server that ends with the block. Raises Refused.

    `limits`: settings by their names without the prefix. `workers`: runs at a time.
    """
    environment = {**os.environ, **{f"WARPYARD_{name}": value for name, value in limits.items()}}
    begin = time.perf_counter()
    command = [sys.executable, "-m", "cli", "serve", "--port", "0", "--workers", str(workers), "--data", str(folder)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        if "http://" not in said:
            raise Refused(f"the server did not start: {said}{process.stdout.read()}", code=1)
        elapsed = time.perf_counter() - begin
        yield int(said.split("http://")[1].split()[0].rsplit(":", 1)[1]), elapsed
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def submit(port: int, body: str) -> tuple[float, dict[str, float]]:
    """Seconds from the POST to the finished event, and seconds by stage. Raises Refused where the run fails."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        begin = time.perf_counter()
        connection.request("POST", "/api/runs", body.encode(), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        accepted = json.loads(answer.read())
        if answer.status != 202:
            raise Refused(f"POST /api/runs answered {answer.status}: {accepted}", code=1)
        connection.request("GET", f"/api/runs/{accepted['id']}/events")
        stages: dict[str, float] = {}
        for event in events(connection):
            if event["kind"] == "timed":
                stages[event["stage"]] = stages.get(event["stage"], 0.0) + event["seconds"]
            if event["kind"] == "finished":
                if event["verdict"] != "ok":
                    raise Refused(f"the run ended with {event['verdict']}: {event['message']}", code=1)
                return time.perf_counter() - begin, stages
        raise Refused("the stream of events ended before the run did", code=1)
    finally:
        connection.close()


def events(connection: HTTPConnection) -> Iterator[dict[str, Any]]:
    """The events of a server-sent stream as they come."""
    for line in connection.getresponse():
        if line.startswith(b"data:"):
            yield json.loads(line[5:])["event"]
