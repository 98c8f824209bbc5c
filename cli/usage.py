"""Refusals in plain words, and how a fault in a request is told to somebody who typed it."""

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol.reading import Unreadable


class Refused(Exception):
    """Ends the command with this message. `code` is 2 for bad usage, 1 where the machine cannot do it."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """'; did you mean …?' where one of the known words is close, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def refusal(error: "Unreadable", names: Sequence[tuple[str, str]]) -> Refused:
    """The first fault of a request, its field named as the user typed it. `names`: (path, what was typed there)."""
    fault = error.faults[0]
    place = as_typed(fault.field, names)
    return Refused(f"{place}: {fault.message}" if place else fault.message)


def as_typed(field: str, names: Sequence[tuple[str, str]]) -> str:
    """A field of the request as what the user typed for it; the field itself where nothing was typed."""
    for path, typed in names:
        if field == path or field.startswith(f"{path}."):
            return typed
    return field
