"""Runs one child to its end while watching for cancellation."""

import threading
from collections.abc import Callable, Mapping

from sandbox.launcher import JobLimits, JobOutcome, Sandbox


def run_job(
    box: Sandbox,
    kind: str,
    request: bytes,
    blobs: Mapping[str, bytes],
    limits: JobLimits,
    cancelled: threading.Event,
    receive: Callable[[Mapping[str, object], bytes], None],
) -> JobOutcome:
    """Runs one child to its end. A child that breaks the protocol is killed, and Misbehaved is raised."""
    job = box.start(kind, request, blobs, limits)
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            if cancelled.is_set():
                job.cancel()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        for header, payload in job.messages():
            receive(header, payload)
        return job.wait()
    except BaseException:
        job.cancel()
        job.wait()
        raise
    finally:
        over.set()
        watcher.join()
