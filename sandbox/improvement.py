"""Good code in the place of quick code: made by a compile child once the run that asked for it has ended."""

import threading
from collections.abc import Callable

Work = Callable[[threading.Event], None]
"""Gets an event that asks it to stop."""


class Improver:
    """Does one piece of work at a time, in a thread of its own; what comes meanwhile is left to the next run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def offer(self, work: Work) -> None:
        with self._lock:
            if self._stopping.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=work, args=(self._stopping,), name="improvement")
            self._thread.start()

    def wait(self) -> None:
        """Until what was taken last is done."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Stops the work under way, before the sandbox goes."""
        self._stopping.set()
        self.wait()
