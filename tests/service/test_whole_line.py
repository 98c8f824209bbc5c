"""The whole service: HTTP, queue, real workers, sandbox, compiler and emulator."""

import io
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from protocol.result import RunResult
from store import keys
from tests.service.harness import (
    ROOT,
    Broker,
    Process,
    Processes,
    Served,
    make_settings,
    quiet,
    run_body,
    serving,
    wait_for,
)

pytestmark = pytest.mark.service

SPIN = "__global__ void spin(int *a) { while (atomicAdd(a, 0) == 0) {} }"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    processes = Processes(tmp_path_factory.mktemp("logs"))
    yield processes
    processes.end()


@pytest.fixture(scope="module")
def whole(
    broker: Broker, empty_database: Path, tmp_path_factory: pytest.TempPathFactory, started: Processes
) -> Iterator[Served]:
    quiet()
    changes = {"lease_seconds": 2.0, "reap_interval": 0.3, "worker_ttl": 3.0, "run_wall_seconds": 4.0}
    settings = make_settings(broker, empty_database, tmp_path_factory.mktemp("whole"), **changes)
    with serving(settings) as served:
        served.extra["runs"] = start_worker(served, started, "emulator")
        served.extra["compile"] = start_worker(served, started, "compile")
        yield served


def at_rest(pid: int) -> int:
    """How many processes are below one, once that has not changed for a while: spares are started one after another."""
    count, since = -1, time.monotonic()

    def unchanged() -> bool:
        nonlocal count, since
        if (now := len(descendants(pid))) != count:
            count, since = now, time.monotonic()
        return time.monotonic() - since > 1.5

    wait_for(unchanged, 40, 0.05)
    return count


def start_worker(served: Served, started: Processes, queue: str) -> Process:
    process = started.start(served.settings, "worker", "--queues", queue, "--name", queue)
    prefix = f"warpyard:worker:{queue}-{process.process.pid}-*"

    def takes_jobs() -> bool:
        told = [str(served.redis.get(key)) for key in served.redis.scan_iter(prefix)]
        return any('"refuses":""' in text for text in told)

    wait_for(lambda: takes_jobs() or process.process.poll() is not None, 60, 0.05)
    assert process.process.poll() is None, process.log.read_text()
    served.app.state.service._workers_at = float("-inf")
    return process


def result_of(served: Served, run_id: str) -> RunResult:
    """The result, once the run has finished."""
    events = served.events(run_id, seconds=30)
    assert events[-1].kind == "finished"
    answer = served.http.get(f"/api/runs/{run_id}").json()["result"]
    return RunResult.model_validate_json(json.dumps(answer))


def spin_body(**changes: Any) -> dict[str, Any]:
    buffer = {"name": "a", "dtype": "int32", "shape": [1]}
    step = {
        "kind": "launch",
        "config": {"grid": [1], "block": [1]},
        "arguments": [{"kind": "buffer", "buffer": "a"}],
    }
    return run_body(source={"text": SPIN}, buffers=[buffer], steps=[step]) | changes


def test_a_run(whole: Served) -> None:
    check = {"buffer": "a", "expected": {"kind": "arange", "step": 2}}
    run_id = whole.post_run(checks=[check])
    events = whole.events(run_id)
    found = [event.kind for event in events]
    assert found[:3] == ["queued", "compiling", "timed"]
    assert found[-1] == "finished"
    assert {"compiled", "launched", "buffer-read", "checked"} <= set(found)
    stages = {event.data["event"]["stage"] for event in events if event.kind == "timed"}
    assert {"queue", "sandbox", "compile", "jit", "run", "transfer"} <= stages
    result = result_of(whole, run_id)
    assert (result.verdict, result.device) == ("ok", "emulator")
    assert result.checks[0].passed
    answer = whole.http.get(f"/api/runs/{run_id}/buffers/a.npy", params={"slice": "::8"})
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.content)), np.arange(0, 64, 16, dtype="float32"))


def test_block_sizes_and_a_reference(whole: Served) -> None:
    check = {"kind": "numpy", "text": "a = a * 2", "buffers": ["a"]}
    run_id = whole.post_run(checks=[check], sweep={"blocks": [[32], [16], [2000]]})
    found = [event.kind for event in whole.events(run_id)]
    assert found.count("swept") == 3
    result = result_of(whole, run_id)
    assert (result.verdict, [shape.state for shape in result.sweep]) == ("ok", ["ran", "ran", "refused"])
    assert all(shape.seconds and shape.clock == "wall" for shape in result.sweep[:2])
    # Two blocks of 16 threads scale the first half twice.
    assert (result.sweep[1].same_as_first, result.sweep[1].differs_at) == (False, "a[1]")
    assert [(item.check, item.passed, item.compared) for item in result.checks] == [(0, True, True)]


def test_the_second_run_of_a_source_is_from_the_cache(whole: Served) -> None:
    text = "__global__ void f(float *a, float k) { a[threadIdx.x] = k; } // cached"
    first, second = (result_of(whole, whole.post_run(source={"text": text})) for _ in range(2))
    assert first.compiled is not None
    assert second.compiled is not None
    assert (first.compiled.cached, second.compiled.cached) == (False, True)
    assert "compile" not in {timed.stage for timed in second.timings}


def test_a_compile_error_points_into_the_source(whole: Served) -> None:
    result = result_of(whole, whole.post_run(source={"text": "__global__ void f(float *a, float k) {\n  a[0] = b;\n}"}))
    assert result.verdict == "compile-error"
    spans = [item.span for item in result.diagnostics if item.severity == "error"]
    assert spans
    assert spans[0] is not None
    assert spans[0].line == 2


def test_printf_and_uploads(whole: Served) -> None:
    stream = io.BytesIO()
    np.save(stream, np.full(32, 7, "float32"))
    digest = whole.http.post("/api/uploads", content=stream.getvalue()).json()["digest"]
    text = '#include <cstdio>\n__global__ void f(float *a, float k) { if (!threadIdx.x) printf("%g\\n", a[3] * k); }'
    buffer = run_body()["buffers"][0] | {"init": {"kind": "upload", "digest": digest}}
    result = result_of(whole, whole.post_run(source={"text": text}, buffers=[buffer]))
    assert (result.verdict, result.printed) == ("ok", "14\n"), result


@pytest.mark.parametrize(
    ("attack", "config"),
    [
        ("rq01_grid_max", {"grid": [2147483647, 65535, 65535], "block": [1024]}),
        ("rq03_block_1025", {"grid": [1], "block": [1025]}),
        ("rq07_shared", {"grid": [1], "block": [32], "dynamic_shared_bytes": 1 << 40}),
        ("a grid of nothing", {"grid": [0], "block": [32]}),
    ],
)
def test_a_launch_that_cannot_be_ends_with_words(whole: Served, attack: str, config: dict[str, Any]) -> None:
    step = run_body()["steps"][0]
    result = result_of(whole, whole.post_run(steps=[step | {"config": config}]))
    assert result.verdict in ("error", "limit:wall", "limit:cpu"), (attack, result)
    assert result.message or result.diagnostics
    assert result_of(whole, whole.post_run()).verdict == "ok"


def test_cancelling_a_spinning_kernel(whole: Served) -> None:
    worker = whole.extra["runs"].process.pid
    idle = at_rest(worker)
    run_id = whole.http.post("/api/runs", json=spin_body()).json()["id"]
    wait_for(lambda: "launched" in str(whole.redis.xrange(keys.events(run_id))))
    assert len(descendants(worker)) > idle
    began = time.monotonic()
    assert whole.http.delete(f"/api/runs/{run_id}").json()["state"] == "running"
    result = result_of(whole, run_id)
    assert result.verdict == "cancelled"
    assert time.monotonic() - began < 3
    wait_for(lambda: len(descendants(worker)) == idle, 40)


def test_the_wall_clock_ends_a_spinning_kernel(whole: Served) -> None:
    result = result_of(whole, whole.http.post("/api/runs", json=spin_body()).json()["id"])
    assert result.verdict in ("limit:wall", "limit:cpu")
    assert result.message


def test_a_worker_killed_in_mid_run(whole: Served, started: Processes) -> None:
    """kill -9 while a kernel spins: the next worker takes the run up again, and no process of the job is left."""
    run_id = whole.http.post("/api/runs", json=spin_body()).json()["id"]
    wait_for(lambda: "launched" in str(whole.redis.xrange(keys.events(run_id))))
    doomed: Process = whole.extra["runs"]
    zygotes = wait_for(lambda: descendants(doomed.process.pid))
    doomed.kill()
    began = time.monotonic()
    whole.extra["runs"] = start_worker(whole, started, "emulator")
    wait_for(lambda: '"attempt":2' in str(whole.redis.xrange(keys.events(run_id))), 15)
    assert time.monotonic() - began < 15
    assert not [pid for pid in zygotes if alive(pid)]
    whole.http.delete(f"/api/runs/{run_id}")
    result = result_of(whole, run_id)
    assert (result.attempt, result.verdict) == (2, "cancelled")


def descendants(root: int) -> list[int]:
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children: dict[int, list[int]] = {}
    for line in listed.splitlines():
        pid, parent = map(int, line.split())
        children.setdefault(parent, []).append(pid)
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return " Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]


def test_inspection(whole: Served) -> None:
    body = {"compile": {"source": run_body()["source"]}, "launch": {"block": [96]}}
    report = whole.http.post("/api/compile", json=body).json()
    assert report["verdict"] == "ok", report
    assert [parameter["name"] for parameter in report["entries"][0]["parameters"]] == ["a", "f"]
    assert report["occupancy"][0]["entry"]
    wrong = {"compile": {"source": {"text": "__global__ void f() { x; }"}}}
    report = whole.http.post("/api/compile", json=wrong).json()
    assert report["verdict"] == "compile-error"
    assert any(item["severity"] == "error" for item in report["diagnostics"])


def test_typing_withdraws_the_question_before(whole: Served) -> None:
    bomb = (ROOT / "tests" / "data" / "attacks" / "cu09_tmpl_exp.cu").read_text()
    body = {"compile": {"source": {"text": bomb}}}
    with httpx.Client(base_url=whole.url, timeout=0.3) as hasty:
        for _ in range(5):
            with pytest.raises(httpx.TimeoutException):
                hasty.post("/api/compile", json=body)
    began = time.monotonic()
    assert whole.http.post("/api/compile", json={"compile": {"source": run_body()["source"]}}).status_code == 200
    assert time.monotonic() - began < 5


def test_hostile_text_stays_text(whole: Served) -> None:
    """Controls from a source reach the page as JSON and the log escaped."""
    text = '#pragma message("\\x1b[31m \u202e </script>")\n__global__ void f(float *a, float k) {} // \x1b]0;x\x07'
    run_id = whole.post_run(source={"text": text})
    result_of(whole, run_id)
    raw = whole.http.get(f"/api/runs/{run_id}").content
    assert not re.search(rb"[\x00-\x08\x0b-\x1f]", raw)
    for process in (whole.extra["runs"], whole.extra["compile"]):
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", process.log.read_bytes())


def test_api_process_restart_keeps_shares_and_results(whole: Served, started: Processes, tmp_path: Path) -> None:
    """`python -m app` on a unix socket: SIGTERM ends an open stream at once; the next process knows everything."""
    socket = Path(f"/tmp/wy-{os.getpid()}.sock")
    transport = httpx.HTTPTransport(uds=str(socket))
    with httpx.Client(base_url="http://localhost", transport=transport, timeout=10) as http:

        def start() -> Process:
            process = started.start(whole.settings, "app", "--uds", str(socket))
            wait_for(lambda: socket.exists() or process.process.poll() is not None, 30, 0.05)
            assert process.process.poll() is None, process.log.read_text()
            return process

        first = start()
        done = whole.post_run()
        result_of(whole, done)
        share = http.post("/api/shares", json={"payload": {"title": "t", "request": run_body()}}).json()
        spinning = http.post("/api/runs", json=spin_body()).json()["id"]
        ended = threading.Event()
        lines: list[str] = []

        def read() -> None:
            with http.stream("GET", f"/api/runs/{spinning}/events") as answer:
                lines.extend(answer.iter_lines())
            ended.set()

        reader = threading.Thread(target=read)
        reader.start()
        wait_for(lambda: "launched" in str(whole.redis.xrange(keys.events(spinning))))
        time.sleep(0.2)
        began = time.monotonic()
        first.process.send_signal(signal.SIGTERM)
        assert ended.wait(3)
        assert first.process.wait(5) in (0, -signal.SIGTERM)
        socket.unlink(missing_ok=True)
        assert time.monotonic() - began < 4
        reader.join()
        last = [line.removeprefix("id: ") for line in lines if line.startswith("id: ")][-1]

        second = start()
        http.delete(f"/api/runs/{spinning}")
        resumed = replace(whole, http=http).events(spinning, after=last)
        assert resumed[-1].kind == "finished"
        assert resumed[0].id == f"1-{int(last.split('-')[1]) + 1}"
        assert http.get(f"/api/runs/{done}").json()["result"]["verdict"] == "ok"
        assert http.get(f"/api/shares/{share['id']}").json()["payload"]["title"] == "t"
        assert second.stop() in (0, -signal.SIGTERM)
        socket.unlink(missing_ok=True)


def test_readiness_and_devices(whole: Served) -> None:
    assert whole.http.get("/readyz").json()["ready"] is True
    devices = whole.http.get("/api/devices").json()
    assert (devices["default"], devices["isolation"]) == ("emulator", "strong")
    assert devices["devices"][0]["name"] == "PTX emulator"


def test_workers_stop_in_order(whole: Served) -> None:
    for name in ("runs", "compile"):
        assert whole.extra[name].stop() == 0
    wait_for(lambda: whole.http.get("/readyz").status_code == 503, 5)
