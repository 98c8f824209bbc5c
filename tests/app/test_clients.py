"""Who asks: sessions in cookies, many of them behind one address, and what one address may do without any."""

import re
from contextlib import closing
from typing import Any

import httpx
import pytest

from app.clients import COOKIE, network_of
from store import keys
from tests.app.test_runs import problem
from tests.service.harness import Served, run_body


@pytest.fixture
def limited(served: Served) -> Any:
    """Changes settings of the server for a test."""

    def change(**changes: Any) -> None:
        served.app.state.service.queue._settings = served.settings.model_copy(update=changes)

    return change


def visitor(served: Served) -> httpx.Client:
    """A browser that opens the page for the first time."""
    browser = httpx.Client(base_url=served.url, timeout=20)
    assert browser.get("/").status_code in (200, 503)
    assert COOKIE in browser.cookies
    return browser


def test_a_session_begins_with_the_page_and_stays(served: Served) -> None:
    with closing(visitor(served)) as browser:
        first = browser.cookies[COOKIE]
        answer = browser.get("/")
        assert "set-cookie" not in answer.headers
        assert browser.post("/api/runs", json=run_body()).status_code == 202
        assert browser.cookies[COOKIE] == first
    session = re.match(r"\w{11}", first)
    assert session is not None
    assert served.redis.exists(keys.rate("run", session[0]))


@pytest.mark.parametrize(("method", "path", "begins"), [
    ("GET", "/", True), ("GET", "/k/11111111111", True), ("POST", "/api/compile", True), ("GET", "/healthz", False),
    ("GET", "/api/devices", False), ("GET", "/assets/x.js", False), ("HEAD", "/", False),
])  # fmt: skip
def test_what_begins_a_session(served: Served, method: str, path: str, begins: bool) -> None:
    with httpx.Client(base_url=served.url) as nobody:
        answer = nobody.request(method, path)
    assert ("set-cookie" in answer.headers) is begins
    if begins:
        cookie = answer.headers["set-cookie"]
        assert {"HttpOnly", "Path=/", "SameSite=Lax"} <= set(cookie.split("; "))


@pytest.mark.parametrize("forged", ["", "x", "11111111111", "11111111111.aaaa.bbbb", "é", 'a"b', "a" * 5000])
def test_a_forged_session_is_none(served: Served, forged: str) -> None:
    headers = {"Cookie": f"{COOKIE}={forged}".encode()}
    answer = httpx.get(f"{served.url}/", headers=headers)
    assert COOKIE in answer.cookies


def test_sessions_behind_one_address_have_each_their_share(served: Served, limited: Any) -> None:
    limited(runs_per_second=0.01, runs_burst=1)
    for _ in range(3):
        with closing(visitor(served)) as browser:
            assert browser.post("/api/runs", json=run_body()).status_code == 202
            assert problem(browser.post("/api/runs", json=run_body()), 429)["type"].endswith("rate")


def test_a_class_of_200_presses_run_at_once(served: Served) -> None:
    for _ in range(200):
        answer = httpx.post(f"{served.url}/api/runs", json=run_body())
        assert answer.status_code == 202, answer.text
    assert served.redis.zcard(keys.pending("emulator")) == 200


def test_who_throws_cookies_away_ends_as_one_client(served: Served, limited: Any) -> None:
    limited(sessions_per_second=0.01, sessions_burst=2, runs_per_second=0.01, runs_burst=1)
    statuses = [httpx.post(f"{served.url}/api/runs", json=run_body()).status_code for _ in range(5)]
    assert statuses == [202, 202, 202, 429, 429]


def test_one_network_leaves_room_for_others(served: Served, limited: Any) -> None:
    limited(waiting_per_network=3)
    answers = [httpx.post(f"{served.url}/api/runs", json=run_body()) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [202, 202, 202, 429]
    assert "your network's" in problem(answers[-1], 429)["detail"]


def test_the_place_in_the_line_is_told(served: Served) -> None:
    ids = [httpx.post(f"{served.url}/api/runs", json=run_body()).json()["id"] for _ in range(3)]
    places = [served.http.get(f"/api/runs/{run_id}/place").json() for run_id in ids]
    assert [(place["state"], place["ahead"], place["seconds"]) for place in places] == [
        ("queued", 0, None),
        ("queued", 1, None),
        ("queued", 2, None),
    ]
    problem(served.http.get("/api/runs/11111111111/place"), 404)
    problem(served.http.get("/api/runs/nonsense!/place"), 404)


def test_networks() -> None:
    assert network_of({"client": ("192.0.2.7", 1)}) == "192.0.2.7"
    assert network_of({"client": ("2001:db8:1:2:3:4:5:6", 1)}) == "2001:db8:1:2"
    assert network_of({"client": None}) == "local"
