"""Runs one child to its end while watching for cancellation."""

import threading
from collections.abc import Callable, Mapping

from sandbox.launcher import JobLimits, JobOutcome, Sandbox

_LOOK_SECONDS = 0.2


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
        # A cancellation is heard at once, the end of the job a little later: nobody waits for that.
        while not over.is_set():
            if cancelled.wait(_LOOK_SECONDS):
                job.cancel()
                return

    threading.Thread(target=watch, daemon=True).start()
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
