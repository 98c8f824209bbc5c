"""Sending, looking up and cancelling runs."""

import json
import socket
import time
from typing import Any

import httpx
import pytest

from protocol.events import BufferRead, Compiling, Finished, Printed, Timed
from store import keys
from tests.service.harness import Served, announce_worker, run_body


def problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["status"] == status
    assert set(body) == {"type", "title", "status", "detail", "errors"}
    assert body["type"].startswith("urn:warpyard:problem:")
    assert body["detail"]
    return body


def test_a_run_is_accepted_and_told(served: Served) -> None:
    answer = served.http.post("/api/runs", json=run_body())
    assert answer.status_code == 202
    run_id = answer.json()["id"]
    assert answer.json() == {"id": run_id, "state": "queued", "device": "emulator", "position": 0}
    assert answer.headers["location"] == f"/api/runs/{run_id}"
    assert served.http.post("/api/runs", json=run_body()).json()["position"] == 1

    waiting = served.http.get(f"/api/runs/{run_id}").json()
    assert waiting["result"]["state"] == "queued"
    assert waiting["result"]["device"] == "emulator"
    assert waiting["request"]["device"] == "auto"
    assert waiting["request"]["source"]["text"] == run_body()["source"]["text"]

    held = served.claim(run_id)
    served.claims.emit(held, Compiling(attempt=1))
    served.claims.emit(held, Printed(text="hello"))
    running = served.http.get(f"/api/runs/{run_id}").json()
    assert (running["result"]["state"], running["result"]["printed"]) == ("running", "hello")

    served.claims.finish(held, Finished(verdict="ok", seconds=1.5))
    done = served.http.get(f"/api/runs/{run_id}").json()
    assert (done["result"]["state"], done["result"]["verdict"]) == ("finished", "ok")
    assert done["request"] == waiting["request"]
    assert done["created_at"] == waiting["created_at"]
    served.redis.flushall()
    assert served.http.get(f"/api/runs/{run_id}").json() == done


@pytest.mark.parametrize("run_id", ["1" * 11, "0", "x" * 300, "..%2f..%2fetc", "%00", "a b"])
@pytest.mark.parametrize("path", ["", "/events", "/buffers/a.npy"])
def test_an_unknown_run_is_not_found(served: Served, run_id: str, path: str) -> None:
    problem(served.http.get(f"/api/runs/{run_id}{path}"), 404)
    if not path and "/" not in httpx.URL(run_id).path:
        problem(served.http.delete(f"/api/runs/{run_id}"), 404)


def put(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The body with one value changed; `path` as in an error's field."""
    copy: Any = json.loads(json.dumps(body))
    *parents, last = path.split(".")
    here = copy
    for part in parents:
        here = here[int(part)] if part.isdigit() else here[part]
    here[int(last) if last.isdigit() else last] = value
    return dict(copy)


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        ("steps.0.config.block", [32, 1, 1, 1], "steps.0.config.block", "at most 3"),
        ("steps.0.config.block", [-1], "steps.0.config.block.0", "greater than or equal to 0"),
        ("steps.0.config.grid", "many", "steps.0.config.grid", ""),
        ("steps.0.arguments.0.buffer", "b", "steps.0.arguments.0.buffer", "no buffer is called b"),
        ("steps.0.arguments.0.kind", "buffet", "steps.0.arguments.0", ""),
        ("buffers.0.shape", [], "buffers.0.shape", "at least 1"),
        ("buffers.0.dtype", "float31", "buffers.0.dtype", ""),
        ("buffers.0.init", {"kind": "literals", "values": [1]}, "buffers.0", "1 values are given"),
        ("source.text", " ", "source.text", "the source is empty"),
        ("source.text", "a\0", "source.text", "line 1, column 2 holds a NUL"),
        ("source.file_name", "../x", "source.file_name", ""),
        ("options", {"fast_math": 1}, "options.fast_math", ""),
        ("options", {"flags": "-I/etc"}, "options.flags", "not known here"),
        ("steps", [], "steps", "at least 1"),
        ("sweep", {"blocks": [[32], [32]]}, "sweep.blocks.1", "there twice"),
        ("sweep", {"blocks": [[32]], "step": "steps.7"}, "sweep.step", "steps.7 is no launch"),
        ("checks", [{"kind": "numpy", "text": "b = 1", "buffers": ["b"]}], "checks.0.buffers.0", "is called b"),
        ("checks", [{"kind": "sympy"}], "checks.0", "kind is equals or numpy"),
        ("device", "tpu", "device", ""),
        ("schema_version", 99, "schema_version", ""),
    ],
)
def test_an_invalid_field_is_named(served: Served, path: str, value: Any, field: str, message: str) -> None:
    body = problem(served.http.post("/api/runs", json=put(run_body(), path, value)), 422)
    fields = {error["field"]: error["message"] for error in body["errors"]}
    assert field in fields
    assert message in fields[field]
    assert served.redis.llen("emulator") == 0


@pytest.mark.parametrize(
    ("content", "media", "status"),
    [
        (b"", "application/json", 422),
        (b"{", "application/json", 422),
        (b"[]", "application/json", 422),
        (b"null", "application/json", 422),
        (b"\xff\xfe", "application/json", 422),
        (b'{"source":"\xed\xa0\x80"}', "application/json", 422),
        (json.dumps(run_body()).encode(), "text/plain", 415),
        (json.dumps(run_body()).encode(), "", 415),
        (json.dumps(run_body()).encode(), "application/json; charset=utf-8", 202),
        (b" " * (4 << 20) + b"  ", "application/json", 413),
    ],
)
def test_bodies(served: Served, content: bytes, media: str, status: int) -> None:
    answer = served.http.post("/api/runs", content=content, headers={"content-type": media})
    if status == 202:
        assert answer.status_code == 202
    else:
        problem(answer, status)


def test_a_chunked_body_has_the_same_cap(served: Served) -> None:
    sent = 0

    def pieces() -> Any:
        nonlocal sent
        for _ in range(1000):
            sent += 65_536
            yield b" " * 65_536

    try:
        answer = served.http.post("/api/runs", content=pieces(), headers={"content-type": "application/json"})
    except httpx.WriteError:
        pass  # the server has closed the connection, which is its right
    else:
        problem(answer, 413)
    assert sent < 40 << 20
    assert served.http.get("/healthz").status_code == 200


def test_no_worker_no_run(served: Served) -> None:
    body = problem(served.http.post("/api/runs", json=run_body(device="gpu:h200")), 503)
    assert "No worker offers gpu:h200 now; there is emulator." in body["detail"]
    served.redis.flushall()
    announce_worker(served.redis, refuses="The sandbox does not open.")
    served.app.state.service._workers_at = float("-inf")
    assert "The sandbox does not open." in problem(served.http.post("/api/runs", json=run_body()), 503)["detail"]


def test_an_idempotency_key(served: Served) -> None:
    def post(key: str, **changes: Any) -> httpx.Response:
        return served.http.post("/api/runs", json=run_body(**changes), headers={"Idempotency-Key": key})

    first = post("k1").json()
    assert post("k1").json() == first
    assert post("k2").json()["id"] != first["id"]
    assert problem(post("k1", architecture="sm_80"), 409)["type"].endswith("idempotency")
    problem(post("x" * 65), 422)
    served.claims.finish(served.claim(first["id"]), Finished(verdict="ok"))
    assert post("k1").json() == {**first, "state": "finished"}


def test_the_queue_is_full(served: Served) -> None:
    served.app.state.service.queue._settings = served.settings.model_copy(update={"queue_cap": 3})
    statuses = [served.http.post("/api/runs", json=run_body()).status_code for _ in range(5)]
    assert statuses == [202, 202, 202, 429, 429]
    answer = served.http.post("/api/runs", json=run_body())
    assert problem(answer, 429)["type"].endswith("queue-full")
    assert int(answer.headers["retry-after"]) >= 1


def test_one_client_has_a_rate(served: Served) -> None:
    used = served.settings.model_copy(update={"runs_per_second": 0.5, "runs_burst": 2})
    served.app.state.service.queue._settings = used
    statuses = [served.http.post("/api/runs", json=run_body()).status_code for _ in range(4)]
    assert statuses == [202, 202, 429, 429]
    answer = served.http.post("/api/runs", json=run_body())
    assert problem(answer, 429)["type"].endswith("rate")
    assert 1 <= int(answer.headers["retry-after"]) <= 3


def test_cancelling(served: Served) -> None:
    waiting, running = served.post_run(), served.post_run()
    assert served.http.delete(f"/api/runs/{waiting}").json() == {"id": waiting, "state": "finished"}
    assert served.http.get(f"/api/runs/{waiting}").json()["result"]["verdict"] == "cancelled"
    held = served.claim(running)
    for _ in range(2):
        answer = served.http.delete(f"/api/runs/{running}")
        assert (answer.status_code, answer.json()["state"]) == (202, "running")
    assert served.claims.watch(held) == "cancel"
    served.claims.finish(held, Finished(verdict="cancelled"))
    served.redis.flushall()
    assert served.http.delete(f"/api/runs/{running}").json()["state"] == "finished"


def test_a_lost_worker_twice_over(served: Served) -> None:
    """The reaper of the application does its work, and the next attempt is told."""
    run_id = served.post_run()
    served.claims.emit(served.claim(run_id), Compiling(attempt=1))
    served.redis.delete(keys.lease(run_id))
    assert served.app.state.service.settings.reap_interval == 2.0
    for _ in range(400):
        if served.redis.zcard(keys.pending("emulator")):
            break
        served.http.get("/healthz")

        time.sleep(0.01)
    held = served.claim(run_id)
    assert held.attempt == 2
    served.claims.emit(held, Compiling(attempt=2))
    served.claims.emit(held, Timed(stage="run", seconds=0.5))
    served.claims.finish(held, Finished(verdict="ok"))
    result = served.http.get(f"/api/runs/{run_id}").json()["result"]
    assert (result["attempt"], result["verdict"], len(result["timings"])) == (2, "ok", 1)
    assert "warpyard_reaped_runs_total 1.0" in served.http.get("/metrics").text


def finish_with_buffer(served: Served, dtype: str, shape: tuple[int, ...], data: bytes) -> str:
    run_id = served.post_run()
    held = served.claim(run_id)
    digest = served.app.state.service.blobs.put(data)
    served.claims.emit(
        held,
        BufferRead(name="a", dtype=dtype, shape=shape, digest=digest, bytes=len(data)),  # type: ignore[arg-type]
    )
    served.claims.finish(held, Finished(verdict="ok"))
    return run_id


def test_a_body_that_drips_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.body.MOST_SECONDS", 0.2)
    lines = (
        "POST /api/runs HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Content-Length: 99",
    )
    head = "\r\n".join((*lines, "", "{")).encode()
    with socket.create_connection(served.server.servers[0].sockets[0].getsockname(), timeout=5) as connection:
        connection.sendall(head)
        answer = connection.recv(2000)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"urn:warpyard:problem:too-slow" in answer
