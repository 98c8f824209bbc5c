"""When a GPU may have the next run; the checks are given, and no GPU is needed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from protocol.events import Finished
from worker.gpu_health import ATTEMPTS, PAUSE_SECONDS, Health, doubtful

DEAD = "it has fallen off the bus (Xid 79)"
WRONG = "its result is wrong"


class Card:
    """What a GPU would answer, one check after another; counts them and the pauses."""

    def __init__(self, checks: Sequence[str] = (), broken: Sequence[str] = ()) -> None:
        self.checks, self.says = list(checks), list(broken)
        self.pauses: list[float] = []
        self.health = Health("NVIDIA H200", lambda: self.checks.pop(0), self.broken, self.pauses.append)

    def broken(self) -> str:
        return self.says.pop(0) if self.says else ""

    def after(self, verdict: str) -> str:
        return self.health.after(Finished.model_validate({"verdict": verdict}))


@pytest.mark.parametrize("verdict", ["ok", "compile-error"])
def test_a_good_end_asks_nothing_of_the_gpu(verdict: str) -> None:
    card = Card()
    assert card.after(verdict) == "sound"
    assert not doubtful(Finished.model_validate({"verdict": verdict}))


@pytest.mark.parametrize("failures", range(ATTEMPTS))
@pytest.mark.parametrize("verdict", ["error", "limit:wall", "signal", "cancelled"])
def test_after_another_end_a_kernel_with_a_known_result_decides(verdict: str, failures: int) -> None:
    card = Card([*[WRONG] * failures, ""])
    assert card.after(verdict) == "sound"
    assert card.pauses == [PAUSE_SECONDS * (index + 1) for index in range(failures)]
    assert card.checks == []


def test_a_gpu_that_fails_every_check_is_in_quarantine_and_stays_there() -> None:
    card = Card([WRONG] * ATTEMPTS)
    assert card.after("error") == "quarantined"
    assert len(card.pauses) == ATTEMPTS - 1
    assert card.health.why.startswith("NVIDIA H200 is in quarantine since ")
    assert f"a kernel whose result is known failed {ATTEMPTS} times: {WRONG}" in card.health.why
    assert card.after("ok") == "quarantined"


def test_a_check_that_cannot_be_done_has_failed() -> None:
    def check() -> str:
        raise OSError("no process can be started")

    health = Health("NVIDIA H200", check, lambda: "", lambda seconds: None)
    assert health.after(Finished.model_validate({"verdict": "error"})) == "quarantined"
    assert "the check was not done (OSError: no process can be started)" in health.why


@pytest.mark.parametrize(
    ("checks", "broken", "verdict"),
    [([], [DEAD], "ok"), ([], [DEAD], "error"), ([""], ["", DEAD], "error"), ([WRONG], ["", DEAD], "error")],
)
def test_what_the_card_tells_of_itself_counts_more_than_a_check(
    checks: list[str], broken: list[str], verdict: str
) -> None:
    card = Card(checks, broken)
    assert card.after(verdict) == "quarantined"
    assert DEAD in card.health.why
    assert card.checks == []
