"""Application and worker on a Redis and a PostgreSQL of the system, by URL, as on two machines that share no disk."""

import io
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest
import redis

from protocol.result import RunResult
from store import keys, migrate
from store.settings import Settings
from tests.service.harness import Process, Processes, read_events, run_body, wait_for
from tests.service.servers import (
    INSTALL,
    PostgresServer,
    RedisServer,
    free_port,
    postgres_folder,
    postgres_server,
    redis_binary,
    redis_server,
)

SPIN = "__global__ void scale(float *a, float f) { while (atomicAdd(a, 0.0f) < f) {} }"

pytestmark = [pytest.mark.service, pytest.mark.servers]


@dataclass
class Machines:
    """The application has one data folder, the worker another."""

    redis: RedisServer
    postgres: PostgresServer
    app_settings: Settings
    worker_settings: Settings
    started: Processes
    http: httpx.Client
    app: Process
    worker: Process

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.redis.url, decode_responses=True)

    def post(self, **changes: Any) -> str:
        answer = self.http.post("/api/runs", json=run_body(**changes))
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def result(self, run_id: str, seconds: float = 30.0) -> RunResult:
        def finished() -> Any:
            result = self.http.get(f"/api/runs/{run_id}").json().get("result") or {}
            return result if result.get("verdict") else None

        return RunResult.model_validate_json(json.dumps(wait_for(finished, seconds, 0.1)))

    def ready(self, seconds: float = 40.0) -> None:
        wait_for(lambda: self._readiness() == 200, seconds, 0.1)

    def _readiness(self) -> int:
        try:
            return self.http.get("/readyz").status_code
        except httpx.HTTPError:
            return 0


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    assert redis_binary() and postgres_folder(), f"these tests start servers of the system: {INSTALL}"
    # A folder that the account of PostgreSQL can enter, which pytest's own is not.
    folder = Path(tempfile.mkdtemp(prefix="warpyard-servers-"))
    folder.chmod(0o755)
    for name in ("redis", "postgres"):
        (folder / name).mkdir()
    started = Processes(tmp_path_factory.mktemp("logs"))
    port = free_port()
    try:
        with redis_server(folder / "redis") as broker, postgres_server(folder / "postgres") as database:
            settings = {
                name: Settings(
                    data_dir=folder / name,
                    redis_url=broker.url,
                    database_url=database.url,
                    blob_url="redis:",
                    runs_per_second=1000,
                    runs_burst=1000,
                    lease_seconds=2,
                    reap_interval=0.3,
                    worker_ttl=3,
                )
                for name in ("app", "worker")
            }
            migrate.upgrade(settings["app"])
            migrate.check(settings["app"])
            app = started.start(settings["app"], "app", "--port", str(port))
            worker = started.start(settings["worker"], "worker", "--queues", "emulator,compile")
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
                there = Machines(broker, database, settings["app"], settings["worker"], started, http, app, worker)
                there.ready()
                yield there
    finally:
        started.end()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_run_of_an_upload_crosses_between_machines(machines: Machines) -> None:
    stream = io.BytesIO()
    np.save(stream, np.full(32, 7, "float32"))
    digest = machines.http.post("/api/uploads", content=stream.getvalue()).json()["digest"]
    buffer = run_body()["buffers"][0] | {"init": {"kind": "upload", "digest": digest}}
    run_id = machines.post(buffers=[buffer])
    result = machines.result(run_id)
    assert (result.verdict, result.message) == ("ok", "")
    answer = machines.http.get(f"/api/runs/{run_id}/buffers/a.npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.content)), np.full(32, 14, "float32"))
    blobs = [path for name in ("app", "worker") for path in (machines.redis.folder.parent / name).rglob("blobs/*")]
    assert blobs == []


def test_runs_and_shares_are_rows_of_postgres(machines: Machines) -> None:
    run_id = machines.post()
    machines.result(run_id)
    payload = {"title": "naïve — 行列", "request": run_body()}
    share = machines.http.post("/api/shares", json={"payload": payload}).json()["id"]
    with psycopg.connect(machines.postgres.url) as connection:
        assert connection.execute("select count(*) from runs where id = %s", (run_id,)).fetchone() == (1,)
        assert connection.execute("select count(*) from shares where id = %s", (share,)).fetchone() == (1,)
    assert machines.http.get(f"/api/shares/{share}").json()["payload"]["title"] == payload["title"]
    assert not (machines.app_settings.data_dir / "warpyard.db").exists()


def test_the_events_of_a_finished_run_come_from_the_database(machines: Machines) -> None:
    run_id = machines.post()
    machines.result(run_id)
    with machines.client() as client:
        client.delete(keys.events(run_id))
    with machines.http.stream("GET", f"/api/runs/{run_id}/events") as answer:
        kinds = [event.kind for event in read_events(answer.iter_lines())]
    assert kinds[0] == "queued"
    assert kinds[-1] == "finished"


def test_accepted_runs_outlive_a_killed_redis(machines: Machines) -> None:
    """Its append-only file has every run that was answered with 202; app and worker find it again by themselves."""
    spinning = machines.post(source={"text": SPIN})
    with machines.client() as client:
        wait_for(lambda: "launched" in str(client.xrange(keys.events(spinning))), 30)
        text = "__global__ void scale(float *a, float f) {{ a[threadIdx.x] = {}; }}"
        waiting = [machines.post(source={"text": text.format(number)}) for number in range(5)]
        assert client.zcard(keys.pending("emulator")) == 5
    machines.redis.kill()
    assert machines.http.post("/api/runs", json=run_body()).status_code == 503
    machines.redis.start()
    machines.ready()
    machines.http.delete(f"/api/runs/{spinning}")
    assert [machines.result(run_id, 60).verdict for run_id in waiting] == ["ok"] * 5
    assert machines.result(spinning).verdict in ("cancelled", "limit:wall", "limit:cpu")


def test_the_service_comes_back_with_its_database(machines: Machines) -> None:
    run_id = machines.post()
    machines.result(run_id)
    machines.postgres.stop()
    wait_for(lambda: machines.http.get("/readyz").json()["checks"]["database"] != "ok", 10, 0.1)
    assert machines.http.get(f"/api/runs/{run_id}").status_code in (500, 503)
    assert machines.http.get("/healthz").status_code == 200
    machines.postgres.start()
    machines.ready()
    assert machines.http.get(f"/api/runs/{run_id}").json()["result"]["verdict"] == "ok"
    assert machines.result(machines.post()).verdict == "ok"


def test_a_run_that_ends_while_the_database_is_away_is_not_lost(machines: Machines) -> None:
    run_id = machines.post(source={"text": SPIN})
    with machines.client() as client:
        wait_for(lambda: "launched" in str(client.xrange(keys.events(run_id))), 30)
        machines.postgres.stop()
        time.sleep(1)
        machines.http.delete(f"/api/runs/{run_id}")
        time.sleep(2)
        machines.postgres.start()
    machines.ready()
    assert machines.result(run_id, 60).verdict in ("cancelled", "limit:wall", "limit:cpu")


def test_processes_end_in_order(machines: Machines) -> None:
    assert machines.worker.stop() == 0
    assert machines.app.stop() in (0, -15)
