"""Sends what a job finds out: events and artifacts as frames of the protocol (protocol/frames.py)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Self

from engine.values.dtypes import Array
from protocol.base import Model
from protocol.diagnostics import Diagnostic
from protocol.events import BufferRead, Diagnosed, Printed
from protocol.film import Filmed

Emit = Callable[[Mapping[str, object], bytes | memoryview], None]

NO_DIGEST = "0" * 64
"""In events whose blob the host has yet to name."""

_PRINTED_AT_ONCE = 8_192
_SEND_INTERVAL_SECONDS = 0.05


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

    def buffer(self, event: BufferRead | Filmed, values: Array) -> None:
        """A buffer's bytes; the host computes their digest."""
        header = event.model_dump(mode="json", exclude={"digest"})
        with self._lock:
            self._emit({"event": header}, values.view("u1").data)

    def artifact(self, name: str, payload: bytes, **header: str) -> None:
        with self._lock:
            self._emit({"artifact": name, **header}, payload)


class PrintedBatches:
    """Gathers what a kernel prints into few events: while it is open they leave twenty times a second."""

    def __init__(self, emission: Emission) -> None:
        self._emission = emission
        self._lock = threading.Lock()
        self._pieces: list[str] = []
        self._characters = 0
        self._closed: threading.Event | None = None
        self._sender: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, text: str) -> None:
        """Takes more text, from any thread."""
        with self._lock:
            self._pieces.append(text)
            self._characters += len(text)
            if self._closed is None:
                self._closed = threading.Event()
                self._sender = threading.Thread(target=self._send_now_and_then, args=(self._closed,), daemon=True)
                self._sender.start()
            if self._characters >= _PRINTED_AT_ONCE:
                self._send()

    def __exit__(self, *_: object) -> None:
        if self._closed is None or self._sender is None:
            return
        self._closed.set()
        self._sender.join()
        with self._lock:
            self._send()

    def _send_now_and_then(self, closed: threading.Event) -> None:
        while not closed.wait(_SEND_INTERVAL_SECONDS):
            with self._lock:
                self._send()

    def _send(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._pieces, self._characters = [], 0
            self._emission.printed(text)
