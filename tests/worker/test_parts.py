"""What a worker process is made of, without one."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from sandbox.launcher import SandboxUnavailable
from sandbox.limits import limits_for
from store.settings import Settings
from store.workers import Worker
from tests.service.harness import ROOT, quiet
from worker import opening
from worker.devices import processors


def test_more_processors_do_not_shorten_a_run() -> None:
    limits = limits_for(8.0, 1 << 20)
    assert (limits.wall, limits.memory) == (8.0, 1 << 20)
    assert limits.cpu >= 8.0 * processors()
    assert processors() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queues", "emulator,printer"], "printer: known are emulator, compile"),
        (["--queues", ""], "nothing: known are emulator, compile"),
        (["--slots", "0"], "1 to 256"),
        (["--slots", "many"], "1 to 256"),
    ],
)
def test_wrong_arguments_are_named(arguments: list[str], message: str) -> None:
    command = [sys.executable, "-m", "worker", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert message in ended.stderr


@pytest.fixture
def own_signals() -> Iterator[None]:
    quiet()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_sandbox_that_does_not_open_is_tried_again(
    client: redis.Redis, settings: Settings, own_signals: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile the worker lives, takes nothing, and says why."""
    told: list[str] = []
    opened: Any = object()

    def attempt() -> Any:
        told.extend(str(client.get(key)) for key in client.scan_iter("warpyard:worker:w"))
        if len(told) == 2:
            return opened
        raise SandboxUnavailable(f"no namespaces ({len(told)})")

    monkeypatch.setattr(opening, "FIRST_PAUSE", 0.05)
    worker = Worker(name="w", queues=("compile",))
    assert opening.open_sandbox(attempt, client, worker, 60, threading.Event()) is opened
    assert [Worker.model_validate_json(text).refuses for text in told] == [
        "no namespaces (0)",
        "no namespaces (1)",
    ]
    assert not list(client.scan_iter("warpyard:worker:w"))


def test_a_worker_that_waits_for_its_sandbox_can_be_stopped(
    client: redis.Redis, settings: Settings, own_signals: None
) -> None:
    def attempt() -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        raise SandboxUnavailable("no namespaces")

    assert opening.open_sandbox(attempt, client, Worker(name="w", queues=()), 60, threading.Event()) is None
