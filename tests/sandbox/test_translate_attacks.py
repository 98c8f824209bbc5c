"""The corpus's Python rows as sources of Numba: what executes a source's text has the walls of every other job."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from attacks import LIMITS, PYTHON, Attack, Scene, house_stands, listing, no_new_file, nobody_left, nothing_said, room
from planted import Planted, processes, zygotes

from protocol.run import CompileRequest, TranslateJob
from protocol.source import Source
from sandbox.launcher import JobOutcome, Sandbox
from tests.sandbox.conftest import open_box
from tests.sandbox.test_languages import NUMBA

# The others are under --long.
_SAMPLE = """
fr01_passwd fr02_shadow_keys fr05_proc_root fr07_inherited_fds fw03_numba_cache nw01_tcp_redis nw07_unix nw10_io_uring
pr01_forkbomb pr04_kill_all pr09_exec_shell pr10_userns pr12_int80 me01_virtual ou10_json_bombs st01_patch
"""


@pytest.fixture(scope="module", params=["strong", "weak"])
def box(request: pytest.FixtureRequest, planted: Planted) -> Iterator[Sandbox]:
    with open_box(request.param, ("translate", "python")) as opened:
        yield opened


def translated(box: Sandbox, text: str) -> tuple[JobOutcome, list[object], bytes]:
    source = Source(language="numba", text=text, file_name="kernel.py")
    job = TranslateJob(request=CompileRequest(source=source), deadline_seconds=2.0).model_dump_json().encode()
    limits = dataclasses.replace(LIMITS, wall=3.0, cpu=5)
    running = box.start("translate", job, limits=limits)
    messages = [*running.messages()]
    outcome = running.wait()
    said = b"\n".join([outcome.stdout, outcome.stderr, outcome.detail.encode(), repr(messages).encode()])
    return outcome, [header for header, _ in messages], said


@pytest.mark.parametrize(
    "attack",
    [pytest.param(item, marks=() if item.id in _SAMPLE.split() else pytest.mark.long) for item in PYTHON],
    ids=lambda attack: attack.id,
)
def test_an_attack_gets_nowhere_and_the_next_source_is_translated(
    attack: Attack, box: Sandbox, planted: Planted
) -> None:
    sibling = box.start("python", b"emit({}, b'')\nimport time\ntime.sleep(600)")
    next(iter(sibling.messages()))
    try:
        before = (processes(box), listing(), room(), len(planted.connections), zygotes(box))
        outcome, _, said = translated(box, NUMBA + attack.source.decode())
        scene = Scene(attack, box, planted, sibling, lambda: (outcome, said), outcome, said, *before)
        for check in (nothing_said, nobody_left, house_stands, no_new_file):
            check(scene)
        after, headers, _ = translated(box, NUMBA)
        assert (after.verdict, {"artifact": "translation"} in headers) == ("ok", True)
    finally:
        sibling.cancel()
        sibling.wait()
