"""Takes what the CUDA driver writes for a kernel: printf to standard output, failed assertions to standard error."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STREAMS = (_OUTPUT, _ERRORS) = (1, 2)
_CHUNK = 1 << 20


class DriverStreams:
    """Two anonymous files that stand in for this process's standard streams while the driver may write to them.

    The driver writes through C's stdio, so that its text appears once those buffers are flushed. Make this before
    a process is confined: making anonymous files is then refused.
    """

    def __init__(self) -> None:
        self._files = [os.memfd_create(f"stream-{stream}", os.MFD_CLOEXEC) for stream in _STREAMS]
        self._taken = [0 for _ in _STREAMS]
        self._abandoned = False
        self._flush = ctypes.CDLL(None).fflush

    @contextmanager
    def diverted(self) -> Iterator[None]:
        """While it is entered, text of this process and its libraries goes to the files."""
        sys.stdout.flush()
        sys.stderr.flush()
        kept = [os.dup(stream) for stream in _STREAMS]
        try:
            for stream, file in zip(_STREAMS, self._files, strict=True):
                os.dup2(file, stream)
            yield
        finally:
            self._flush(None)
            for stream, own in zip(_STREAMS, kept, strict=True):
                if stream != _OUTPUT or not self._abandoned:
                    os.dup2(own, stream)
                os.close(own)

    def abandon_output(self) -> None:
        """Leave standard output diverted for good: a kernel that could not be ended goes on printing."""
        self._abandoned = True

    def take(self) -> tuple[str, str]:
        """What came since the last time, by stream; what is no UTF-8 is replaced. Take it while they are diverted."""
        self._flush(None)
        output, errors = (self._new(index) for index in range(len(_STREAMS)))
        return output, errors

    def _new(self, index: int) -> str:
        parts = []
        while part := os.pread(self._files[index], _CHUNK, self._taken[index]):
            parts.append(part)
            self._taken[index] += len(part)
        return b"".join(parts).decode(errors="replace")
