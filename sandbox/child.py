"""The one program in which user code is compiled and executed: confined first, one job, then gone."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from sandbox import linux, request
from sandbox.confinement import Confinement, confine
from sandbox.frames import write_frame

Emit = Callable[[Mapping[str, object], bytes], None]
Entry = Callable[[bytes, Mapping[str, memoryview], Emit], None]

KINDS: dict[str, str] = {
    "compile": "engine.child_entry:compile_job",
    "launch": "engine.child_entry:launch_job",
    "python": "sandbox.python_profile:run_job",
}
"""Where each kind of job begins: a function of (request, blobs, emit)."""

CANARY = "sandbox.canaries:run_job"
"""The same walls with our own attempts to break them instead of user code."""

_EVENTS, _INPUT = 3, 4
_FAILED = 1


def preload(kind: str) -> None:
    """In the zygote: import what jobs of this kind run, and let that module warm itself up."""
    module = importlib.import_module(KINDS[kind].partition(":")[0])
    warm = getattr(module, f"prewarm_{kind}", None)
    if warm is not None:
        warm()
    importlib.import_module(CANARY.partition(":")[0])


def become(kind: str, walls: Confinement, streams: Sequence[int], home: str, canary: bool) -> NoReturn:
    """In the forked process: take the streams, confine it, run the job, end. `streams` as in job_init.run."""
    code = _FAILED
    try:
        _take_streams(streams)
        os.chdir(home)
        os.environ.clear()
        os.environ.update(PATH="/usr/bin", HOME=home, TMPDIR=home, LANG="C.UTF-8")
        # The interpreter's own dispositions hide limits: ignored SIGXFSZ and SIGPIPE become mere errors.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        entry = _entry(CANARY if canary else KINDS[kind])
        confine(walls)
        content, blobs = request.unpack(_INPUT)
        os.close(_INPUT)
        entry(content, blobs, _emit_one_at_a_time())
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
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
