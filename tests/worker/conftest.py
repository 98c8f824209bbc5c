"""Fixtures of the service, and worker processes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.harness import (  # noqa: F401
    Broker,
    Process,
    Processes,
    Served,
    broker,
    claims,
    client,
    empty_database,
    make_settings,
    one_server,
    processes,
    quiet,
    served,
    serving,
    settings,
    wait_for,
)

ACTOR = "tests.worker.acting_worker"


@pytest.fixture
def stage(broker: Broker, empty_database: Path, tmp_path: Path) -> Iterator[Served]:  # noqa: F811
    """The application with short leases; no worker yet."""
    quiet()
    changes: dict[str, Any] = {
        "lease_seconds": 1.0,
        "reap_interval": 0.2,
        "orphan_grace": 0.5,
        "worker_ttl": 2.0,
    }
    with serving(make_settings(broker, empty_database, tmp_path, **changes)) as served:  # noqa: F811
        yield served


@pytest.fixture
def actor(stage: Served, processes: Processes) -> Callable[..., Process]:  # noqa: F811
    """Starts a worker and waits until it lives."""

    def start(*arguments: str) -> Process:
        before = len(stage.http.get("/metrics").text)
        started = processes.start(stage.settings, ACTOR, *arguments)
        name = f"warpyard:worker:actor-{started.process.pid}"
        wait_for(lambda: stage.redis.exists(name) or started.process.poll() is not None, 20)
        assert started.process.poll() is None, started.log.read_text()
        stage.app.state.service._workers_at = float("-inf")
        assert before
        return started

    return start
