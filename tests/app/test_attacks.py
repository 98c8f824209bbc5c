"""The attacks of the corpus on requests: one hostile value in a request that is accepted without it."""

import csv
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from protocol.events import Finished
from store import keys
from tests.app.test_runs import problem, put
from tests.service.harness import ROOT, SOURCE, Served, run_body, wait_for

CORPUS = ROOT / "tests" / "data" / "attacks" / "attacks.tsv"
DEEP = 20_000

# id of the corpus, field, hostile value, harmless value
FIELDS: list[tuple[str, str, Any, Any]] = [
    *(
        ("hp05_filenames", "source.file_name", name, "a.cu")
        for name in (
            *("../../../../tmp/PWNED", "-ccbin=sh.cu", "/etc/x.cu", "a;touch PWNED;.cu", "a\0.cu"),
            *("\u202eu c.exe", "aaaa/../b.cu", "", "x" * 65, "a\n.cu", "é.cu"),
        )
    ),
    ("hp06_ld_preload", "env", {"LD_PRELOAD": "/tmp/x.so"}, None),
    ("hp06_ld_preload", "options", {"LD_PRELOAD": "/tmp/x.so"}, {}),
    ("hp06_ld_preload", "options", {"arguments": ["--run"]}, {"fast_math": True}),
    ("hp06_ld_preload", "options.defines", [{"name": "A B", "value": "1"}], [{"name": "AB", "value": "1"}]),
    (
        "hp06_ld_preload",
        "options.defines",
        [{"name": "A", "value": "1\n-I/"}],
        [{"name": "A", "value": "-I/"}],
    ),
    ("rq04_float_nan", "steps.0.config.grid", [1e308, 1.5, "1"], [1, 1, 1]),
    *(
        ("rq04_float_nan", "steps.0.config.block", [value], [1])
        for value in (1.5, "1", True, None, float("nan"), float("inf"), [], {})
    ),
    *(("rq06_size_neg", "buffers.0.shape", [value], [32]) for value in (-1, 2**63 - 1, 1e30, 2**64, 0, 2**40)),
    ("rq06_size_neg", "buffers.0.shape", [2**31, 2**31, 4], [2, 4, 4]),
    ("rq12_huge_body", "source.text", SOURCE + "/" * 300_000, SOURCE + "/" * 200_000),
]


def raw_body(field: str, text: str) -> bytes:
    """A body with JSON text of our own in one place."""
    return json.dumps(put(run_body(), field, "HERE")).replace('"HERE"', text).encode()


INT64 = '{"kind":"scalar","dtype":"int64","value":"%s"}'

# id of the corpus, field, hostile JSON text, harmless JSON text
TEXTS: list[tuple[str, str, str, str]] = [
    ("rq04_float_nan", "steps.0.config.block", "[NaN]", "[1]"),
    ("rq04_float_nan", "steps.0.arguments.1.value", "NaN", '"nan"'),
    ("rq04_float_nan", "steps.0.arguments.1.value", "-Infinity", '"-inf"'),
    ("rq09_deep_json", "steps.0.arguments", "[" * DEEP + "]" * DEEP, "[]"),
    ("rq09_deep_json", "steps.0", '{"a":' * DEEP + "1" + "}" * DEEP, json.dumps(run_body()["steps"][0])),
    ("rq10_big_int", "steps.0.config.grid", f"[{'9' * 100_000}]", "[9]"),
    ("rq10_big_int", "steps.0.arguments.1.value", "9" * 100_000, "9" * 15),
    ("rq10_big_int", "steps.0.arguments.1", INT64 % ("9" * 100_000), INT64 % ("9" * 18)),
    ("rq10_big_int", "schema_version", "1" * 5_000, "1"),
]


def post(served: Served, content: bytes) -> httpx.Response:
    return served.http.post("/api/runs", content=content, headers={"content-type": "application/json"})


def encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, allow_nan=True).encode()


@pytest.mark.parametrize(("attack", "field", "hostile", "harmless"), FIELDS)
def test_a_hostile_value_is_refused(served: Served, attack: str, field: str, hostile: Any, harmless: Any) -> None:
    plain = run_body(options={}, schema_version=1)
    twin = plain if harmless is None else put(plain, field, harmless)
    answer = post(served, encoded(twin))
    assert answer.status_code == 202, answer.text
    body = problem(post(served, encoded(put(plain, field, hostile))), 422)
    assert any(error["field"].startswith(field) or field.startswith(error["field"]) for error in body["errors"])
    assert served.redis.llen("emulator") == 1


@pytest.mark.parametrize(("attack", "field", "hostile", "harmless"), TEXTS)
def test_hostile_json_is_refused(served: Served, attack: str, field: str, hostile: str, harmless: str) -> None:
    answer = post(served, raw_body(field, harmless))
    assert answer.status_code == 202, answer.text
    problem(post(served, raw_body(field, hostile)), 422)
    assert served.redis.llen("emulator") == 1
    assert served.http.get("/healthz").status_code == 200


# What only the engine can judge is queued, and the run says what is wrong: tests/service and tests/engine.
JUDGED_LATER = {"rq01_grid_max", "rq03_block_1025", "rq07_shared"}


def test_a_queue_flood_leaves_room_for_others(served: Served) -> None:
    """rq13: 500 at once from one client; the quota is his alone."""
    service = served.app.state.service
    service.queue._settings = served.settings.model_copy(
        update={"runs_per_second": 0.5, "runs_burst": 20, "queue_cap": 200}
    )
    with ThreadPoolExecutor(8) as senders:
        answers = list(senders.map(lambda _: post(served, encoded(run_body())), range(500)))
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {202, 429}
    assert 20 <= statuses.count(202) <= 25
    assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 429)
    assert served.redis.zcard(keys.pending("emulator")) == statuses.count(202)
    rate = served.redis.keys("warpyard:rate:run:*")
    assert len(rate) == 1
    served.redis.rename(rate[0], "warpyard:rate:run:somebody-else")
    assert post(served, encoded(run_body())).status_code == 202


def test_a_stream_flood_is_bounded(served: Served) -> None:
    """rq15: readers that read nothing, and close mid-job."""
    service = served.app.state.service
    service.settings = served.settings.model_copy(update={"max_streams_per_client": 50})
    run_id = served.post_run()
    held = served.claim(run_id)
    clients, statuses = [], []
    for _ in range(120):
        client = httpx.Client(base_url=served.url, timeout=5)
        stream = client.stream("GET", f"/api/runs/{run_id}/events")
        statuses.append(stream.__enter__().status_code)
        clients.append((client, stream))
    assert statuses.count(200) == 50
    assert statuses.count(429) == 70
    for client, stream in clients:
        stream.__exit__(None, None, None)
        client.close()
    wait_for(lambda: not service.streams and not service.hub._subscriptions)
    served.claims.finish(held, Finished(verdict="ok"))
    assert served.events(run_id)[-1].kind == "finished"


def test_cancel_races(served: Served) -> None:
    """rq16: cancel at once, twice, a foreign run, after the end; a worker claims meanwhile."""
    for _ in range(20):
        run_id = served.post_run()
        taken: list[Any] = []
        worker = threading.Thread(target=lambda: taken.append(served.claims.claim(run_id)))  # noqa: B023
        worker.start()
        with ThreadPoolExecutor(2) as cancelling:
            answers = list(cancelling.map(lambda _: served.http.delete(f"/api/runs/{run_id}"), range(2)))  # noqa: B023
        worker.join()
        assert {answer.status_code for answer in answers} == {202}
        if not isinstance(taken[0], str):
            assert served.claims.watch(taken[0]) == "cancel"
            served.claims.finish(taken[0], Finished(verdict="cancelled"))
        assert served.http.delete(f"/api/runs/{run_id}").json()["state"] == "finished"
        assert served.http.get(f"/api/runs/{run_id}").json()["result"]["verdict"] == "cancelled"
        ends = [event for event in served.events(run_id) if event.kind == "finished"]
        assert len(ends) == 1
    assert served.redis.zcard(keys.RUNNING) == served.redis.zcard(keys.pending("emulator")) == 0


def test_every_request_of_the_corpus_is_here() -> None:
    with CORPUS.open() as file:
        corpus = {row["id"] for row in csv.DictReader(file, delimiter="\t") if row["job"] == "request"}
    flows = {"rq13_queue_flood", "rq15_ws_flood", "rq16_cancel_race"}
    assert corpus == {row[0] for row in FIELDS} | {row[0] for row in TEXTS} | flows | JUDGED_LATER
