"""Links: what is kept is what is shown, for ever."""

import io
from typing import Any

import httpx
import numpy as np
import pytest

from app.recent import Recent
from tests.app.test_runs import finish_with_buffer, problem, put
from tests.service.harness import Served, run_body

PAYLOAD = {
    "title": " Mine ",
    "request": run_body(steps=run_body()["steps"]),
    "views": {"a": {"shown_as": "plot", "logarithmic": True}},
}


def share(served: Served, payload: Any = PAYLOAD, **more: Any) -> httpx.Response:
    return served.http.post("/api/shares", json={"payload": payload, **more})


def test_a_share(served: Served) -> None:
    answer = share(served)
    assert answer.status_code == 201
    body = answer.json()
    assert body["url"] == f"/k/{body['id']}"
    assert answer.headers["location"] == f"/api/shares/{body['id']}"
    got = served.http.get(f"/api/shares/{body['id']}")
    assert got.json()["payload"]["title"] == "Mine"
    assert got.json()["payload"]["views"]["a"]["palette"] == "viridis"
    assert got.json()["payload"]["request"]["source"]["text"] == PAYLOAD["request"]["source"]["text"]  # type: ignore[index]
    assert (got.json()["parent"], got.json()["content_hash"]) == (None, body["content_hash"])
    assert got.headers["cache-control"] == "public, max-age=31536000, immutable"
    again = served.http.get(f"/api/shares/{body['id']}", headers={"if-none-match": got.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    served.redis.flushall()
    served.app.state.service.shares = Recent(0)
    assert served.http.get(f"/api/shares/{body['id']}").json() == got.json()


def test_the_hash_is_of_the_content(served: Served) -> None:
    first, second = share(served).json(), share(served).json()
    assert first["id"] != second["id"]
    assert first["content_hash"] == second["content_hash"]
    other = share(served, put(PAYLOAD, "title", "Yours")).json()
    assert other["content_hash"] != first["content_hash"]


def test_a_share_has_a_parent(served: Served) -> None:
    first = share(served).json()["id"]
    child = share(served, parent=first).json()["id"]
    assert served.http.get(f"/api/shares/{child}").json()["parent"] == first
    assert problem(share(served, parent="1" * 11), 422)["errors"][0]["field"] == "parent"
    assert problem(share(served, parent="x"), 422)["errors"][0]["field"] == "parent"


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("title", "x" * 121, "payload.title"),
        ("request.steps.0.arguments.0.buffer", "b", "payload.request.steps.0.arguments.0.buffer"),
        ("views", {"a b": {}}, "payload.views.a b"),
        ("extra", 1, "payload.extra"),
    ],
)
def test_an_invalid_share_names_the_field(served: Served, path: str, value: Any, field: str) -> None:
    body = problem(share(served, put(PAYLOAD, path, value)), 422)
    assert [error["field"] for error in body["errors"]] == [field] or body["errors"][0]["field"].startswith(field)


def test_the_upload_of_a_share_is_kept(served: Served) -> None:
    stream = io.BytesIO()
    np.save(stream, np.ones(32, "float32"))
    digest = served.http.post("/api/uploads", content=stream.getvalue()).json()["digest"]
    payload = put(PAYLOAD, "request.buffers.0.init", {"kind": "upload", "digest": digest})
    assert share(served, payload).status_code == 201
    blobs = served.app.state.service.blobs
    blobs._passing.path(digest).unlink()
    assert blobs.get(digest) == stream.getvalue()
    missing = put(PAYLOAD, "request.buffers.0.init", {"kind": "upload", "digest": "0" * 64})
    assert problem(share(served, missing), 422)["errors"][0]["field"] == "payload.request.buffers.0.init.digest"


@pytest.mark.parametrize("share_id", ["1" * 11, "short", "0" * 11])
def test_an_unknown_share(served: Served, share_id: str) -> None:
    problem(served.http.get(f"/api/shares/{share_id}"), 404)


def test_what_is_recent_has_a_cap() -> None:
    recent = Recent(800)
    for key in "abcdefghi":
        recent.put(key, key.encode() * 100)
        recent.get("a")
    recent.put("large", b"x" * 101)
    recent.put("a", b"another")
    assert [key for key in "abcdefghi" if recent.get(key) is not None] == list("acdefghi")
    assert (recent.get("a"), recent.get("large")) == (b"a" * 100, None)


def test_a_link_carries_the_results_of_a_run(served: Served) -> None:
    data = np.arange(8, dtype="int32").tobytes()
    run_id = finish_with_buffer(served, "int32", (8,), data)
    request = served.http.get(f"/api/runs/{run_id}").json()["request"]
    made = served.http.post("/api/shares", json={"payload": {"request": request}, "run": run_id})
    assert made.status_code == 201, made.text
    assert served.http.get(f"/api/shares/{made.json()['id']}").json()["run"] == run_id
    other = {"payload": {"request": request | {"source": {"text": "__global__ void other() {}"}}}, "run": run_id}
    assert problem(served.http.post("/api/shares", json=other), 422)["errors"] == [
        {"field": "run", "message": "this run was of another source"}
    ]
    gone = {"payload": {"request": request}, "run": "AAAAAAAAAAA"}
    assert problem(served.http.post("/api/shares", json=gone), 422)["errors"][0]["field"] == "run"
