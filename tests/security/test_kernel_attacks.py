"""The corpus's CUDA C++ rows, compiled and run: every row in strong mode and a sample in weak mode."""

from pathlib import Path

import pytest

from cli.attacks import kernels
from cli.attacks.corpus import Attack, load
from cli.attacks.kernels import HARMLESS, fare
from cli.attacks.planted import Planted
from sandbox.launcher import Sandbox

CORPUS = Path(__file__).resolve().parent.parent / "data" / "attacks"
KERNELS = [attack for attack in load(CORPUS) if attack.job == "cu"]
WEAK_SAMPLE = ("cu02_inc_environ", "cu12_bigarr", "cu15_nest", "cu27_oob_write", "cu30_shellcode")


@pytest.mark.parametrize("attack", KERNELS, ids=lambda attack: attack.id)
def test_it_is_held_in_strong_mode(attack: Attack, strong: Sandbox, planted: Planted, tmp_path: Path) -> None:
    kernels.play(attack, strong, planted, tmp_path)


@pytest.mark.parametrize(
    "attack",
    [pytest.param(attack, marks=() if attack.id in WEAK_SAMPLE else pytest.mark.long) for attack in KERNELS],
    ids=lambda attack: attack.id,
)
def test_it_is_held_in_weak_mode(attack: Attack, weak: Sandbox, planted: Planted, tmp_path: Path) -> None:
    kernels.play(attack, weak, planted, tmp_path)


def test_every_check_of_the_corpus_is_known() -> None:
    assert {attack.check for attack in KERNELS} <= kernels.CHECKS.keys()


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ('k"; import os; os.system("touch /tmp/PWNED_name") #', ("4xx", "error")),
        ("../../k", ("4xx", "error")),
        ("k\u0000", ("4xx",)),
        ("k\n", ("4xx",)),
    ],
)
def test_names_reach_no_shell(strong: Sandbox, tmp_path: Path, name: str, verdicts: tuple[str, ...]) -> None:
    ending = fare(strong, HARMLESS.encode(), tmp_path, name)
    assert ending.verdict in (*verdicts, "compile-error"), ending
    assert not Path("/tmp/PWNED_name").exists()
