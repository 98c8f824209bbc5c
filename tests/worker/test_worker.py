"""Worker processes that live, stop, fail and die: no run is lost, and none ends silently."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from store import keys
from tests.service.harness import SOURCE, Event, Process, Served, wait_for

Actor = Callable[..., Process]


def play(stage: Served, *lines: str) -> str:
    return stage.post_run(source={"text": "\n".join((*lines, "end"))})


def verdict(stage: Served, run_id: str, seconds: float = 20.0) -> dict[str, Any]:
    """The end of a run, once it has come."""
    events = stage.events(run_id, seconds=seconds)
    assert events[-1].kind == "finished", [event.kind for event in events]
    end: dict[str, Any] = events[-1].data["event"]
    return end


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def test_a_run_from_the_queue_to_its_end(stage: Served, actor: Actor) -> None:
    actor()
    run_id = play(stage, "print hello", "verdict ok")
    events = stage.events(run_id)
    assert kinds(events) == ["queued", "compiling", "timed", "printed", "finished"]
    assert [event.id for event in events] == ["0-1", "1-1", "1-2", "1-3", "1-4"]
    assert events[1].data["event"]["attempt"] == 1
    waited = events[2].data["event"]
    assert (waited["stage"], waited["clock"]) == ("queue", "wall")
    assert 0 < waited["seconds"] < 5
    result = stage.http.get(f"/api/runs/{run_id}").json()["result"]
    assert (result["verdict"], result["printed"]) == ("ok", "hello")


def test_a_queued_run_waits_for_a_worker(stage: Served, actor: Actor) -> None:
    from tests.service.harness import announce_worker

    announce_worker(stage.redis)
    run_id = play(stage, "print later")
    time.sleep(1.2)  # longer than the grace: a message in the queue is no orphan
    assert stage.redis.llen("emulator") == 1
    actor()
    assert verdict(stage, run_id)["verdict"] == "ok"


@pytest.mark.parametrize("slots", [1, 3])
def test_slots_work_at_once(stage: Served, actor: Actor, slots: int) -> None:
    actor("--slots", str(slots))
    runs = [play(stage, "sleep 1.5") for _ in range(3)]

    def running() -> int:
        states = [stage.http.get(f"/api/runs/{run_id}").json()["result"]["state"] for run_id in runs]
        return states.count("running")

    wait_for(lambda: running() == slots)
    assert running() <= slots
    assert [verdict(stage, run_id)["verdict"] for run_id in runs] == ["ok"] * 3


def test_a_running_run_is_cancelled_within_its_time(stage: Served, actor: Actor) -> None:
    actor()
    run_id = play(stage, "print begun", "sleep 30")
    wait_for(lambda: len(stage.redis.xrange(keys.events(run_id))) >= 4)
    began = time.monotonic()
    assert stage.http.delete(f"/api/runs/{run_id}").json()["state"] == "running"
    assert verdict(stage, run_id)["verdict"] == "cancelled"
    assert time.monotonic() - began < 2.0
    following = play(stage, "print next")
    assert verdict(stage, following)["verdict"] == "ok"


def test_a_cancelled_queued_run_never_begins(stage: Served, actor: Actor) -> None:
    actor()
    first, second = play(stage, "sleep 0.5"), play(stage, "print never")
    assert stage.http.delete(f"/api/runs/{second}").json()["state"] == "finished"
    assert verdict(stage, first)["verdict"] == "ok"
    assert kinds(stage.events(second)) == ["queued", "finished"]


def test_a_killed_worker_s_run_is_taken_up_again(stage: Served, actor: Actor, tmp_path: Path) -> None:
    """SIGKILL in mid-run; another worker takes the run up, and a reader sees both attempts in one stream."""
    doomed = actor()
    run_id = play(stage, "print first", f"kill-once {tmp_path / 'killed'}", "print second")
    assert doomed.process.wait(10) == -9
    actor()
    events = stage.events(run_id)
    assert [event.data["event"]["attempt"] for event in events if event.kind == "compiling"] == [1, 2]
    assert [event.id for event in events] == ["0-1", "1-1", "1-2", "1-3", "2-1", "2-2", "2-3", "2-4", "2-5"]
    result = stage.http.get(f"/api/runs/{run_id}").json()["result"]
    assert (result["verdict"], result["printed"], result["attempt"]) == ("ok", "firstsecond", 2)


def test_a_run_that_kills_its_workers_ends(stage: Served, actor: Actor) -> None:
    run_id = None
    for _ in range(3):
        doomed = actor()
        run_id = run_id or play(stage, "print begun", "kill")
        assert doomed.process.wait(20) == -9, doomed.log.read_text()
    assert run_id
    end = verdict(stage, run_id)
    assert end["verdict"] == "error"
    assert "The worker was lost 3 times" in end["message"]
    actor()
    assert verdict(stage, play(stage, "print fine"))["verdict"] == "ok"


def test_a_fault_of_the_worker_is_told(stage: Served, actor: Actor) -> None:
    worker = actor()
    end = verdict(stage, play(stage, "crash"))
    assert end["verdict"] == "error"
    assert "The worker failed: ZeroDivisionError" in end["message"]
    assert verdict(stage, play(stage, "print fine"))["verdict"] == "ok"
    assert "a fault of the worker" in worker.log.read_text()


def test_an_orderly_stop_gives_the_run_back(stage: Served, actor: Actor, tmp_path: Path) -> None:
    worker = actor()
    run_id = play(stage, "print begun", "sleep 1.5", "print done")
    wait_for(lambda: len(stage.redis.xrange(keys.events(run_id))) >= 4)
    began = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - began < 3
    assert stage.redis.hget(keys.run(run_id), "state") in ("queued", "running")
    wait_for(lambda: not stage.redis.exists(f"warpyard:worker:actor-{worker.process.pid}"))
    actor()
    events = stage.events(run_id)
    assert events[-1].data["event"]["verdict"] == "ok"
    assert events[-1].id.startswith("2-")


def test_a_frozen_worker_is_fenced_off(stage: Served, actor: Actor) -> None:
    """It wakes after its lease ran out: what it still says is refused, and the second attempt is the result."""
    import signal

    frozen = actor()
    run_id = play(stage, "print begun", "sleep 1", "print late")
    wait_for(lambda: len(stage.redis.xrange(keys.events(run_id))) >= 4)
    frozen.process.send_signal(signal.SIGSTOP)
    actor()
    wait_for(lambda: stage.redis.hget(keys.run(run_id), "attempt") == "2")
    frozen.process.send_signal(signal.SIGCONT)
    events = stage.events(run_id)
    assert events[-1].id.startswith("2-")
    assert events[-1].data["event"]["verdict"] == "ok"
    assert not [event for event in events if event.id.startswith("1-") and "late" in str(event.data)]
    assert verdict(stage, play(stage, "print fine"))["verdict"] == "ok"


def test_compile_only_questions(stage: Served, actor: Actor) -> None:
    actor("--queues", "compile")
    answer = stage.http.post("/api/compile", json={"compile": {"source": {"text": SOURCE}}})
    assert (answer.status_code, answer.json()["verdict"]) == (200, "ok")
    failed = stage.http.post("/api/compile", json={"compile": {"source": {"text": "crash"}}})
    assert (failed.status_code, failed.json()["verdict"]) == (200, "error")
    assert "This is our fault" in failed.json()["message"]


def test_a_question_nobody_waits_for_is_dropped(stage: Served, actor: Actor) -> None:
    import httpx

    actor("--queues", "compile")
    body = {"compile": {"source": {"text": "sleep 20"}}}
    with pytest.raises(httpx.ReadTimeout):
        stage.http.post("/api/compile", json=body, timeout=0.5)
    began = time.monotonic()
    assert stage.http.post("/api/compile", json={"compile": {"source": {"text": SOURCE}}}).status_code == 200
    assert time.monotonic() - began < 3


def test_a_worker_that_is_gone_offers_nothing(stage: Served, actor: Actor) -> None:
    worker = actor("--queues", "emulator,compile")
    assert stage.http.get("/readyz").status_code == 200
    worker.kill()
    wait_for(lambda: stage.http.get("/readyz").status_code == 503, 5)
    answer = stage.http.post("/api/runs", json={"source": {"text": "x"}, "steps": [STEP]})
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:warpyard:problem:no-device")


STEP = {"kind": "launch", "config": {"grid": [1], "block": [1]}}


def test_the_queue_may_restart_in_mid_run(
    empty_database: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, processes: Any
) -> None:
    """kill -9 of Valkey while a run works: the run goes on and its reader gets the end."""
    import tempfile

    from tests.service.harness import Broker, make_settings, serving
    from tests.worker.conftest import ACTOR

    own = Broker(Path(tempfile.mkdtemp(prefix="wy-", dir="/tmp")))
    own.start()
    try:
        with serving(make_settings(own, empty_database, tmp_path, lease_seconds=2.0)) as stage:
            worker = processes.start(stage.settings, ACTOR, "--queues", "emulator,compile")
            wait_for(lambda: stage.http.get("/readyz").status_code == 200, 20, 0.2)
            run_id = play(stage, "print one", "sleep 1.5", "print two", "sleep 1", "print three")
            wait_for(lambda: len(stage.redis.xrange(keys.events(run_id))) >= 4)
            time.sleep(1.1)  # the append-only file is flushed each second
            own.kill()
            own.start()
            result = wait_for(
                lambda: (
                    (answer := stage.http.get(f"/api/runs/{run_id}").json()).get("result", {}).get("verdict")
                    and answer["result"]
                ),
                20,
                0.1,
            )
            assert (result["verdict"], result["printed"]) == ("ok", "onetwothree"), worker.log.read_text()
            assert verdict(stage, run_id)["verdict"] == "ok"
    finally:
        own.kill()
        import shutil

        shutil.rmtree(own.folder)
