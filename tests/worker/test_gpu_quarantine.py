"""Ways through the states of a GPU's health, one end after another; the checks are given, and no GPU is needed."""

from __future__ import annotations

import re

import pytest

from protocol.events import Finished
from worker.gpu_health import Health, State

WRONG, NO_ANSWER = "its result is wrong", "it was stopped after 5 s"


class Card:
    """Answers of a card, by run: the checks, and what it tells of itself. An answer too few is an IndexError."""

    def __init__(self, *checks: str) -> None:
        self.checks, self.told = list(checks), ""
        self.pauses: list[float] = []
        self.during: list[State] = []
        self.health = Health("NVIDIA H200 (GPU-7)", self.check, lambda: self.told, self.pauses.append)

    def check(self) -> str:
        self.during.append(self.health.state)
        return self.checks.pop(0)

    def after(self, *verdicts: str) -> list[State]:
        return [self.health.after(Finished(verdict=verdict)) for verdict in verdicts]


@pytest.mark.parametrize(
    ("checks", "verdicts", "states"),
    [
        ([], ["ok", "compile-error", "ok"], ["sound"] * 3),
        ([""], ["ok", "error", "ok"], ["sound"] * 3),
        (["", WRONG, ""], ["signal", "limit:wall", "ok"], ["sound"] * 3),
        # Failures count in a row, not over the card's life.
        ([WRONG, WRONG, ""] * 3, ["error"] * 3, ["sound"] * 3),
        ([WRONG, "", WRONG, WRONG, WRONG], ["error"] * 2 + ["ok"], ["sound", "quarantined", "quarantined"]),
    ],
)
def test_states_of_one_run_after_another(checks: list[str], verdicts: list[str], states: list[State]) -> None:
    card = Card(*checks)
    assert card.after(*verdicts) == states
    assert card.checks == []
    assert set(card.during) <= {"doubtful"}
    assert bool(card.health.why) is (states[-1] == "quarantined")


def test_the_pauses_grow_and_none_comes_after_the_last_check() -> None:
    card = Card(WRONG, WRONG, NO_ANSWER)
    assert card.after("signal") == ["quarantined"]
    assert card.pauses == pytest.approx([0.2, 0.4])
    assert card.during == ["doubtful"] * 3


def test_quarantine_names_the_gpu_since_when_and_the_last_reason() -> None:
    card = Card(WRONG, WRONG, NO_ANSWER)
    card.after("signal")
    assert re.fullmatch(
        r"NVIDIA H200 \(GPU-7\) is in quarantine since \d{4}-\d\d-\d\d \d\d:\d\d UTC: a kernel whose result is known "
        r"failed 3 times: it was stopped after 5 s\. It gets no runs until its worker is started anew\.",
        card.health.why,
    )


@pytest.mark.parametrize("by_itself", [False, True])
def test_nothing_leads_back_and_nothing_is_asked_any_more(by_itself: bool) -> None:
    card = Card(WRONG, WRONG, WRONG)
    card.told = "an NVLink error (Xid 74)" if by_itself else ""
    assert card.after("error" if not by_itself else "ok") == ["quarantined"]
    assert len(card.during) == (0 if by_itself else 3)
    why, asked = card.health.why, len(card.during)
    card.told, card.checks = "", [""] * 9
    assert card.after("ok", "error", "signal", "cancelled", "compile-error") == ["quarantined"] * 5
    assert (card.health.why, len(card.during)) == (why, asked)
    card.told = "it has fallen off the bus (Xid 79)"
    assert card.after("ok") == ["quarantined"]
    assert card.health.why == why


def test_a_broken_card_is_in_quarantine_without_a_check() -> None:
    card = Card()
    assert card.after("ok") == ["sound"]
    card.told = "2 uncorrected memory errors (ECC)"
    assert card.after("compile-error") == ["quarantined"]
    assert "2 uncorrected memory errors (ECC)" in card.health.why
    assert "NVIDIA H200 (GPU-7)" in card.health.why
    assert card.pauses == []
