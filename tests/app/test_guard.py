"""Who is answered: host names, origins, headers of every answer, logs."""

import pytest

from app.guard import Guard
from tests.app.test_runs import problem
from tests.service.harness import Served, run_body


@pytest.fixture
def allowing(served: Served) -> Served:
    """The same server; its guard knows one more name."""
    stack = served.app.middleware_stack
    while not isinstance(stack, Guard):
        stack = stack.app
    stack._allowed = frozenset({"play.example.org"})
    return served


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost", True),
        ("localhost:8000", True),
        ("LocalHost", True),
        ("app.localhost:1", True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("192.168.1.7", True),
        ("play.example.org", True),
        ("PLAY.example.org.:443", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example:8000", False),
        ("localhost@evil.example", False),
        ("evil.example#localhost", False),
        ("evil.example/localhost", False),
        ("evil.example?localhost", False),
        ("", False),
        ("[::1", False),
        ("localhost:port", False),
        ("play.example.org.evil.example", False),
    ],
)
def test_host_names(allowing: Served, host: str, known: bool) -> None:
    for method, path in (("GET", "/healthz"), ("GET", "/api/devices"), ("POST", "/api/runs")):
        answer = allowing.http.request(method, path, headers={"host": host}, json=run_body())
        if known:
            assert answer.status_code in (200, 202)
        else:
            assert problem(answer, 400)["type"].endswith("host")
            assert "WARPYARD_ALLOWED_HOSTS" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("host", "headers", "taken"),
    [
        ("localhost:8000", {}, True),
        ("localhost:8000", {"origin": "http://localhost:8000"}, True),
        ("localhost", {"origin": "http://localhost"}, True),
        ("localhost", {"origin": "http://localhost:80"}, True),
        ("play.example.org", {"origin": "https://play.example.org"}, True),
        ("play.example.org:443", {"origin": "https://play.example.org"}, True),
        ("localhost:8000", {"origin": "http://localhost:9000"}, False),
        ("localhost:8000", {"origin": "http://localhost"}, False),
        ("localhost:8000", {"origin": "https://evil.example"}, False),
        ("localhost:8000", {"origin": "null"}, False),
        ("localhost:8000", {"origin": ""}, False),
        ("localhost:8000", {"origin": "http://127.0.0.1:8000"}, False),
        ("localhost:8000", {"origin": "http://localhost:8000@evil.example"}, False),
        ("localhost:8000", {"sec-fetch-site": "cross-site"}, False),
        ("localhost:8000", {"sec-fetch-site": "same-site"}, False),
        ("localhost:8000", {"sec-fetch-site": "same-origin"}, True),
        ("localhost:8000", {"sec-fetch-site": "none"}, True),
    ],
)
def test_foreign_pages_change_nothing(allowing: Served, host: str, headers: dict[str, str], taken: bool) -> None:
    answer = allowing.http.post("/api/runs", json=run_body(), headers={"host": host, **headers})
    if taken:
        assert answer.status_code == 202
    else:
        problem(answer, 403)
        problem(allowing.http.delete("/api/runs/11111111111", headers={"host": host, **headers}), 403)
        assert allowing.redis.llen("emulator") == 0
    assert allowing.http.get("/api/devices", headers={"host": host, **headers}).status_code == 200
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/healthz"), ("GET", "/none"), ("PUT", "/api/runs"), ("POST", "/api/shares")]
)
def test_every_answer_has_the_headers(served: Served, method: str, path: str) -> None:
    headers = served.http.request(method, path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert len(headers["x-request-id"]) == 16


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abcd-1234", True), ("short", False), ("a" * 65, False), ("abcd 1234", False), ("", False)],
)
def test_request_ids(served: Served, given: str, kept: bool) -> None:
    answer = served.http.get("/healthz", headers={"x-request-id": given})
    assert (answer.headers["x-request-id"] == given) is kept


def test_a_fault_of_ours_is_a_problem_with_an_id(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken() -> None:
        raise KeyError("secret")

    monkeypatch.setattr(served.app.state.service, "workers", broken)
    answer = served.http.get("/api/devices")
    body = problem(answer, 500)
    assert answer.headers["x-request-id"] in body["detail"]
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/api/nothing", 404),
        ("PUT", "/api/runs", 405),
        ("GET", "/../../etc/passwd", 404),
    ],
)
def test_what_the_framework_refuses_is_a_problem_too(served: Served, method: str, path: str, status: int) -> None:
    problem(served.http.request(method, path), status)
