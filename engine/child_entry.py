"""Where a sandboxed child begins: reads a job's request and sends frames; `prewarm_…` runs before it is forked."""

from __future__ import annotations

import time
from collections.abc import Mapping

from engine.compile import compile_job as _compile
from engine.devices import device_type
from engine.devices.gpu import attach
from engine.emission import Emission, Emit
from engine.languages import LANGUAGES
from engine.launch import launch_job as _launch
from engine.rehearsal import rehearse, rehearse_linting
from protocol.run import CompileJob, LaunchRequest


def compile_job(request: bytes, blobs: Mapping[str, memoryview], emit: Emit) -> None:
    """`request` is a protocol.run.CompileJob as JSON; it needs no blobs."""
    _compile(CompileJob.model_validate_json(request), Emission(emit))


def launch_job(request: bytes, blobs: Mapping[str, memoryview], emit: Emit) -> None:
    """`request` is a protocol.run.LaunchRequest as JSON; blobs as protocol.frames names them."""
    begin = time.perf_counter()
    _launch(LaunchRequest.model_validate_json(request), blobs, Emission(emit), begin)


def prewarm_compile() -> None:
    """Loads the compilers and takes a small run through the compile step, and what follows from it."""
    for language in LANGUAGES:
        language.prewarm()
    rehearse_linting()
    prewarm_launch()


def prewarm_launch() -> None:
    """Loads the emulator and takes a small run through every stage of a launch."""
    device_type("emulator").prewarm()
    rehearse()


def prewarm_launch_gpu() -> None:
    """The same, and loads what a GPU takes; the driver itself must not start before the fork."""
    device_type("gpu").prewarm()
    prewarm_launch()


def attach_launch_gpu() -> None:
    """After the fork, and before the job is known: starts the driver and makes a context."""
    attach()
