"""What a worker process is made of, without one."""

import os
import subprocess
import sys

import pytest

from store.settings import Settings
from tests.service.harness import ROOT
from worker.devices import processors
from worker.process import job_limits


def test_more_processors_do_not_shorten_a_run() -> None:
    limits = job_limits(8.0, Settings(job_memory_bytes=1 << 20))
    assert (limits.wall, limits.memory) == (8.0, 1 << 20)
    assert limits.cpu >= 8.0 * processors()
    assert processors() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queues", "gpu:h200"], "gpu:h200: known are emulator, compile"),
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
