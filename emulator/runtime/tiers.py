"""A compiled entry in the process, whose quick code gives way to good code once launches of it last.

Both codes come of the same text, so they agree on frames and states: a launch goes on with the other wherever it calls
the kernel next, which is for each block, for each gang, and behind each barrier.
"""

from __future__ import annotations

import ctypes
import threading

from emulator.runtime import jit
from emulator.runtime.compiled import CompiledEntry

_RUNS = frozenset({"run", "run_resident"})
HOT_SECONDS = 0.02
"""Of all launches of an entry: then good code is begun."""


class LaunchError(ValueError):
    """The launch itself is wrong: sizes, number of arguments, or code of another host."""


class Loaded:
    """A compiled entry linked into the process. One launch of it runs at a time."""

    def __init__(self, entry: CompiledEntry, hot_seconds: float = HOT_SECONDS) -> None:
        if not jit.runs_here(entry.host):
            raise LaunchError("the code was compiled for another processor")
        self._imports = {name: address for name, address in jit.support().addresses.items() if name not in _RUNS}
        for name in entry.instruments:
            self._imports |= jit.instrument_support(name).addresses
        self._codes = [jit.link(entry.code, ("kernel",), self._imports)]
        self.entry = entry
        self._better = entry.better
        self._left = hot_seconds
        self._lock = threading.Lock()
        self._running: ctypes.c_uint64 | None = None
        self._maker: threading.Thread | None = None

    @property
    def address(self) -> int:
        """Of the best code so far."""
        address: int = self._codes[-1].addresses["kernel"]
        return address

    @property
    def tier(self) -> int:
        """0 for quick code that may still give way, 1 for what stays."""
        return int(not self._better or len(self._codes) > 1)

    @property
    def patience(self) -> float | None:
        """Seconds that a launch may take until `improve` is worth it; None where it is not, or has begun."""
        return None if not self._better or self._maker is not None else max(0.0, self._left)

    def improve(self) -> None:
        """Begins to make good code in another thread, once."""
        if self._better and self._maker is None:
            # No daemon: at the interpreter's end LLVM must not be in the middle of something.
            self._maker = threading.Thread(target=self._make, name="better code")
            self._maker.start()

    def wait(self) -> None:
        """Until the good code that `improve` began is there."""
        if self._maker is not None:
            self._maker.join()

    def begin(self, kernel: ctypes.c_uint64) -> None:
        """A launch starts; `kernel` is the place in its context that gets the code, and better code once there is."""
        with self._lock:
            self._running = kernel
            kernel.value = self.address

    def end(self, seconds: float) -> None:
        """The launch has ended, after so long."""
        with self._lock:
            self._running = None
        self._left -= seconds
        if self._left <= 0:
            self.improve()

    def _make(self) -> None:
        code = jit.link(jit.improved(self._better), ("kernel",), self._imports)
        with self._lock:
            self._codes.append(code)
            if self._running is not None:
                # One store of eight bytes: a thread that reads it meanwhile gets the one or the other.
                self._running.value = self.address
