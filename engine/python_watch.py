"""Ends a process whose Python text does not come to its end, and tells where the text was."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType


class DeadlineWatch:
    """While it is entered: at the deadline `tell` gets the line of `file` that runs (None: none does), and that is
    the process's end."""

    def __init__(self, file: str, seconds: float, begin: float, tell: Callable[[int | None], None]) -> None:
        """`begin`: an instant of time.perf_counter(), from which the seconds count."""
        self._file, self._tell = file, tell
        self._main = threading.get_ident()
        self._over = threading.Event()
        self._left = begin + seconds - time.perf_counter()

    def __enter__(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()

    def _watch(self) -> None:
        if self._over.wait(max(0.0, self._left)):
            return
        frame = sys._current_frames().get(self._main)
        while frame is not None and frame.f_code.co_filename != self._file:
            frame = frame.f_back
        self._tell(frame.f_lineno if frame is not None else None)
        os._exit(1)
