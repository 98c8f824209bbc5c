"""Sends what a job finds out: events and artifacts as frames of the protocol (protocol/frames.py)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from engine.values.dtypes import Array
from protocol.base import Model
from protocol.diagnostics import Diagnostic
from protocol.events import BufferRead, Diagnosed, Printed

Emit = Callable[[Mapping[str, object], bytes | memoryview], None]

_PRINTED_AT_ONCE = 8_192


class Emission:
    """One frame at a time, from whichever thread it comes."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._lock = threading.Lock()

    def event(self, event: Model) -> None:
        with self._lock:
            self._emit({"event": event.model_dump(mode="json")}, b"")

    def diagnosed(self, diagnostics: Iterable[Diagnostic]) -> None:
        for item in diagnostics:
            self.event(Diagnosed(diagnostic=item))

    def printed(self, text: str) -> None:
        """Text of any length, in pieces that fit a frame."""
        # What a kernel prints need not be text; a lone surrogate has no form in UTF-8.
        plain = text.encode(errors="replace").decode()
        for start in range(0, len(plain), _PRINTED_AT_ONCE):
            self.event(Printed(text=plain[start : start + _PRINTED_AT_ONCE]))

    def buffer(self, event: BufferRead, values: Array) -> None:
        """A buffer's bytes; the host computes their digest."""
        header = event.model_dump(mode="json", exclude={"digest"})
        with self._lock:
            self._emit({"event": header}, memoryview(values.view("u1")).cast("B"))

    def artifact(self, name: str, payload: bytes, **header: str) -> None:
        with self._lock:
            self._emit({"artifact": name, **header}, payload)
