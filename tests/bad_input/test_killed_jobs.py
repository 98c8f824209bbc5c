"""Jobs that die, by themselves or by kill -9 from outside: one verdict each, and the worker goes on."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from store import keys
from tests.bad_input.cases import BOMB, NULL, SPIN, TRAP
from tests.bad_input.test_api import ended, good_body, runs_well
from tests.service.harness import Served, wait_for

pytestmark = pytest.mark.service

CRASHES = 20
SOURCES = {TRAP: "executed a trap", NULL: "through a null pointer"}
REFERENCES = {
    "import os\nos.kill(os.getpid(), 9)": "ended by SIGKILL",
    "import os\nos.abort()": "ended by SIGABRT",
    "import ctypes\nctypes.string_at(0)": "ended by SIGSEGV",
}
Kind = tuple[dict[str, Any], str, str]
"""What of a good request changes, the verdict, and what is said."""
KINDS: list[Kind] = [
    *(({"source": {"text": text}}, "error", said) for text, said in SOURCES.items()),
    *(
        ({"checks": [{"kind": "numpy", "text": text, "buffers": ["a"]}]}, "ok", said)
        for text, said in REFERENCES.items()
    ),
]


def below(root: int) -> set[int]:
    """Every process under one."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    found, size = {root}, 0
    while size != len(found):
        size = len(found)
        found |= {pid for pid, parent in pairs if parent in found}
    return found - {root}


def ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def busiest(pids: Iterable[int]) -> set[int]:
    """The process that computes now: of a job that spins, the child itself."""
    before = {pid: ticks(pid) for pid in pids}
    time.sleep(0.25)
    return {max(before, key=lambda pid: ticks(pid) - before[pid])}


@pytest.mark.parametrize(
    ("victims", "verdict", "said"),
    [(busiest, "signal", "process ended by SIGKILL"), (set, "error", "process failed. This is a fault of ours")],
    ids=["its child", "every process below the worker"],
)
@pytest.mark.parametrize(("source", "stage"), [(BOMB, "compiling"), (SPIN, "launched")], ids=["compiling", "running"])
def test_killed_from_outside(
    whole: Served, source: str, stage: str, victims: Callable[[Iterable[int]], set[int]], verdict: str, said: str
) -> None:
    worker = whole.extra["worker"].process
    answer = whole.http.post("/api/runs", json=good_body() | {"source": {"text": f"{source}// {victims}\n"}})
    run_id = str(answer.json()["id"])
    wait_for(lambda: f'"kind":"{stage}"' in str(whole.redis.xrange(keys.events(run_id))))
    time.sleep(0.2)
    for pid in victims(below(worker.pid)):
        with suppress(ProcessLookupError):  # one dies with its zygote
            os.kill(pid, signal.SIGKILL)
    result = ended(whole, run_id)
    assert (result.verdict, result.attempt) == (verdict, 1)
    assert said in result.message
    runs_well(whole)
    assert worker.poll() is None


def test_twenty_crashes_in_a_row(whole: Served) -> None:
    worker = whole.extra["worker"].process
    sent: list[tuple[str, Kind]] = []
    for kind in islice(cycle(KINDS), CRASHES):
        answer = whole.http.post("/api/runs", json=good_body() | kind[0])
        assert answer.status_code == 202, answer.text
        sent.append((str(answer.json()["id"]), kind))
    for run_id, (_, verdict, said) in sent:
        result = ended(whole, run_id)
        assert (result.verdict, result.attempt) == (verdict, 1), result
        assert said in " ".join([result.message, *(item.message for item in result.diagnostics)])
        assert not any(check.passed for check in result.checks)
        assert str(whole.redis.xrange(keys.events(run_id))).count('"kind":"finished"') == 1
    runs_well(whole)
    assert worker.poll() is None
