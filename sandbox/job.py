"""One running job, seen from outside: its streams, its limits, its end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sandbox import control, linux
from sandbox.cgroup import JobCgroup
from sandbox.frames import BadFrame, Frame, FrameReader, FrameTooLarge
from sandbox.limits import WATCH_INTERVAL, JobLimits
from sandbox.verdict import Facts, decide
from sandbox.watchdog import Survey, survey

_CHUNK = 1 << 20
_QUEUED_BYTES = 64 << 20
"""Frames wait for a slow reader up to this size; then the job waits."""
_DYING = 5.0
"""Seconds after SIGKILL in which the kernel must let a job go."""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended. `detail` is one sentence for the user; sizes in bytes, times in seconds."""

    verdict: str
    detail: str
    stdout: bytes
    stderr: bytes
    cpu_seconds: float
    wall_seconds: float
    max_rss: int
    spawn_ms: float


@dataclass(frozen=True, slots=True)
class Handles:
    """What the supervisor holds of a job: its init, its status socket, the read ends of its pipes."""

    pidfd: int
    status: socket.socket
    stdout: int
    stderr: int
    events: int


class Job:
    """A job under supervision by a thread of its own, so that no limit waits for whoever reads its messages."""

    def __init__(
        self,
        handles: Handles,
        limits: JobLimits,
        cgroup: JobCgroup | None,
        baseline: int,
        spawn_ms: float,
        done: Callable[[Job], None],
    ) -> None:
        """`baseline`: resident bytes that the job shares with its zygote. `done` is called once it is over."""
        self._handles, self._limits, self._cgroup = handles, limits, cgroup
        self._baseline, self._spawn_ms, self._done = baseline, spawn_ms, done
        self._facts = Facts()
        self._child = -1
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._lock = threading.Condition()
        self._frames: deque[Frame] = deque()
        self._queued = 0
        self._discard = self._over = False
        self._output = {handles.stdout: bytearray(), handles.stderr: bytearray()}
        self._reader = FrameReader(limits.log, limits.result, limits.frames)
        self._outcome: JobOutcome | None = None
        self._began = time.perf_counter()
        self._deadline = self._began + limits.wall
        self._thread = threading.Thread(target=self._supervise, name="sandbox-job", daemon=True)
        self._thread.start()

    def messages(self) -> Iterator[Frame]:
        """The child's frames, (header, payload), as they come; ends when the job has ended."""
        while True:
            with self._lock:
                while not self._frames and not self._over:
                    self._lock.wait()
                if not self._frames:
                    return
                header, payload = self._frames.popleft()
                was_full = self._queued > _QUEUED_BYTES
                self._queued -= len(payload)
            if was_full:
                self._poke()
            yield header, payload

    @property
    def over(self) -> bool:
        """Whether its outcome stands."""
        return self._over

    def cancel(self) -> None:
        """Kill the whole job; from any thread, at any time. Its verdict is 'cancelled' unless it was over."""
        with self._lock:
            if not self._over:
                self._end("cancelled", "cancelled")

    def wait(self) -> JobOutcome:
        """The outcome, once the job is over; messages that nobody took are dropped."""
        with self._lock:
            self._discard = True
            self._frames.clear()
            self._queued = 0
        self._poke()
        with self._lock:
            self._lock.wait_for(lambda: self._over)
        assert self._outcome is not None
        return self._outcome

    def _poke(self) -> None:
        with self._lock:
            if not self._over:
                os.eventfd_write(self._wake, 1)

    def _end(self, verdict: str, reason: str) -> None:
        """Decide the verdict, if it is still open, and kill every process of the job."""
        with self._lock:
            if self._facts.killed_for is None:
                self._facts.killed_for, self._facts.reason = verdict, reason
                self._deadline = time.perf_counter() + _DYING
                self._account(survey(linux.pid_of(self._handles.pidfd)))
            for pidfd in (self._child, self._handles.pidfd):
                if pidfd >= 0:
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            if not self._over:
                os.eventfd_write(self._wake, 1)

    def _account(self, seen: Survey) -> None:
        """Keep the most that was seen: a killed job leaves no accounts of its own."""
        self._facts.cpu = max(self._facts.cpu, seen.cpu)
        self._facts.max_rss = max(self._facts.max_rss, seen.resident)

    # The rest runs in the job's own thread.

    def _supervise(self) -> None:
        wall = 0.0
        try:
            self._watch()
            wall = time.perf_counter() - self._began
            self._settle()
        except Exception as error:
            self._facts.failure = f"the supervisor failed: {error!r}"
            self._end("error", self._facts.failure)
        finally:
            verdict, detail = decide(self._facts, self._limits)
            with self._lock:
                self._outcome = JobOutcome(
                    verdict=verdict,
                    detail=detail,
                    stdout=bytes(self._output[self._handles.stdout]),
                    stderr=bytes(self._output[self._handles.stderr]),
                    cpu_seconds=self._facts.cpu,
                    wall_seconds=wall,
                    max_rss=self._facts.max_rss,
                    spawn_ms=self._spawn_ms,
                )
                self._over = True
                self._release()
                self._lock.notify_all()
            self._done(self)

    def _release(self) -> None:
        for fd in (*self._output, self._handles.events, self._handles.pidfd, self._child, self._wake):
            if fd >= 0:
                os.close(fd)
        self._handles.status.close()
        if self._cgroup is not None:
            self._cgroup.close()

    def _watch(self) -> None:
        """Until every process of the job is gone and its pipes are empty."""
        handles = self._handles
        poll = select.poll()
        open_pipes = {handles.stdout, handles.stderr, handles.events}
        for fd in (*open_pipes, handles.status.fileno(), self._wake):
            poll.register(fd, select.POLLIN)
        listening = True
        ended = False
        interval = WATCH_INTERVAL if self._cgroup is None else 4 * WATCH_INTERVAL
        next_look = self._began + interval
        while not ended or open_pipes:
            now = time.perf_counter()
            if now >= self._deadline:
                if self._facts.killed_for is not None or ended:
                    return  # killed a while ago and still not gone: the kernel holds it; do not wait for ever
                self._end("limit:wall", f"longer than {self._limits.wall:g} s")
            if now >= next_look and not ended:
                self._look()
                next_look = now + interval
            room = ended or self._queued <= _QUEUED_BYTES
            if handles.events in open_pipes and listening != room:
                listening = room
                if room:
                    poll.register(handles.events, select.POLLIN)
                else:
                    poll.unregister(handles.events)
            for fd, _ in poll.poll(max(0.0, min(self._deadline, next_look) - now) * 1e3 + 1):
                if fd == self._wake:
                    os.eventfd_read(self._wake)
                elif fd in open_pipes:
                    if not self._read(fd):
                        open_pipes.discard(fd)
                        poll.unregister(fd)
                elif self._hear():
                    ended = True
                    poll.unregister(fd)
                    self._deadline = time.perf_counter() + _DYING

    def _hear(self) -> bool:
        """One message of zygote or init; True once the job's processes are gone."""
        message, descriptors = control.receive(self._handles.status)
        facts = self._facts
        if message is None:
            facts.failure = "the sandbox's fork server died"
            self._end("error", facts.failure)
            return True
        if "child" in message:
            self._child = descriptors[0]
            if facts.killed_for is not None:
                self._end(facts.killed_for, facts.reason)
        elif "exit" in message:
            facts.exit_status = message["exit"]
            facts.scratch_full = message["scratch_full"]
            facts.cpu, facts.max_rss = message["cpu"], message["max_rss"]
        elif "error" in message:
            facts.failure = message["error"]
        if "ended" not in message:
            return False
        if self._child >= 0:  # in weak mode the child dies of its init's end, a moment later
            select.select([self._child], [], [], _DYING)
        return True

    def _read(self, fd: int) -> bool:
        """Take what a pipe holds; False at its end."""
        data = os.read(fd, _CHUNK)
        if not data:
            return False
        if fd == self._handles.events:
            return self._take_events(data)
        kept = self._output[fd]
        room = self._limits.output - sum(map(len, self._output.values()))
        kept += data[: max(room, 0)]
        if len(data) > room:
            self._end("limit:output", f"more than {self._limits.output:,} bytes of output")
        return True

    def _take_events(self, data: bytes) -> bool:
        try:
            frames = self._reader.feed(data)
        except FrameTooLarge as excess:
            self._end(f"limit:{excess.limit}", str(excess))
            return False
        except BadFrame as fault:
            self._end("error", f"the job wrote an invalid message: {fault}")
            return False
        if frames:
            with self._lock:
                if not self._discard:
                    self._frames.extend(frames)
                    self._queued += sum(len(payload) for _, payload in frames)
                    self._lock.notify_all()
        return True

    def _look(self) -> None:
        """The watchdog's round."""
        found = survey(linux.pid_of(self._handles.pidfd))
        self._account(found)
        if found.threads - 1 > self._limits.pids:
            self._end("limit:pids", f"more than {self._limits.pids} processes and threads")
        if self._cgroup is None and found.resident - self._baseline > self._limits.memory:
            self._end("limit:memory", f"more memory than {self._limits.memory:,} bytes")

    def _settle(self) -> None:
        facts = self._facts
        if self._cgroup is not None:
            facts.out_of_memory = self._cgroup.ran_out()
        if facts.exit_status == 0 and facts.killed_for is None and self._reader.inside_frame:
            facts.killed_for, facts.reason = "error", "the job wrote an invalid message: it is cut off"
