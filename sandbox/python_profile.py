"""Runs Python text as a job with a scratch folder: the test entry of the sandbox."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from types import TracebackType

from sandbox.child import Emit

_NAME = "user.py"
_EVENT_PIPE = 3


def prewarm_python() -> None:
    """In the zygote: what most jobs import."""
    import numpy  # noqa: F401


def run_job(request: bytes, blobs: Mapping[str, memoryview], emit: Emit) -> None:
    """Execute `request`, UTF-8 Python text, as __main__ with `blobs`, `emit` and RESULT_FD among its globals.

    An exception of the text ends the job with exit code 1 and a traceback of the user's own frames on stderr.
    """
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()  # forks would share the zygote's generator; `random` itself reseeds after a fork
    names = {"__name__": "__main__", "RESULT_FD": _EVENT_PIPE, "blobs": blobs, "emit": emit}
    try:
        exec(compile(request, _NAME, "exec"), names)
    except SystemExit:
        raise
    except BaseException as error:
        traceback.print_exception(type(error), error, _own_frames(error.__traceback__))
        raise SystemExit(1) from None


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    while frames is not None and frames.tb_frame.f_code.co_filename != _NAME:
        frames = frames.tb_next
    return frames
