"""Listens to what a launch tells, and passes it on or not."""

from __future__ import annotations

from engine.emission import Emission
from engine.values.dtypes import Array
from protocol.base import Model
from protocol.diagnostics import Diagnostic
from protocol.events import BufferRead, Diagnosed, Found, Launched
from protocol.film import Filmed

MOST_DIAGNOSTICS = 8


class Overheard(Emission):
    """Keeps launches by step, findings and diagnostics; what else is told goes on alone, where it goes on."""

    def __init__(self, onward: Emission | None) -> None:
        super().__init__(lambda header, payload: None)
        self._onward = onward
        self._found: list[Found] = []
        self._diagnostics: list[Diagnostic] = []
        self.launched: dict[str, Launched] = {}

    @property
    def forwards(self) -> bool:
        return self._onward is not None

    @property
    def timed_out(self) -> bool:
        return any(item.class_ == "limit" for item in self._found)

    @property
    def fatal(self) -> Found | None:
        """The defect that ended the steps."""
        return next((item for item in self._found if item.fatal and item.class_ != "limit"), None)

    def event(self, event: Model) -> None:
        match event:
            case Launched():
                self.launched[event.step] = event
            case Found():
                self._found.append(event)
            case Diagnosed():
                self._diagnostics.append(event.diagnostic)
            case _:
                pass
        if self._onward is not None:
            self._onward.event(event)

    def buffer(self, event: BufferRead | Filmed, values: Array) -> None:
        if self._onward is not None:
            self._onward.buffer(event, values)

    def printed(self, text: str) -> None:
        if self._onward is not None:
            self._onward.printed(text)

    def as_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Each finding and diagnostic once, the findings first."""
        found = [
            Diagnostic(
                severity="error" if item.fatal else "advice" if item.advice else "warning",
                message=item.message,
                code=item.code,
                origin="launch",
                span=item.span,
                field=item.step or None,
            )
            for item in self._found
        ]
        return tuple(dict.fromkeys([*found, *self._diagnostics]))[:MOST_DIAGNOSTICS]
