"""One GPU as the supervisor uses it: our own kernels, the card's peaks and sensors, and what they add to a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from protocol.events import BufferRead, Event, Finished, Timed
from protocol.launch import Launch, walk
from protocol.run import RunRequest
from protocol.timing import Measured, Peaks, Work
from sandbox import gpus
from sandbox.gpus import Gpu
from sandbox.probes import Probes, is_known, known_run, measured_of, peak_runs, peaks_of
from sandbox.stores import Stores
from sandbox.telemetry import NoSensors, Telemetry

Perform = Callable[[RunRequest, Callable[[Event], None]], Finished]

TOO_FAST = (
    "faster than the card's memory allows for these bytes: a cache held some of them, or the kernel moves less than "
    "is taken for granted"
)
TOO_MANY = "more operations a second than the card was measured to do: the kernel does less than is declared"
_MARGIN = 1.02
"""A peak is itself a measurement."""


@dataclass
class GpuUse:
    """For the life of a sandbox."""

    gpu: Gpu
    probes: Probes = field(default_factory=Probes)
    telemetry: Telemetry | None = None
    without: str = ""
    """Why there is no telemetry."""
    peaks: Peaks | None = None

    @classmethod
    def opened(cls, gpu: Gpu) -> GpuUse:
        try:
            return cls(gpu, telemetry=Telemetry.of(gpu.uuid))
        except NoSensors as error:
            return cls(gpu, without=str(error))

    @contextmanager
    def turn(self, cancelled: threading.Event) -> Iterator[None]:
        """The GPU for one job, with its sensors watched."""
        watching = self.telemetry.watching() if self.telemetry else contextlib.nullcontext()
        with gpus.turn(self.gpu, cancelled), watching:
            yield

    def measure_peaks(self, perform: Perform) -> Peaks:
        """Copies and multiplies once, as any run does. Raises NoProbes."""
        found: list[Measured] = []
        for run in peak_runs(self.gpu.architecture, self.gpu.sm_count):
            events: list[Event] = []
            found.append(measured_of(events, perform(run, events.append)))
        self.peaks = peaks_of(found[0], found[1], self.gpu.sm_count)
        return self.peaks

    def check(self, perform: Perform, stores: Stores) -> str:
        """Runs a kernel whose result is known; why that did not go well, or nothing."""
        events: list[Event] = []
        end = perform(known_run(self.gpu.architecture), events.append)
        if end.verdict != "ok":
            return end.message or end.verdict
        read = next((event for event in events if isinstance(event, BufferRead)), None)
        return "" if read is not None and is_known(stores.blobs.get(read.digest)) else "its result is wrong"

    def broken(self) -> str:
        """What the card tells of itself for which it is not to be used any more; empty where there is nothing."""
        return self.telemetry.broken() if self.telemetry else ""

    def completed(self, event: Event, run: RunRequest, seconds: float) -> Event:
        """A time as the child told it, with what only the supervisor knows; other events as they are.

        `seconds`: how long the series took, by the child.
        """
        if not isinstance(event, Timed) or event.measured is None:
            return event
        work = work_of(run, event.step)
        told = {
            "conditions": self.telemetry.during(seconds) if self.telemetry else None,
            "work": work,
            "peaks": self.peaks,
            "remark": remark(event.measured, work, self.peaks),
        }
        return event.model_copy(update={"measured": event.measured.model_copy(update=told)})

    def close(self) -> None:
        if self.telemetry is not None:
            self.telemetry.close()


def work_of(run: RunRequest, path: str) -> Work | None:
    """As the request declares it; else every buffer that the launch gets, once (twice where it is read and written)."""
    if run.work is not None:
        return run.work
    step = next((step for place, step in walk(run.steps) if place == path and isinstance(step, Launch)), None)
    if step is None:
        return None
    names = {item.buffer for item in step.arguments if item.kind == "buffer"}
    return Work(
        bytes=sum(item.bytes * (2 if item.role == "inout" else 1) for item in run.buffers if item.name in names),
        origin="buffers",
    )


def remark(measured: Measured, work: Work | None, peaks: Peaks | None) -> str:
    """What cannot be so: a cold launch that moves declared bytes, or does operations, faster than the card can."""
    if work is None or peaks is None or work.origin != "declared":
        return ""
    cold = next((item.median for item in measured.series if item.cache == "cold"), 0.0)
    if cold <= 0:
        return ""
    if work.bytes is not None and work.bytes / cold > _MARGIN * peaks.bytes_per_second:
        return TOO_FAST
    if work.flops is not None and work.flops / cold > _MARGIN * peaks.flops_per_second:
        return TOO_MANY
    return ""
