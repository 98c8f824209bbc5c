"""Where a sandboxed child begins: reads a job's request and sends frames; `prewarm_…` runs before it is forked."""

from __future__ import annotations

from collections.abc import Mapping

from engine.compile import compile_job as _compile
from engine.devices import DEVICES
from engine.emission import Emission, Emit
from engine.languages import LANGUAGES
from engine.launch import launch_job as _launch
from engine.rehearsal import rehearse
from protocol.run import CompileJob, LaunchRequest

DEADLINE_SECONDS = 9.0
"""Of all launches of a run together: below the sandbox's own limit, so that partial results are still sent."""


def compile_job(request: bytes, blobs: Mapping[str, memoryview], emit: Emit) -> None:
    """`request` is a protocol.run.CompileJob as JSON; it needs no blobs."""
    _compile(CompileJob.model_validate_json(request), Emission(emit))


def launch_job(
    request: bytes, blobs: Mapping[str, memoryview], emit: Emit, deadline_seconds: float = DEADLINE_SECONDS
) -> None:
    """`request` is a protocol.run.LaunchRequest as JSON; blobs as protocol.frames names them."""
    _launch(LaunchRequest.model_validate_json(request), blobs, Emission(emit), deadline_seconds)


def prewarm_compile() -> None:
    """Loads the compilers and takes a small run through the compile step, and what follows from it."""
    for language in LANGUAGES:
        language.prewarm()
    prewarm_launch()


def prewarm_launch() -> None:
    """Loads the devices and takes a small run through every stage of a launch."""
    for _, device in DEVICES:
        device.prewarm()
    rehearse()
