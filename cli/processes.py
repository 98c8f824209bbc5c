"""One child of the supervisor: started to die with us, logged to a file, restarted with growing pauses."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
MAX_LOG_BYTES = 8 << 20
LONGEST_PAUSE = 10.0
STEADY = 10.0
"""Seconds that a child must live for its next end to count as the first."""

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Order:
    """How a child is started. `sockets` are file descriptors that it inherits.

    `on_our_death` is the signal that it gets where we are killed. A worker asked to stop in order would wait for a
    broker that is gone as well, so the default does not ask. `nice` is added to its priority.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    sockets: tuple[int, ...] = ()
    on_our_death: signal.Signals = signal.SIGKILL
    nice: int = 0


class Child:
    """A process that is meant to live as long as the supervisor."""

    def __init__(self, order: Order, log: Path | None) -> None:
        self.order = order
        self.log = log
        self.failures = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._not_before = 0.0
        self._log_begin = 0

    def start(self) -> None:
        """Starts it now; its output goes to its log, or to ours where it has none."""
        self._started = time.monotonic()
        self._log_begin = self.log.stat().st_size if self.log and self.log.exists() else 0
        output = _open_log(self.log) if self.log else None
        try:
            self._process = subprocess.Popen(
                self.order.command,
                env=dict(self.order.environment),
                cwd=self.order.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=self.order.sockets,
                start_new_session=True,
                preexec_fn=_prepared(os.getpid(), self.order.on_our_death, self.order.nice),
            )
        finally:
            if output is not None:
                os.close(output)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def ended(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll() if self._process else None

    def keep_up(self) -> str:
        """Restarts it where it has ended and its pause is over. Returns what to tell, or nothing."""
        code = self.ended
        if code is None:
            return ""
        now = time.monotonic()
        if not self._not_before:
            self.failures = self.failures + 1 if now - self._started < STEADY else 1
            pause = 0.0 if self.failures == 1 else min(0.5 * 2 ** (self.failures - 2), LONGEST_PAUSE)
            self._not_before = now + pause
            again = f"again in {pause:g} s" if pause else "again now"
            return f"{self.order.name} ended ({ending(code)}); starting it {again}"
        if now >= self._not_before:
            self._not_before = 0.0
            self.start()
        return ""

    def signal(self, number: signal.Signals) -> None:
        """To the child alone; nothing where it has ended."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """Ends the child and its process group at once."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def last_lines(self, count: int = 8) -> str:
        """The end of its log, of what it has written since its last start."""
        if self.log is None or not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            size = self.log.stat().st_size
            file.seek(max(self._log_begin if self._log_begin <= size else 0, size - 16_384))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])


def ending(code: int) -> str:
    """An exit code in words: 'code 1', 'SIGKILL'."""
    return signal.Signals(-code).name if code < 0 else f"code {code}"


def adopt_orphans() -> None:
    """Lets whatever our children leave behind become ours, so that the end can find it."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans(deadline: float) -> None:
    """Kills and reaps every process that is still a child of ours, until there is none."""
    while time.monotonic() < deadline:
        found = children_of(os.getpid())
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if found:
            time.sleep(0.01)


def children_of(pid: int) -> list[int]:
    """Processes whose parent is `pid`, as the kernel lists them; none where it keeps no such list."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, path.read_text().split())
        except OSError:
            continue
    return found


def _prepared(parent: int, by: signal.Signals, nice: int) -> Callable[[], None]:
    """Run between fork and exec: the child ends with us, also where we were gone before it could ask for that."""

    def prepare() -> None:
        os.nice(nice)
        if _LIBC is not None:
            _LIBC.prctl(PR_SET_PDEATHSIG, by, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(0)

    return prepare


def _open_log(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
