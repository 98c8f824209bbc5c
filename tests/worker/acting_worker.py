"""A worker process whose work is an act: `python -m tests.worker.acting_worker --queues emulator --slots 1`.

Everything but sandbox.pipeline.perform is the product's. What a run does stands in its source, one word a line:
`print TEXT`, `sleep SECONDS` (ends early where it is cancelled), `kill` (the worker kills itself, as the kernel
would), `kill-once` (only in a first attempt), `crash` (perform raises), `verdict NAME`.
"""

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from protocol.devices import DeviceInfo
from protocol.events import Event, Finished, Printed
from protocol.inspection import InspectReport, InspectRequest
from protocol.run import RunRequest
from store.broker import open_celery
from store.claims import Claims
from store.connections import connect_blocking
from store.database import open_database_blocking
from store.logs import configure_logs
from store.settings import Settings
from store.workers import Worker
from worker.inspections import Inspections
from worker.presence import Presence
from worker.process import consume, register
from worker.runs import Runs


def act(text: str, emit: Callable[[Event], None], cancelled: threading.Event) -> Finished:
    verdict = "ok"
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if cancelled.is_set():
            return Finished(verdict="cancelled", message="Cancelled.")
        if word == "print":
            emit(Printed(text=rest))
        elif word == "sleep":
            cancelled.wait(float(rest))
        elif word == "kill" or (word == "kill-once" and not Path(rest).exists()):
            if word == "kill-once":
                Path(rest).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "crash":
            raise ZeroDivisionError("a fault of the worker")
        elif word == "verdict":
            verdict = rest
    return Finished(verdict="cancelled" if cancelled.is_set() else verdict)


def perform(request: RunRequest, device: str, emit: Callable[[Event], None], cancelled: threading.Event) -> Finished:
    return act(request.source.text, emit, cancelled)


def inspect(request: InspectRequest, cancelled: threading.Event) -> InspectReport:
    end = act(request.compile.source.text, lambda event: None, cancelled)
    return InspectReport(verdict=end.verdict, architecture=request.compile.architecture, seconds=time.time())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queues", default="emulator")
    parser.add_argument("--slots", type=int, default=1)
    options = parser.parse_args()
    queues = tuple(options.queues.split(","))
    settings = Settings()
    configure_logs(settings, "acting")
    client, engine = connect_blocking(settings.redis), open_database_blocking(settings)
    stopping = threading.Event()
    celery = open_celery(settings, queues)
    claims = Claims(client, engine, settings)
    register(
        celery,
        Runs(claims, perform, "actor", stopping, settings.lease_seconds),
        Inspections(client, inspect, stopping),
    )
    device = DeviceInfo(id="emulator", kind="emulator", name="An act", isolation="strong")
    worker = Worker(
        name=f"actor-{os.getpid()}",
        queues=queues,
        devices=(device,),
        slots=options.slots,
        compiles="compile" in queues,
    )
    with Presence(client, worker, settings.worker_ttl):
        return consume(celery, worker.name, queues, options.slots, stopping)


if __name__ == "__main__":
    sys.exit(main())
