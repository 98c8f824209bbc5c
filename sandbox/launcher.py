"""The supervisor's side of the wall: starts the zygotes and, behind them, the jobs."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal, Self

from sandbox import breach, control, linux, request
from sandbox.canaries import ATTEMPTS
from sandbox.cgroup import Cgroups
from sandbox.fork_server import ForkServer, ZygoteFailed
from sandbox.gpus import Gpu
from sandbox.job import Handles, Job, JobOutcome
from sandbox.limits import RECYCLE_AFTER, JobLimits
from sandbox.namespaces import NOBODY
from sandbox.probe import IsolationReport, kernel_facts, open_to_others
from sandbox.profiles import PROFILES, readable_paths
from sandbox.watchdog import survey

__all__ = ["Job", "JobLimits", "JobOutcome", "Sandbox", "SandboxUnavailable"]

Mode = Literal["auto", "strong", "weak"]

_EVENT_PIPE_SIZE = 1 << 20
_NO_WEAK_GPU = "weak: jobs on a GPU need namespaces, unless WARPYARD_GPU_WITHOUT_NAMESPACES allows them without"
_KEPT_ROOT = "weak: only root can read the packages, so jobs keep uid 0, without its capabilities"


class SandboxUnavailable(Exception):
    """No job may run on this machine, or a canary got through; the text says why."""


class Sandbox:
    """A wall with a zygote for each kind of job behind it. Thread-safe; a context manager.

    `mode`: 'strong' needs namespaces, 'weak' goes by Landlock, seccomp and rlimits alone, 'auto' takes the
    strongest that this machine gives. `profiles`: the kinds of jobs wanted. `preload`: modules that every
    zygote imports beside those of its kind. `gpu`: for jobs of kind launch-gpu; `weak_gpu` allows them in weak mode.
    """

    def __init__(
        self,
        mode: Mode = "auto",
        profiles: Sequence[str] = ("compile", "launch"),
        preload: Sequence[str] = (),
        gpu: Gpu | None = None,
        weak_gpu: bool = False,
    ) -> None:
        """Start the zygotes and let the canaries try the walls. Raises SandboxUnavailable, ValueError."""
        unknown = [kind for kind in profiles if kind not in PROFILES]
        if unknown or not profiles:
            raise ValueError(f"profiles: {unknown or 'none'}; known are {', '.join(PROFILES)}")
        if mode not in ("auto", "strong", "weak"):
            raise ValueError(f"mode: {mode!r}; known are auto, strong, weak")
        if (gpu is not None) != any(PROFILES[kind].gpu for kind in profiles):
            raise ValueError("profiles: launch-gpu and the GPU to use go together")
        self.gpu, self._weak_gpu = gpu, weak_gpu
        self._kinds, self._preload = tuple(dict.fromkeys(profiles)), tuple(preload)
        self._lock = threading.RLock()
        self._servers: dict[str, ForkServer] = {}
        self._retired: list[ForkServer] = []
        self._jobs: set[Job] = set()
        self._closed = False
        self._strong = False
        self._cgroups, without = _cgroups()
        self._notes = [] if without is None else [f"no memory cgroup: {without}"]
        self.report = self._open(mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of jobs that it was opened for."""
        return self._kinds

    @property
    def zygotes(self) -> tuple[int, ...]:
        """Process ids of the zygotes, one a kind of job."""
        return tuple(server.process.pid for server in self._servers.values())

    def spare_inits(self) -> tuple[int, ...]:
        """Process ids of the inits that wait for a job, and -1 for each that is still being started."""
        with self._lock:
            servers = tuple(self._servers.values())
            waiting = [linux.pid_of(seat.pidfd) for server in servers for seat in server.spares]
            wanted = sum(server.spare_seats for server in servers)
        return (*waiting, *[-1] * (wanted - len(waiting)))

    def start(
        self,
        kind: str,
        request: bytes,
        blobs: Mapping[str, bytes | bytearray | memoryview] = {},
        limits: JobLimits | None = None,
    ) -> Job:
        """Start one job behind the wall. Raises SandboxUnavailable if its zygote cannot be brought back."""
        return self._start(kind, request, blobs, limits or JobLimits(), canary=False)

    def close(self) -> None:
        """Kill what still runs and end the zygotes."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            jobs = list(self._jobs)
        for job in jobs:
            job.cancel()
        for job in jobs:
            job.wait()
        self._close_servers()
        if self._cgroups is not None:
            self._cgroups.close()

    def _open(self, mode: Mode) -> IsolationReport:
        facts = kernel_facts()
        reasons = self._notes
        for strong in {"auto": (True, False), "strong": (True,), "weak": (False,)}[mode]:
            self._strong = strong
            if not strong and not facts.landlock_abi:
                reasons.append("weak: this kernel has no Landlock")
                continue
            if not strong and self.gpu is not None and not self._weak_gpu:
                reasons.append(_NO_WEAK_GPU)
                continue
            try:
                self._start_servers()
                found = breach.find_breaches(self._kinds, strong, self._start_canary)
            except (ZygoteFailed, breach.CannotRun, OSError) as error:
                reasons.append(f"{'strong' if strong else 'weak'}: {error}")
                self._close_servers()
                if isinstance(error, ZygoteFailed) and not error.walls:
                    break
                continue
            if found:
                self.close()
                raise SandboxUnavailable(f"attempts to break out succeeded: {'; '.join(found)}")
            return dataclasses.replace(
                facts,
                mode="strong" if strong else "weak",
                reasons=tuple(reasons),
                namespaces=strong,
                cgroup=self._cgroups is not None,
                canaries=len(ATTEMPTS) * len(self._kinds),
            )
        self.close()
        raise SandboxUnavailable("; ".join(reasons))

    def _start_servers(self) -> None:
        names = dict.fromkeys(PROFILES[kind].zygote for kind in self._kinds)
        self._servers = {name: self._new_server(name) for name in names}
        for server in self._servers.values():
            server.wait_ready()

    def _new_server(self, name: str) -> ForkServer:
        kinds = [kind for kind in self._kinds if PROFILES[kind].zygote == name]
        drop_to = None
        if not self._strong and os.getuid() == 0:
            if all(open_to_others(readable_paths(kind, strong=False)) for kind in kinds):
                drop_to = NOBODY
            elif _KEPT_ROOT not in self._notes:
                self._notes.append(_KEPT_ROOT)
        return ForkServer(kinds, self._strong, drop_to, self._preload, self.gpu)

    def _close_servers(self) -> None:
        for server in (*self._servers.values(), *self._retired):
            server.close()
        self._servers, self._retired = {}, []

    def _start_canary(self, kind: str, order: bytes) -> Job:
        return self._start(kind, order, {}, breach.LIMITS, canary=True)

    def _server_for(self, kind: str) -> ForkServer:
        """The kind's zygote; a fresh one where it died or has served long enough."""
        name = PROFILES[kind].zygote
        server = self._servers[name]
        if server.alive and server.served < RECYCLE_AFTER:
            return server
        fresh = self._new_server(name)
        fresh.wait_ready()
        self._servers[name] = fresh
        if server.alive and server.active:
            server.retired = True
            self._retired.append(server)
        else:
            server.close()
        return fresh

    def _start(
        self,
        kind: str,
        content: bytes,
        blobs: Mapping[str, bytes | bytearray | memoryview],
        limits: JobLimits,
        canary: bool,
    ) -> Job:
        if kind not in self._kinds:
            raise ValueError(f"kind: {kind!r}; this sandbox was opened for {', '.join(self._kinds)}")
        began = time.perf_counter()
        data = request.pack(content, blobs)
        try:
            with self._lock:
                if self._closed:
                    raise SandboxUnavailable("the sandbox is closed")
                try:
                    return self._launch(self._server_for(kind), kind, data, limits, canary, began)
                except OSError:  # a zygote or a waiting init was killed from outside: once more, with fresh ones
                    return self._launch(self._server_for(kind), kind, data, limits, canary, began)
        except ZygoteFailed as error:
            raise SandboxUnavailable(f"the zygote for {kind} jobs does not start: {error}") from error
        finally:
            os.close(data)

    def _launch(self, server: ForkServer, kind: str, data: int, limits: JobLimits, canary: bool, began: float) -> Job:
        """Give a waiting init its job."""
        seat = server.spares.pop(0) if server.spares else server.seat(self._cgroups)
        pipes: list[tuple[int, int]] = []
        try:
            pipes += [os.pipe() for _ in range(3)]
            linux.widen_pipe(pipes[2][1], _EVENT_PIPE_SIZE)
            if seat.cgroup is not None:
                seat.cgroup.limit(limits.memory)
            # Init and child each show the zygote's pages as their own.
            baseline = 0 if seat.cgroup is not None else 2 * survey(linux.pid_of(seat.pidfd)).resident
            order = {
                "kind": kind,
                "limits": dataclasses.asdict(limits),
                "canary": canary,
                "memory_by_rlimit": seat.cgroup is None,
            }
            control.send(seat.status, order, [*(write for _, write in pipes), data])
        except BaseException:
            seat.leave()
            for read, _ in pipes:
                os.close(read)
            raise
        finally:
            for _, write in pipes:
                os.close(write)
        server.served += 1
        server.active += 1
        spawn_ms = (time.perf_counter() - began) * 1e3
        handles = Handles(seat.pidfd, seat.status, *(read for read, _ in pipes))
        job = Job(handles, limits, seat.cgroup, baseline, spawn_ms, lambda ended: self._done(server, ended))
        self._jobs.add(job)
        return job

    def _done(self, server: ForkServer, job: Job) -> None:
        """After a job, in its thread: let a retired zygote go, or make seats for next jobs."""
        with self._lock:
            self._jobs.discard(job)
            server.active -= 1
            if server.retired and not server.active:
                self._retired.remove(server)
                server.close()
        # Seats are made outside the lock, so that no start waits for one while others are free.
        with contextlib.suppress(OSError):  # the next start tries again, and tells
            while self._wants_seat(server):
                seat = server.seat(self._cgroups)
                with self._lock:
                    if self._wants_seat(server):
                        server.spares.append(seat)
                        continue
                seat.leave()

    def _wants_seat(self, server: ForkServer) -> bool:
        with self._lock:
            return not self._closed and not server.retired and server.alive and len(server.spares) < server.spare_seats


def _cgroups() -> tuple[Cgroups | None, str | None]:
    try:
        return Cgroups(), None
    except OSError as error:
        return None, error.strerror or str(error)
