"""One service for all cases of the API: the application, a worker for runs, one that compiles, a broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.harness import (  # noqa: F401
    Broker,
    Processes,
    Served,
    broker,
    empty_database,
    make_settings,
    processes,
    quiet,
    serving,
    wait_for,
)


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    begun = Processes(tmp_path_factory.mktemp("logs"))
    yield begun
    begun.end()


@pytest.fixture(scope="session")
def whole(
    broker: Broker,  # noqa: F811
    empty_database: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
    started: Processes,
) -> Iterator[Served]:
    """Runs of at most two seconds, compilations of at most five."""
    quiet()
    limits = {"run_wall_seconds": 2.0, "compile_wall_seconds": 5.0, "lease_seconds": 2.0, "reap_interval": 0.3}
    settings = make_settings(broker, empty_database, tmp_path_factory.mktemp("bad"), **limits)
    with serving(settings) as served:
        worker = started.start(settings, "worker", "--queues", "emulator,compile", "--slots", "1")
        wait_for(lambda: served.http.get("/readyz").status_code == 200 or worker.process.poll() is not None, 60, 0.05)
        assert worker.process.poll() is None, worker.log.read_text()
        served.extra["worker"] = worker
        yield served
