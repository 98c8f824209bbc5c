"""What the service needs is away, locked, full or of another release: the API says so, and loses nothing."""

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

from protocol.events import Finished
from store import keys
from store.version import VERSION
from store.workers import withdraw
from tests.bad_input.cases import SPIN, STOPPED
from tests.bad_input.files import bad_array
from tests.bad_input.test_api import ended, good_body, runs_well
from tests.service.harness import EMULATOR, Broker, Served, announce_worker, wait_for

pytestmark = pytest.mark.service


def sent(served: Served, **changes: Any) -> str:
    answer = served.http.post("/api/runs", json=good_body() | changes)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def kinds(served: Served, run_id: str) -> str:
    return str(served.redis.xrange(keys.events(run_id)))


def refusal(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    if status == 503:
        assert int(answer.headers["retry-after"]) > 0
    return str(answer.json()["detail"])


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Another process holds the write lock."""
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("begin immediate")
    try:
        yield
    finally:
        other.execute("rollback")
        other.close()


@contextmanager
def full_disk(folder: Path, size: str) -> Iterator[None]:
    """A filesystem of that size lies over the folder meanwhile. CI has root; elsewhere a user may not mount one."""
    if os.geteuid() != 0 and os.environ.get("CI") != "true":
        pytest.skip("not run: a full disk is played on a small filesystem, which only root may mount")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_the_database_is_locked(whole: Served) -> None:
    with locked(whole.settings.data_dir / "warpyard.db"):
        run_id = sent(whole)
        wait_for(lambda: "buffer-read" in kinds(whole, run_id))
        share = {"payload": {"title": "t", "request": good_body()}}
        said = refusal(whole.http.post("/api/shares", json=share), 503)
        assert said == "The database is locked by another program. Nothing was saved; try again in a moment."
        wait_for(lambda: '"code":"database"' in kinds(whole, run_id))
        assert whole.http.get(f"/api/runs/{run_id}").json()["result"]["state"] == "running"
    result = ended(whole, run_id)
    assert (result.verdict, result.attempt, len(result.buffers)) == ("ok", 1, 1)
    assert [item.message for item in result.diagnostics if item.code == "database"] == [
        "The kernel is done; its results waited for the service's database, which is locked, full or away"
    ]
    assert whole.http.post("/api/shares", json=share).status_code == 201
    runs_well(whole)


def test_the_database_is_full(whole: Served) -> None:
    pages = [1]

    def limit(connection: Any, *_: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"pragma max_page_count={pages[0]}")
        cursor.close()

    event.listen(whole.app.state.service.engine.sync_engine, "checkout", limit)
    source = {"text": good_body()["source"]["text"] + "// as long as it may be\n" * 9000}
    share = {"payload": {"title": "t", "request": good_body() | {"source": source}}}
    said = refusal(whole.http.post("/api/shares", json=share), 507)
    assert said.startswith("The disk of this service is full, so nothing was saved.")
    pages[0] = 1 << 30
    link = whole.http.post("/api/shares", json=share)
    assert link.status_code == 201, link.text
    kept = whole.http.get(f"/api/shares/{link.json()['id']}").json()
    assert kept["payload"]["request"]["source"]["text"] == source["text"]


def test_the_disk_is_full(whole: Served) -> None:
    blobs = whole.settings.data_dir / "blobs" / "passing"
    large = [{"name": "a", "dtype": "float32", "shape": [1 << 16], "init": {"kind": "arange"}}]
    with full_disk(blobs, "64k"):
        said = refusal(whole.http.post("/api/uploads", content=_array(1 << 16)), 507)
        assert said.startswith("The disk of this service is full, so the file was not kept.")
        result = ended(whole, sent(whole, buffers=large))
        assert (result.verdict, result.attempt) == ("error", 1)
        assert "The service has no room for the results: a (262,144 bytes) could not be kept" in result.message
        assert [path for path in blobs.rglob("*") if path.is_file()] == []
    with full_disk(whole.settings.data_dir / "compile-cache", "4k"):
        text = good_body()["source"]["text"] + "// compiled anew\n"
        assert ended(whole, sent(whole, source={"text": text})).verdict == "ok"
    result = ended(whole, sent(whole, buffers=large))
    assert (result.verdict, result.buffers[0].maximum) == ("ok", (1 << 16) - 1)
    assert whole.http.post("/api/uploads", content=_array(1 << 16)).status_code == 201


def _array(count: int) -> bytes:
    whole = bad_array("claims 400 GB").replace(b"(99999999999,)", f"({count},)".ljust(14).encode())
    return whole + np.arange(count, dtype=np.float32).tobytes()


def test_the_broker_is_away(whole: Served, broker: Broker) -> None:
    run_id = sent(whole, source={"text": SPIN})
    wait_for(lambda: "launched" in kinds(whole, run_id))
    time.sleep(1.1)  # what is younger than a second may go with the broker
    broker.kill()
    try:
        said = refusal(whole.http.post("/api/runs", json=good_body()), 503)
        assert said == "The queue does not answer. Try again in a moment."
        ready = whole.http.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["database"]) == (503, "ok")
        assert ready.json()["checks"]["queue"] != "ok"
        assert whole.http.get("/healthz").status_code == 200
    finally:
        broker.start()
    result = ended(whole, run_id)
    assert result.verdict in ("limit:wall", "limit:cpu")
    assert any(word in result.message for word in STOPPED.split("|"))
    wait_for(lambda: whole.http.get("/readyz").status_code == 200, 30, 0.1)
    runs_well(whole)


def test_a_worker_of_another_version(whole: Served) -> None:
    """A GPU of its own, so that the worker of this release does not take the run."""
    gpu = EMULATOR.model_copy(update={"id": "gpu:x", "kind": "gpu"})
    worker = {"name": "other", "queues": ("gpu:x",), "devices": (gpu,)}
    said = f"The worker other is of version 0.0.1 and this service of version {VERSION}: it gets no runs until both are"

    def devices() -> dict[str, Any]:
        whole.app.state.service._workers_at = float("-inf")
        answer: dict[str, Any] = whole.http.get("/api/devices").json()
        return answer

    announce_worker(whole.redis, version="0.0.1", **worker)
    found = devices()
    assert [device["id"] for device in found["devices"]] == ["emulator"]
    assert found["reasons"][0].startswith(said)
    wanted = refusal(whole.http.post("/api/runs", json=good_body() | {"device": "gpu:x"}), 503)
    assert wanted.startswith(f"No worker offers gpu:x now; there is emulator. {said}")

    announce_worker(whole.redis, **worker)
    assert [device["id"] for device in devices()["devices"]] == ["emulator", "gpu:x"]
    run_id = sent(whole, device="gpu:x")
    # The message may reach a worker of an earlier release all the same, which then leaves the run alone.
    whole.redis.hset(keys.run(run_id), "release", "99.0")
    assert whole.claims.claim(run_id) == "newer"
    whole.redis.hset(keys.run(run_id), "release", VERSION)
    whole.claims.finish(whole.claim(run_id), Finished(verdict="cancelled"))
    withdraw(whole.redis, "other")
    runs_well(whole)
