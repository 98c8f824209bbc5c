"""The attack corpus against the wall: every Python row in strong mode, those that need no scratch in weak mode."""

import dataclasses
from collections.abc import Iterator

import pytest
from attacks import PYTHON, Attack, play, sibling_in
from planted import Planted

from sandbox.launcher import Job, Sandbox

# Rows that write files first; weak mode gives a job no folder, so they end before they attack.
_NEED_SCRATCH = {"fw08_setuid_mknod", "fw11_inodes", "fw12_fill"}
# A sample for the ordinary run; the others are under --long.
_WEAK_SAMPLE = """
fr01_passwd fr02_shadow_keys fr05_proc_root fr07_inherited_fds nw01_tcp_redis nw07_unix nw10_io_uring
pr01_forkbomb pr03_daemon pr04_kill_all pr09_exec_shell pr10_userns pr12_int80 me01_virtual me02_touch
cp01_spin ou01_flood ou10_json_bombs st01_patch st03_random_state
"""

# Rows that end earlier there: /proc is out of reach, and a package that is none of theirs raises PermissionError.
_WEAK_ENDS_EARLY = {"fr10_service_source", "st04_id_guess"}


@pytest.fixture(scope="module")
def strong_sibling(strong: Sandbox) -> Iterator[Job]:
    yield from sibling_in(strong)


@pytest.fixture(scope="module")
def weak_sibling(weak: Sandbox) -> Iterator[Job]:
    yield from sibling_in(weak)


@pytest.mark.parametrize("attack", PYTHON, ids=lambda attack: attack.id)
def test_python_attack_strong(attack: Attack, strong: Sandbox, strong_sibling: Job, planted: Planted) -> None:
    play(attack, strong, strong_sibling, planted)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, marks=() if attack.id in _WEAK_SAMPLE.split() else pytest.mark.long)
        for attack in PYTHON
        if attack.id not in _NEED_SCRATCH
    ],
    ids=lambda attack: attack.id,
)
def test_python_attack_weak(attack: Attack, weak: Sandbox, weak_sibling: Job, planted: Planted) -> None:
    if attack.id in _WEAK_ENDS_EARLY:
        attack = dataclasses.replace(attack, expect=("error",))
    play(attack, weak, weak_sibling, planted)
