"""Devices, examples, readiness, metrics, and compile-only questions."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from app.service import keep_files
from protocol.inspection import InspectReport, InspectRequest
from protocol.reading import read
from protocol.recognition import Recognised
from store import keys
from store.blobs import FileBlobs
from store.examples import read_example
from tests.app.test_runs import problem
from tests.service.harness import EMULATOR, ROOT, SOURCE, Served, announce_worker, run_body, wait_for
from tests.store.test_examples import write

QUESTION = {"compile": {"source": {"text": SOURCE}}, "launch": {"block": [32]}}
REPORT = InspectReport(verdict="ok", architecture="sm_90")


def test_devices(served: Served) -> None:
    announce_worker(served.redis, name="other", slots=3)
    body = served.http.get("/api/devices").json()
    assert body["default"] == "emulator"
    assert body["isolation"] == "strong"
    assert [(device["id"], device["workers"]) for device in body["devices"]] == [("emulator", 4)]
    assert body["devices"][0]["name"] == EMULATOR.name
    assert body["reasons"] == []


def test_without_a_worker_there_is_no_device(served: Served) -> None:
    served.redis.flushall()
    announce_worker(served.redis, refuses="No namespaces here.")
    body = served.http.get("/api/devices").json()
    assert (body["devices"], body["isolation"], body["reasons"]) == ([], "none", ["No namespaces here."])


def test_gpus(served: Served) -> None:
    body = served.http.get("/api/gpus").json()
    assert body["checked"]
    h200 = next(gpu for gpu in body["gpus"] if gpu["name"] == "H200 SXM")
    assert (h200["architecture"], h200["sm_count"], h200["memory_gb"]) == ("sm_90", 132, 141)
    assert all(gpu["sources"] for gpu in body["gpus"])


def test_examples(served: Served, tmp_path: Path) -> None:
    assert served.http.get("/api/examples").json() == []
    served.app.state.service.examples = (read_example(write(tmp_path)),)
    (example,) = served.http.get("/api/examples").json()
    assert (example["id"], example["title"], example["summary"]) == ("scale", "Scale", "Multiplies.")
    assert example["payload"]["request"]["buffers"][0]["name"] == "a"
    assert served.http.post("/api/runs", json=example["payload"]["request"]).status_code == 202
    served.app.state.service.examples = ()


def test_an_example_with_a_file_runs_and_is_shared(served: Served) -> None:
    """From when the service is up, and for good: neither eviction nor another's upload comes between."""
    example = read_example(ROOT / "examples" / "blur.cu")
    keep_files(served.app.state.service.blobs, (example,))
    for path in served.settings.data_dir.joinpath("blobs", "passing").rglob("*"):
        if path.is_file():
            path.unlink()
    payload = example.payload.model_dump(mode="json")
    assert served.http.post("/api/runs", json=payload["request"]).status_code == 202
    shared = served.http.post("/api/shares", json={"payload": payload})
    assert shared.status_code == 201, shared.text
    got = served.http.get(f"/api/shares/{shared.json()['id']}").json()["payload"]
    assert got["request"]["buffers"][0]["init"] == {"kind": "upload", "digest": example.files[0][0]}
    assert served.http.post("/api/runs", json=got["request"]).status_code == 202


def test_no_room_for_an_examples_file_is_logged(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []
    logger = SimpleNamespace(error=lambda event, file, **_: told.append((event, file)))
    monkeypatch.setattr("app.service.log", logger)
    example = read_example(ROOT / "examples" / "blur.cu")
    keep_files(FileBlobs(served.settings.data_dir / "small", 1000), (example,))
    assert told == [("file of an example not kept", "cat.npy")]


def test_readiness(served: Served) -> None:
    assert served.http.get("/readyz").json() == {
        "ready": True,
        "checks": {"queue": "ok", "database": "ok", "blobs": "ok", "workers": "ok"},
    }
    served.redis.flushall()
    served.app.state.service._workers_at = float("-inf")
    answer = served.http.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["workers"]) == (503, "no worker lives")
    announce_worker(served.redis, refuses="No namespaces here.")
    served.app.state.service._workers_at = float("-inf")
    assert served.http.get("/readyz").json()["checks"]["workers"] == "No namespaces here."
    assert served.http.get("/healthz").json() == {"status": "ok"}


def test_metrics(served: Served) -> None:
    run_id = served.post_run()
    served.post_run()
    served.claim(run_id)
    served.http.get(f"/api/runs/{run_id}")
    text = served.http.get("/metrics").text
    assert 'warpyard_waiting_runs{queue="emulator"} 1.0' in text
    assert "warpyard_running_runs 1.0" in text
    assert "warpyard_workers 1.0" in text
    assert 'route="/api/runs/{run_id}",status="200"' in text
    assert run_id not in text
    served.http.request("PROPFIND", "/api/runs")
    text = served.http.get("/metrics").text
    assert 'method="other"' in text
    assert "PROPFIND" not in text


def ask(served: Served) -> httpx.Response:
    return served.http.post("/api/compile", json=QUESTION)


def asked(served: Served) -> str:
    """The id of the one question that waits, once its message is in the queue."""
    prefix = keys.question("")
    found: Any = wait_for(lambda: [str(key) for key in served.redis.scan_iter(f"{prefix}*")])
    wait_for(lambda: served.redis.llen(keys.COMPILE_QUEUE) > 0)
    return str(found[0]).removeprefix(prefix)


def test_a_question_is_answered(served: Served) -> None:
    with ThreadPoolExecutor(1) as askers:
        answering = askers.submit(ask, served)
        question = asked(served)
        request = read(InspectRequest, str(served.redis.get(keys.question(question))))
        assert request.launch is not None
        served.redis.set(keys.answer(question), REPORT.model_dump_json())
        began = time.monotonic()
        served.redis.publish(keys.answer(question), "")
        answer = answering.result(5)
        assert time.monotonic() - began < 0.5
    assert answer.status_code == 200
    assert InspectReport.model_validate_json(answer.content) == REPORT
    assert not list(served.redis.scan_iter("warpyard:question:*"))
    assert not list(served.redis.scan_iter("warpyard:answer:*"))


def test_kernels_of_cupy_are_asked_for_in_the_same_way(served: Served) -> None:
    found = Recognised(kernels=(), numba=True)
    with ThreadPoolExecutor(1) as askers:
        answering = askers.submit(served.http.post, "/api/recognise", json={"source": {"text": "import numba"}})
        question = asked(served)
        request = read(InspectRequest, str(served.redis.get(keys.question(question))))
        assert (request.recognise, request.compile.source.text) == (True, "import numba")
        report = REPORT.model_copy(update={"recognised": found})
        served.redis.set(keys.answer(question), report.model_dump_json())
        served.redis.publish(keys.answer(question), "")
        answer = answering.result(5)
    assert Recognised.model_validate_json(answer.content) == found
    answer = served.http.post("/api/recognise", json={"source": {"text": ""}})
    assert problem(answer, 422)["errors"][0]["field"] == "source.text"


def test_a_question_of_one_who_left_is_withdrawn(served: Served) -> None:
    with pytest.raises(httpx.ReadTimeout):
        served.http.post("/api/compile", json=QUESTION, timeout=0.3)
    wait_for(lambda: not list(served.redis.scan_iter("warpyard:question:*")))


def test_a_question_that_nobody_answers(served: Served) -> None:
    served.app.state.service.settings = served.settings.model_copy(update={"inspect_timeout": 0.2})
    problem(ask(served), 504)


def test_a_question_needs_a_worker_that_compiles(served: Served) -> None:
    served.redis.flushall()
    announce_worker(served.redis, compiles=False)
    assert "No worker that compiles" in problem(ask(served), 503)["detail"]


@pytest.fixture
def just_started(served: Served) -> Served:
    """A service whose workers are still starting."""
    served.redis.flushall()
    service = served.app.state.service
    service.settings = served.settings.model_copy(update={"start_patience": 20.0})
    service.opened, service._workers_at = time.monotonic(), float("-inf")
    return served


def test_a_run_of_the_first_second_waits_for_a_worker(just_started: Served) -> None:
    with ThreadPoolExecutor(1) as senders:
        sending = senders.submit(just_started.http.post, "/api/runs", json=run_body(), timeout=20)
        time.sleep(0.2)
        assert not sending.done()
        announce_worker(just_started.redis)
        assert sending.result(10).status_code == 202


def test_a_question_of_the_first_second_waits_for_a_compiler(just_started: Served) -> None:
    announce_worker(just_started.redis, compiles=False)
    with ThreadPoolExecutor(1) as askers:
        answering = askers.submit(ask, just_started)
        time.sleep(0.2)
        assert not answering.done()
        announce_worker(just_started.redis, name="compiler", devices=())
        question = asked(just_started)
        just_started.redis.set(keys.answer(question), REPORT.model_dump_json())
        just_started.redis.publish(keys.answer(question), "")
        assert answering.result(10).status_code == 200


def test_nobody_waits_for_workers_that_refuse(just_started: Served) -> None:
    announce_worker(just_started.redis, refuses="No namespaces here.", devices=())
    answer = just_started.http.post("/api/runs", json=run_body(), timeout=5)
    assert "No namespaces here." in problem(answer, 503)["detail"]
    assert "No namespaces here." in problem(ask(just_started), 503)["detail"]


def test_a_question_is_checked_and_limited(served: Served) -> None:
    answer = served.http.post("/api/compile", json={"compile": {"source": {"text": ""}}})
    assert problem(answer, 422)["errors"][0]["field"] == "compile.source.text"
    service = served.app.state.service
    service.settings = served.settings.model_copy(update={"inspect_cap": 2})
    served.redis.lpush(keys.COMPILE_QUEUE, "a", "b")
    assert problem(ask(served), 503)["type"].endswith("queue-full")
    service.settings = served.settings.model_copy(
        update={"compiles_burst": 1, "compiles_per_second": 0.1, "inspect_timeout": 0.05}
    )
    served.redis.flushall()
    announce_worker(served.redis)
    assert [ask(served).status_code for _ in range(3)] == [504, 429, 429]


def test_other_requests_go_on_while_one_waits(served: Served) -> None:
    asking = threading.Thread(target=lambda: ask(served))
    asking.start()
    question = asked(served)
    assert served.http.post("/api/runs", json=run_body()).status_code == 202
    served.redis.set(keys.answer(question), REPORT.model_dump_json())
    served.redis.publish(keys.answer(question), "")
    asking.join(5)
    assert not asking.is_alive()
