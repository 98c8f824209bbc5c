"""The event stream: complete, in order, exactly once, from wherever a reader goes on."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from protocol.events import Compiling, Event, Finished, Printed
from store import keys
from store.claims import HeldRun
from tests.app.test_runs import problem
from tests.service.harness import Served, read_events, serving, wait_for

END = Finished(verdict="ok")


def prints(count: int) -> list[Event]:
    return [Compiling(attempt=1), *(Printed(text=f"{number}\n") for number in range(count))]


def finished_run(served: Served, count: int = 5) -> str:
    run_id = served.post_run()
    held = served.claim(run_id)
    for event in prints(count):
        served.claims.emit(held, event)
    served.claims.finish(held, END)
    return run_id


def expected_ids(count: int) -> list[str]:
    return ["0-1", *(f"1-{number}" for number in range(1, count + 3))]


@pytest.mark.parametrize("kept", ["stream", "database"])
def test_a_finished_run_is_told_from_the_start(served: Served, kept: str) -> None:
    run_id = finished_run(served)
    if kept == "database":
        served.redis.flushall()
    events = served.events(run_id)
    assert [event.id for event in events] == expected_ids(5)
    assert [event.kind for event in events] == ["queued", "compiling", *["printed"] * 5, "finished"]
    assert all(event.data["id"] == event.id and event.data["event"]["kind"] == event.kind for event in events)


@pytest.mark.parametrize("kept", ["stream", "database"])
def test_a_reader_goes_on_from_every_event(served: Served, kept: str) -> None:
    run_id = finished_run(served)
    if kept == "database":
        served.redis.flushall()
    ids = expected_ids(5)
    for position, event_id in enumerate(ids):
        assert [event.id for event in served.events(run_id, after=event_id)] == ids[position + 1 :]
    with served.http.stream("GET", f"/api/runs/{run_id}/events", headers={"Last-Event-ID": ids[-1]}) as answer:
        assert answer.status_code == 204, "an EventSource would ask for ever"


@pytest.mark.parametrize("value", ["x", "1", "1-", "-1", "1-2-3", "１-1", "1-" + "9" * 20, "-1-2"])
def test_a_wrong_last_event_id(served: Served, value: str) -> None:
    run_id = served.post_run()
    answer = served.http.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": value.encode()})
    assert problem(answer, 422)["errors"][0]["field"] == "last-event-id"


def test_headers_of_a_stream(served: Served) -> None:
    run_id = finished_run(served)
    with served.http.stream("GET", f"/api/runs/{run_id}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache"
        assert "retry: 500" in answer.read().decode()


def emit_slowly(served: Served, held: HeldRun, count: int, pause: float) -> None:
    for event in prints(count):
        served.claims.emit(held, event)
        time.sleep(pause)
    served.claims.finish(held, END)


@pytest.mark.parametrize("pause", [0.0, 0.002])
def test_live_readers_get_each_event_once(served: Served, pause: float) -> None:
    run_id = served.post_run()
    with ThreadPoolExecutor(8) as readers:
        reading = [readers.submit(served.events, run_id) for _ in range(6)]
        wait_for(lambda: len(served.app.state.service.hub._subscriptions.get(keys.events(run_id), ())) == 6)
        emit_slowly(served, served.claim(run_id), 60, pause)
        for events in reading:
            assert [event.id for event in events.result(20)] == expected_ids(60)
    wait_for(lambda: not served.app.state.service.hub._subscriptions)
    wait_for(lambda: not served.app.state.service.streams)


def test_a_reader_that_disconnects_at_every_event_misses_none(served: Served) -> None:
    run_id = served.post_run()
    writer = threading.Thread(target=emit_slowly, args=(served, served.claim(run_id), 60, 0.005))
    writer.start()
    got: list[str] = []
    while len(got) < 63:
        events = served.events(run_id, after=got[-1] if got else "", most=1)
        got += [event.id for event in events]
    writer.join()
    assert got == expected_ids(60)


def test_a_gap_is_filled_from_the_stream(served: Served) -> None:
    """Pub/sub only wakes: what it loses is read again."""
    run_id = served.post_run()
    held = served.claim(run_id)
    with ThreadPoolExecutor(1) as readers:
        reading = readers.submit(served.events, run_id)
        wait_for(lambda: served.redis.pubsub_numsub(keys.events(run_id))[0][1] == 1)
        served.claims.emit(held, Compiling(attempt=1))
        for number in range(2, 5):  # as if their messages were lost
            record = f'{{"id":"1-{number}","at":0,"event":{{"kind":"printed","text":"x"}}}}'
            served.redis.xadd(keys.events(run_id), {"kind": "printed", "record": record}, id=f"1-{number}")
            held.records.append(record)
        served.claims.finish(held, END)
        assert [event.id for event in reading.result(10)] == [
            "0-1",
            *(f"1-{number}" for number in range(1, 6)),
        ]


def test_a_lost_connection_to_the_queue_is_noticed_at_once(served: Served) -> None:
    """The last event comes while the subscription is cut: nothing would ever wake the reader."""
    run_id = served.post_run()
    held = served.claim(run_id)
    with ThreadPoolExecutor(1) as readers:
        reading = readers.submit(served.events, run_id)
        wait_for(lambda: served.redis.pubsub_numsub(keys.events(run_id))[0][1] == 1)
        served.claims.emit(held, Compiling(attempt=1))
        began = time.monotonic()
        assert served.redis.execute_command("CLIENT KILL TYPE PUBSUB") == 1
        served.claims.finish(held, END)
        assert [event.id for event in reading.result(10)] == ["0-1", "1-1", "1-2"]
        assert time.monotonic() - began < 5


def test_a_new_attempt_follows_the_old_one(served: Served) -> None:
    run_id = served.post_run()
    with ThreadPoolExecutor(1) as readers:
        reading = readers.submit(served.events, run_id)
        first = served.claim(run_id)
        served.claims.emit(first, Compiling(attempt=1))
        served.redis.delete(keys.lease(run_id))
        second = served.claim(run_id)
        served.claims.emit(second, Compiling(attempt=2))
        served.claims.finish(second, END)
        assert [event.id for event in reading.result(10)] == ["0-1", "1-1", "2-1", "2-2"]


def test_a_slow_reader_costs_no_memory_and_misses_nothing(served: Served) -> None:
    """It reads nothing while 20 MB of events pass; the server keeps a bounded backlog, then reads again."""
    run_id = served.post_run()
    held = served.claim(run_id)
    with served.http.stream("GET", f"/api/runs/{run_id}/events") as answer:
        lines = answer.iter_lines()
        first = next(read_events(lines))
        served.claims.emit(held, Compiling(attempt=1))
        for _ in range(2000):
            served.claims.emit(held, Printed(text="x" * 10_000))
        served.claims.finish(held, END)
        subscriptions = served.app.state.service.hub._subscriptions[keys.events(run_id)]
        assert all(subscription._queue.qsize() <= 256 for subscription in subscriptions)
        ids = [first.id, *(event.id for event in read_events(lines))]
    assert ids == expected_ids(2000)


def test_streams_are_counted(served: Served) -> None:
    service = served.app.state.service
    service.settings = served.settings.model_copy(update={"max_streams_per_client": 2})
    run_id = served.post_run()
    url = f"/api/runs/{run_id}/events"
    with served.http.stream("GET", url) as one, served.http.stream("GET", url) as two:
        assert (one.status_code, two.status_code) == (200, 200)
        answer = served.http.get(url)
        assert problem(answer, 429)["type"].endswith("streams")
        assert "warpyard_event_streams 2.0" in served.http.get("/metrics").text
    wait_for(lambda: not service.streams)
    service.settings = served.settings.model_copy(update={"max_streams": 1})
    with served.http.stream("GET", url):
        assert problem(served.http.get(url), 503)["type"].endswith("streams")


def test_a_stream_ends_when_the_server_stops(broker: Any, empty_database: Any, tmp_path: Any) -> None:
    from tests.service.harness import announce_worker, make_settings

    with serving(make_settings(broker, empty_database, tmp_path)) as served:
        announce_worker(served.redis)
        run_id = served.post_run()
        with served.http.stream("GET", f"/api/runs/{run_id}/events") as answer:
            events = read_events(answer.iter_lines())
            assert next(events).id == "0-1"
            began = time.monotonic()
            served.app.state.service.hub.close()  # as `python -m app` does on SIGTERM
            served.server.should_exit = True
            assert list(events) == []
            assert time.monotonic() - began < 2


def test_an_unreachable_queue_is_a_503(broker: Any, empty_database: Any, tmp_path: Any) -> None:
    from tests.service.harness import Broker, announce_worker, make_settings

    (tmp_path / "own").mkdir()
    own = Broker(tmp_path / "own") if len(str(tmp_path)) < 80 else broker
    own.start()
    with serving(make_settings(own, empty_database, tmp_path)) as served:
        announce_worker(served.redis)
        run_id = finished_run(served)
        own.kill()
        problem(served.http.post("/api/runs", json={}), 422)
        answer = problem(served.http.get(f"/api/runs/{run_id}/events"), 503)
        assert answer["detail"] == "The queue does not answer. Try again in a moment."
        ready = served.http.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["checks"]["queue"] != "ok"
        assert ready.json()["checks"]["database"] == "ok"
        own.start()
        assert wait_for(lambda: served.http.get(f"/api/runs/{run_id}").status_code == 200)
        assert [event.id for event in served.events(run_id)] == expected_ids(5)
    own.kill()
