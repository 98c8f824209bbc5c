"""The one program in which user code is compiled and executed: confined first, one job, then gone."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from sandbox import control, linux, request
from sandbox.confinement import Confinement, confine, narrow
from sandbox.frames import write_frame
from sandbox.profiles import PROFILES

Emit = Callable[[Mapping[str, object], bytes], None]
Entry = Callable[[bytes, Mapping[str, memoryview], Emit], None]

KINDS: dict[str, str] = {
    "compile": "engine.child_entry:compile_job",
    "translate": "engine.translate.job:translate_job",
    "launch": "engine.child_entry:launch_job",
    "launch-gpu": "engine.child_entry:launch_job",
    "reference": "engine.reference:reference_job",
    "baseline": "engine.baseline:baseline_job",
    "python": "sandbox.python_profile:run_job",
}
"""Where each kind of job begins: a function of (request, blobs, emit)."""

CANARY = "sandbox.canaries:run_job"
"""The same walls with our own attempts to break them instead of user code."""

_EVENTS, _INPUT = 3, 4
_FAILED = 1

opened_ahead: frozenset[int] = frozenset()
"""Descriptors that a driver opened in this process before it had a job: there was no other then."""


def preload(kind: str) -> None:
    """In the zygote: import what jobs of this kind run, and let that module warm itself up."""
    module = importlib.import_module(KINDS[kind].partition(":")[0])
    warm = getattr(module, f"prewarm_{kind.replace('-', '_')}", None)
    if warm is not None:
        warm()
    importlib.import_module(CANARY.partition(":")[0])


def become(kind: str, walls: Confinement, streams: Sequence[int], home: str, canary: bool) -> NoReturn:
    """In the forked process: take the streams, confine it, run the job, end. `streams` as in job_init.run."""

    def work() -> None:
        _take_streams(streams)
        _settle(home)
        entry = _entry(CANARY if canary else KINDS[kind])
        confine(walls)
        _perform(entry)

    _end_with(work)


def become_ahead(kind: str, walls: Confinement, channel: socket.socket) -> NoReturn:
    """In a process forked before its job is known: confine it, start the driver, then take the job from `channel`.

    The driver opens descriptors and starts threads that it keeps, so the job's streams get places that were kept for
    them, and what its start alone had to call is taken from every thread before anything of the user's is read.
    """

    def work() -> None:
        global opened_ahead
        waiting = _reserve(channel)
        _settle("/")
        # The code of kernels is compiled before, and nothing may be written.
        os.environ.update(CUDA_CACHE_DISABLE="1")
        confine(walls)
        getattr(sys.modules[KINDS[kind].partition(":")[0]], f"attach_{kind.replace('-', '_')}")()
        opened_ahead = frozenset(_descriptors()) - {waiting.fileno()}
        os.environ.pop("CUDA_CACHE_DISABLE")
        order, streams = control.receive(waiting)
        waiting.close()
        if order is None:
            return
        for fd, place in zip(streams, (1, 2, _EVENTS, _INPUT), strict=True):
            os.dup2(fd, place)
            os.close(fd)
        _open_standard_streams()
        narrow(PROFILES[kind].policy, walls.strong)
        _perform(_entry(CANARY if order["canary"] else KINDS[kind]))

    _end_with(work)


def _reserve(channel: socket.socket) -> socket.socket:
    """The channel behind descriptors 0 to 4, which are /dev/null until the job's streams come; no other is left."""
    null = os.open(os.devnull, os.O_RDWR)
    high = [os.dup(channel.fileno())]
    while high[-1] <= _INPUT:
        high.append(os.dup(high[-1]))
    for place in range(_INPUT + 1):
        os.dup2(null, place)
    linux.close_all_but((*range(_INPUT + 1), high[-1]))
    channel.detach()
    return socket.socket(fileno=high[-1])


def _descriptors() -> list[int]:
    """Open descriptors above those of the streams."""
    return [int(name) for name in os.listdir("/proc/self/fd") if int(name) > _INPUT]  # noqa: PTH208 - names only


def _settle(home: str) -> None:
    """The job's working folder, environment and signals."""
    os.chdir(home)
    os.environ.clear()
    os.environ.update(PATH="/usr/bin", HOME=home, TMPDIR=home, LANG="C.UTF-8")
    # The interpreter's own dispositions hide limits: ignored SIGXFSZ and SIGPIPE become mere errors.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def _perform(entry: Entry) -> None:
    content, blobs = request.unpack(_INPUT)
    os.close(_INPUT)
    entry(content, blobs, _emit_one_at_a_time())


def _end_with(work: Callable[[], None]) -> NoReturn:
    """Does the work and ends this process with the code that it deserves."""
    code = _FAILED
    try:
        work()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or _FAILED
        os._exit(code & 0xFF)


def _emit_one_at_a_time() -> Emit:
    """Writes frames to the event pipe; threads may call it together."""
    lock = threading.Lock()

    def emit(header: Mapping[str, object], payload: bytes) -> None:
        with lock:
            write_frame(_EVENTS, header, payload)

    return emit


def _entry(path: str) -> Entry:
    module, _, name = path.partition(":")
    entry: Entry = getattr(sys.modules[module], name)
    return entry


def _take_streams(streams: Sequence[int]) -> None:
    """0 is /dev/null, 1 and 2 the capped pipes, 3 the event pipe, 4 the input; everything else is closed."""
    # Move them out of the way first: one of them may lie where another belongs.
    high = [os.dup(fd) for fd in streams]
    while min(high) <= _INPUT:
        high = [os.dup(fd) for fd in high]
    null = os.open(os.devnull, os.O_RDONLY)
    for fd, place in ((null, 0), (high[0], 1), (high[1], 2), (high[2], _EVENTS), (high[3], _INPUT)):
        if fd != place:
            os.dup2(fd, place)
    linux.close_all_but(range(_INPUT + 1))
    _open_standard_streams()


def _open_standard_streams() -> None:
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
