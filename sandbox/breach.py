"""Runs the canaries in a fresh sandbox and says what got through."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterable

from sandbox.canaries import ATTEMPTS
from sandbox.job import Job
from sandbox.limits import JobLimits
from sandbox.profiles import PROFILES

LIMITS = JobLimits(wall=10, cpu=5)


class CannotRun(Exception):
    """A canary job did not even begin; the text says why."""


def find_breaches(kinds: Iterable[str], strong: bool, start: Callable[[str, bytes], Job]) -> list[str]:
    """Let each kind's jobs try every attempt; one line for each that was not refused.

    `start(kind, request)` starts a canary job. A readable secret and a loopback listener are planted first.
    Raises CannotRun.
    """
    found: list[str] = []
    with tempfile.NamedTemporaryFile("w", prefix="sandbox-canary-") as secret, socket.socket() as listener:
        secret.write("CANARY")
        secret.flush()
        os.chmod(secret.name, 0o644)  # noqa: PTH101
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        jobs: list[tuple[str, Job]] = []
        for kind in kinds:
            around = {
                "secret": secret.name,
                "port": listener.getsockname()[1],
                "supervisor": os.getpid(),
                "writable": ["/job", "/tmp"] if strong and PROFILES[kind].scratch else [],
            }
            jobs.append((kind, start(kind, json.dumps(around).encode())))
        for kind, job in jobs:
            found += [f"{kind}: {breach}" for breach in _breaches_of(job)]
    return found


def _breaches_of(job: Job) -> list[str]:
    answers = {header["attempt"]: header for header, _ in job.messages() if "attempt" in header}
    outcome = job.wait()
    if not answers:
        last = outcome.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise CannotRun(f"{outcome.detail or outcome.verdict}{f' ({last})' if last else ''}")
    found = [f"{name} ({answer['detail']})" for name, answer in answers.items() if not answer["refused"]]
    missing = [name for name in ATTEMPTS if name not in answers]
    if missing:
        found.append(f"{missing[0]} (no answer: {outcome.verdict} {outcome.detail})")
    return found
