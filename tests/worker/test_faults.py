"""Random kill -9 of workers, of the queue and of the API: no run is lost, and each is told exactly once."""

import random
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.service.harness import Broker, Process, Processes, make_settings, read_events, run_body, wait_for
from tests.worker.conftest import ACTOR

pytestmark = pytest.mark.long

RUNS = 1000
SECONDS = 540.0


def submit(http: httpx.Client, number: int) -> str:
    """Sends a run until it is accepted; the idempotency key makes a repetition harmless."""
    source = {"text": f"print {number}\nsleep 0.05\nprint done\nend"}
    while True:
        try:
            answer = http.post("/api/runs", json=run_body(source=source), headers={"Idempotency-Key": f"run-{number}"})
            if answer.status_code == 202:
                return str(answer.json()["id"])
        except httpx.TransportError:
            pass
        time.sleep(0.1)


def follow(http: httpx.Client, run_id: str, deadline: float) -> list[str]:
    """Ids of all events, read over as many connections as it takes."""
    got: list[str] = []
    while time.monotonic() < deadline:
        headers = {"Last-Event-ID": got[-1]} if got else {}
        try:
            with http.stream("GET", f"/api/runs/{run_id}/events", headers=headers) as answer:
                if answer.status_code != 200:
                    time.sleep(0.2)
                    continue
                for event in read_events(answer.iter_lines()):
                    got.append(event.id)
                    if event.kind == "finished":
                        return got
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail(f"{run_id} did not end: {got}")


def ready(http: httpx.Client) -> bool:
    try:
        return http.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_nothing_is_lost(empty_database: Path, tmp_path: Path, processes: Processes) -> None:
    chance = random.Random(7)
    folder = Path(tempfile.mkdtemp(prefix="wy-", dir="/tmp"))
    queue = Broker(folder)
    queue.start()
    settings = make_settings(
        queue,
        empty_database,
        tmp_path,
        lease_seconds=2.0,
        reap_interval=0.5,
        orphan_grace=1.0,
        max_attempts=20,
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    def start_api() -> Process:
        return processes.start(settings, "app", "--port", str(port))

    api = start_api()
    workers = [processes.start(settings, ACTOR, "--queues", "emulator,compile", "--slots", "2") for _ in range(2)]
    over = threading.Event()
    kills = {"worker": 0, "queue": 0, "api": 0}

    def wreck() -> None:
        nonlocal api
        while not over.wait(chance.uniform(0.5, 2.0)):
            victim = chance.choice(["worker", "worker", "worker", "queue", "api"])
            if victim == "worker":
                index = chance.randrange(len(workers))
                workers[index].kill()
                workers[index] = processes.start(settings, ACTOR, "--queues", "emulator,compile", "--slots", "2")
            elif victim == "queue":
                time.sleep(1.1)  # what is younger than the last flush may be lost; that is everysec's promise
                queue.kill()
                queue.start()
            else:
                api.kill()
                api = start_api()
            kills[victim] += 1

    results: dict[int, list[str]] = {}
    deadline = time.monotonic() + SECONDS
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as http:
            wait_for(lambda: ready(http), 40, 0.2)
            wrecker = threading.Thread(target=wreck)
            wrecker.start()
            numbers = iter(range(RUNS))
            lock = threading.Lock()

            def drive() -> None:
                while True:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    results[number] = follow(http, submit(http, number), deadline)

            drivers = [threading.Thread(target=drive) for _ in range(8)]
            for driver in drivers:
                driver.start()
            for driver in drivers:
                driver.join()
            over.set()
            wrecker.join()
    finally:
        over.set()
        processes.end()
        queue.kill()
        shutil.rmtree(folder)
    print(f"{len(results)} runs, kills: {kills}")
    assert len(results) == RUNS
    assert sum(kills.values()) >= 5
    for ids in results.values():
        places = [tuple(map(int, event_id.split("-"))) for event_id in ids]
        assert places == sorted(set(places))
        assert places[0] == (0, 1)
        last = places[-1][0]
        assert [place for place in places if place[0] == last] == [(last, step) for step in range(1, 6)]
