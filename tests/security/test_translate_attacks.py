"""The corpus's Python rows as sources of Numba: what executes a source's text has the walls of every other job."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from cli.attacks.corpus import Attack
from cli.attacks.house import House
from cli.attacks.planted import Planted
from cli.attacks.python import LIMITS, beside
from protocol.run import CompileRequest, TranslateJob
from protocol.source import Source
from sandbox.launcher import JobOutcome, Sandbox
from tests.sandbox.conftest import open_box
from tests.sandbox.test_languages import NUMBA
from tests.security.test_python_attacks import PYTHON

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
    with beside(box) as sibling:
        house = House.seen(box, planted)
        _, _, said = translated(box, NUMBA + attack.source.decode())
        house.nothing_said(said)
        house.nobody_left()
        house.zygotes_live()
        house.no_new_file()
        assert not sibling.over
        after, headers, _ = translated(box, NUMBA)
        assert (after.verdict, {"artifact": "translation"} in headers) == ("ok", True)
