"""Attacks on the API: hostile requests and floods against a whole service that is started for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

from cli.attacks.bodies import bodies, good_body
from cli.attacks.corpus import Attack, GotThrough, demand
from cli.served import events

_SECONDS = 60.0
FLOOD = 500
STREAMS = 1_000
RACES = 20
_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Answer:
    """Status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        """As a corpus writes it: 2xx, 4xx; 404, 409, 413 and 429 by themselves."""
        return str(self.status) if self.status in (404, 409, 413, 429) else f"{self.status // 100}xx"


def ask(port: int, method: str, path: str, body: str = "", session: str = "") -> Answer:
    """One request; `session` is the cookie of the client that asks."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    cookie = {"Cookie": session} if session else {}
    try:
        connection.request(method, path, body.encode() or None, {**cookie, **(_JSON if body else {})})
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
    finally:
        connection.close()


def _run_of(answer: Answer) -> str:
    return str(json.loads(answer.body)["id"])


def verdict_of(port: int, run: str) -> str:
    """Waits for the end of a run."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", f"/api/runs/{run}/events")
        for event in events(connection):
            if event["kind"] == "finished":
                return str(event["verdict"])
    finally:
        connection.close()
    raise GotThrough("the events of a run ended before the run did")


def session_of(port: int) -> str:
    """The cookie of a client that opens the page for the first time."""
    return ask(port, "GET", "/").headers.get("set-cookie", "").partition(";")[0]


def works(port: int) -> None:
    """A good request of somebody new is accepted and runs. Raises GotThrough."""
    answer = ask(port, "POST", "/api/runs", json.dumps(good_body()), session_of(port))
    demand(answer.status == 202, f"a good request was answered with {answer.status}: {answer.body[:300]!r}")
    verdict = verdict_of(port, _run_of(answer))
    demand(verdict == "ok", f"a good run ended with {verdict}")


def play(attack: Attack, port: int) -> str:
    """The verdicts of an attack that was held. Raises GotThrough."""
    try:
        return _play(attack, port)
    except (OSError, HTTPException) as error:
        raise GotThrough(f"the service broke a connection off: {error!r}") from error


def _play(attack: Attack, port: int) -> str:
    works(port)
    flow = FLOWS.get(attack.id)
    if flow is not None:
        verdict = flow(port)
    else:
        ends = [_fate(port, field, body) for field, body in bodies(attack.source.decode())]
        demand(ends, "no hostile value in it")
        hostile = [end for end in ends if end != "ok"]
        demand(hostile, "every hostile value was accepted")
        for end in hostile:
            if not (end[:1] == "4" and "4xx" in attack.expect):
                attack.judge(end)
        verdict = "|".join(sorted({*hostile}))
    demand(ask(port, "GET", "/healthz").status == 200, "the service is not healthy")
    works(port)
    return verdict


def _fate(port: int, field: str, body: str) -> str:
    answer = ask(port, "POST", "/api/runs", body)
    if answer.status == 202:
        verdict = verdict_of(port, _run_of(answer))
        # A source that is taken is what a source may be; how it fares is not what a request is judged by.
        return "ok" if field in ("source.text", "steps.0.entry") else verdict
    demand(answer.status < 500, f"{field}: answered with {answer.status}")
    demand(b"Traceback" not in answer.body, f"{field}: the answer holds a traceback")
    demand(answer.headers.get("content-type") == "application/problem+json", f"{field}: the answer is no problem")
    return answer.kind


def _flood(port: int) -> str:
    """One client sends more than its share; another one's run is still accepted, and runs before the flood is over."""
    body, session = json.dumps(good_body()), session_of(port)
    with ThreadPoolExecutor(8) as senders:
        answers = list(senders.map(lambda _: ask(port, "POST", "/api/runs", body, session), range(FLOOD)))
    kinds = Counter(answer.kind for answer in answers)
    demand({*kinds} == {"2xx", "429"}, f"the answers were {dict(kinds)}")
    refused = [answer for answer in answers if answer.status == 429]
    demand(all("retry-after" in answer.headers for answer in refused), "a 429 without Retry-After")
    works(port)
    for answer in answers:
        if answer.status == 202:
            verdict_of(port, _run_of(answer))
    return "429"


def _streams(port: int) -> str:
    """Readers that read nothing and never hang up."""
    endless = good_body()
    endless["source"] = {"text": 'extern "C" __global__ void k(float *a, int n) { while (true) a[0] += 1; }'}
    run = _run_of(ask(port, "POST", "/api/runs", json.dumps(endless)))
    statuses: Counter[int] = Counter()
    with ExitStack() as stack:
        for _ in range(STREAMS):
            connection = stack.enter_context(closing(HTTPConnection("127.0.0.1", port, timeout=_SECONDS)))
            connection.request("GET", f"/api/runs/{run}/events")
            statuses[connection.getresponse().status] += 1
            if statuses[429] > 20:
                break
        ask(port, "DELETE", f"/api/runs/{run}")
    demand({*statuses} == {200, 429}, f"the answers were {dict(statuses)}")
    return "bounded"


def _cancels(port: int) -> str:
    """Cancel at once, twice, after the end, and what never was."""
    body = json.dumps(good_body())
    kinds = {ask(port, "DELETE", "/api/runs/nosuchrun").kind}
    for _ in range(RACES):
        run = _run_of(ask(port, "POST", "/api/runs", body))
        with ThreadPoolExecutor(2) as cancelling:
            kinds |= {
                answer.kind
                for answer in cancelling.map(lambda path: ask(port, "DELETE", path), [f"/api/runs/{run}"] * 2)
            }
        verdict = verdict_of(port, run)
        demand(verdict in ("cancelled", "ok"), f"a cancelled run ended with {verdict}")
        kinds.add(ask(port, "DELETE", f"/api/runs/{run}").kind)
    demand(kinds <= {"2xx", "404", "409"}, f"the answers were {kinds}")
    return "|".join(sorted(kinds))


FLOWS: dict[str, Callable[[int], str]] = {
    "rq13_queue_flood": _flood,
    "rq15_ws_flood": _streams,
    "rq16_cancel_race": _cancels,
}
"""Attacks of the corpus that are no body but a way of asking."""
