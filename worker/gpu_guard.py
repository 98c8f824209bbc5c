"""A worker's GPU from its first measurement to its quarantine."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import structlog

from protocol.events import Event, Finished
from protocol.run import RunRequest
from sandbox import pipeline
from sandbox.gpu_use import GpuUse
from sandbox.gpus import Gpu
from sandbox.launcher import Sandbox
from sandbox.pipeline import PipelineLimits
from sandbox.probes import NoProbes
from sandbox.stores import Stores
from worker.gpu_health import Health

log = structlog.get_logger(__name__)


@dataclass
class GuardedGpu:
    """The GPU with its health. A context manager."""

    use: GpuUse
    health: Health
    notes: tuple[str, ...] = ()
    """What could not be found out of the card."""

    @classmethod
    def opened(cls, box: Sandbox, gpu: Gpu, stores: Stores, limits: PipelineLimits) -> Self:
        """Measures the card's peaks, about two seconds."""
        use = GpuUse.opened(gpu)

        def perform(run: RunRequest, emit: Callable[[Event], None]) -> Finished:
            return pipeline.perform(box, run, gpu.device, stores, emit, threading.Event(), limits, use=use)

        notes = [f"no clocks and temperatures: {use.without}"] if use.without else []
        try:
            peaks = use.measure_peaks(perform)
            log.info(
                "GPU measured",
                gigabytes_per_second=round(peaks.bytes_per_second / 1e9),
                gigaflops=round(peaks.flops_per_second / 1e9),
            )
        except NoProbes as error:
            notes.append(str(error))
        for note in notes:
            log.warning("GPU not known in full", reason=note)
        health = Health(gpu.name, lambda: use.check(perform, stores), use.broken)
        return cls(use, health, tuple(notes))

    def after(self, end: Finished) -> None:
        """After a run, before the next: a GPU that goes into quarantine takes its worker's consumer along."""
        if self.health.after(end) == "quarantined":
            os.kill(os.getpid(), signal.SIGTERM)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.use.close()
