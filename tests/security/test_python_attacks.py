"""The corpus of attacks against the wall: every row in Python in strong mode and a sample in weak mode."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.attacks import python
from cli.attacks.corpus import Attack, load
from cli.attacks.planted import Planted
from sandbox.launcher import Job, Sandbox

CORPUS = Path(__file__).resolve().parent.parent / "data" / "attacks"
PYTHON = [attack for attack in load(CORPUS) if attack.job == "py"]
# A sample for the ordinary run; the others are under --long.
WEAK_SAMPLE = [
    "fr01_passwd",
    "fr02_shadow_keys",
    "fr05_proc_root",
    "fr07_inherited_fds",
    "nw01_tcp_redis",
    "nw07_unix",
    "nw10_io_uring",
    "pr01_forkbomb",
    "pr03_daemon",
    "pr04_kill_all",
    "pr09_exec_shell",
    "pr10_userns",
    "pr12_int80",
    "me01_virtual",
    "me02_touch",
    "cp01_spin",
    "ou01_flood",
    "ou10_json_bombs",
    "st01_patch",
    "st03_random_state",
]


@pytest.fixture(scope="module")
def strong_sibling(strong: Sandbox) -> Iterator[Job]:
    with python.beside(strong) as job:
        yield job


@pytest.fixture(scope="module")
def weak_sibling(weak: Sandbox) -> Iterator[Job]:
    with python.beside(weak) as job:
        yield job


@pytest.mark.parametrize("attack", PYTHON, ids=lambda attack: attack.id)
def test_it_is_held_in_strong_mode(attack: Attack, strong: Sandbox, strong_sibling: Job, planted: Planted) -> None:
    python.play(attack, strong, strong_sibling, planted)


@pytest.mark.parametrize(
    "attack",
    [pytest.param(attack, marks=() if attack.id in WEAK_SAMPLE else pytest.mark.long) for attack in PYTHON],
    ids=lambda attack: attack.id,
)
def test_it_is_held_in_weak_mode(attack: Attack, weak: Sandbox, weak_sibling: Job, planted: Planted) -> None:
    python.play(attack, weak, weak_sibling, planted)


def test_every_check_of_the_corpus_is_known() -> None:
    assert {attack.check for attack in PYTHON} <= python.CHECKS.keys()
