"""A sweep: all steps of a run once for each block shape, every time on a fresh device, from the same first values."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from engine.buffers import Expected, allocate, expected_values, initial_values, uploads_of
from engine.devices import Device, DeviceRefusal, device_type
from engine.devices.occupancy import occupancy
from engine.emission import Emission
from engine.film import Filming
from engine.launching.plan import PlannedLaunch
from engine.launching.shapes import Shape, Shapes, plan_shapes
from engine.outcome import tell_results, values_refused
from engine.overheard import Overheard
from engine.steps import StepRunner
from engine.values.dtypes import Array
from engine.values.results import first_difference
from protocol.base import FieldError
from protocol.diagnostics import Diagnostic, Severity
from protocol.events import DeviceKind, Timed
from protocol.frames import object_key
from protocol.run import LaunchRequest
from protocol.sweep import State, Swept

LEAST_RUNS = 3
MOST_RUNS = 9
ENOUGH_SECONDS = 0.6
"""Of runs for the time alone, of all shapes together, after which LEAST_RUNS of each are enough."""


def sweep_job(request: LaunchRequest, blobs: Mapping[str, memoryview], emission: Emission, begin: float) -> None:
    """Tells of the first possible shape all that a run tells, then of every shape once, in the request's order.

    `begin` is when the job started, by time.perf_counter().
    """
    planned = plan_shapes(request.run, request.kernel)
    emission.diagnosed(planned.diagnostics)
    if planned.refused:
        return
    try:
        values = initial_values(request.run, uploads_of(blobs))
        expected = expected_values(request.run, blobs)
    except FieldError as error:
        emission.diagnosed([values_refused(error)])
        return
    emission.event(Timed(stage="setup", seconds=time.perf_counter() - begin))
    try:
        _Sweep(request, planned, blobs, values, expected, emission, begin).run()
    except DeviceRefusal as refusal:
        emission.diagnosed(refusal.diagnostics)


@dataclass(slots=True)
class _Trial:
    """A shape, what is to be told of it, and the times of its runs in seconds."""

    shape: Shape
    swept: Swept
    times: list[float] = field(default_factory=list)
    cost: float = 0.0
    """Seconds that a run takes with its preparation."""
    repeats: bool = False
    """Whether further runs are to follow: not where the device has repeated the launch itself."""

    def told(self) -> Swept:
        if not self.times:
            return self.swept
        samples = len(self.times) if self.repeats else self.swept.samples
        return self.swept.model_copy(update={"seconds": statistics.median(self.times), "samples": samples})


@dataclass(slots=True)
class _Sweep:
    """One sweep on one kind of device."""

    request: LaunchRequest
    planned: Shapes
    blobs: Mapping[str, memoryview]
    values: Mapping[str, Array | None]
    expected: list[Expected]
    emission: Emission
    begin: float
    told: bool = False
    """Whether a shape has been told of in full."""
    defect: bool = False
    """Whether a defect has been told as one of the run."""
    lost_at: str = ""
    first: dict[str, Array] | None = None
    """What the first shape that ran left."""
    late: list[str] = field(default_factory=list)

    def run(self) -> None:
        trials = [self._shape(shape) for shape in self.planned.shapes]
        self._repeat([trial for trial in trials if trial.repeats])
        for trial in trials:
            self.emission.event(trial.told())
        if self.late:
            names = ", ".join(self.late)
            message = f"No time was left for these shapes (the run has {self.request.deadline_seconds:g} s): {names}"
            self.emission.diagnosed([_told("warning", "sweep-time", message, "sweep.blocks")])
        if not self.planned.possible:
            message = "none of the shapes can be launched"
            self.emission.diagnosed([_told("error", "sweep", message, "sweep.blocks")])

    def _shape(self, shape: Shape) -> _Trial:
        if shape.refusals:
            return _Trial(shape, self._swept(shape, "refused", shape.refusals))
        if self.lost_at:
            return _Trial(shape, self._not_run(shape, f"a defect at {self.lost_at} took the GPU's context along"))
        if time.perf_counter() < self._end and not self._lacks_code(shape):
            return self._try(shape)
        self.late.append(shape.label)
        late = time.perf_counter() >= self._end
        return _Trial(
            shape, self._not_run(shape, "the time of the run was up" if late else "no time was left to make its code")
        )

    @property
    def _end(self) -> float:
        return self.begin + self.request.deadline_seconds

    def _lacks_code(self, shape: Shape) -> bool:
        return self.request.device == "emulator" and _code_name(self.planned.launch(shape)) not in self.blobs

    def _try(self, shape: Shape) -> _Trial:
        """The first run of a shape, whose results count."""
        start = time.perf_counter()
        heard = Overheard(None if self.told else self.emission)
        with self._device(shape) as device:
            runner = self._runner(shape, device, heard)
            finished = runner.execute()
            same, differs_at = self._leave(runner, finished)
            clock, name, kind = device.clock, device.name, device.kind
        if not finished:
            return _Trial(shape, self._ended(shape, heard, name, kind))
        total = runner.totals[self.planned.step]
        told = {
            "occupancy": heard.launched[self.planned.step].occupancy,
            "clock": clock,
            "device_name": name,
            "same_as_first": same,
            "differs_at": differs_at,
            "samples": total.repeated.samples if total.repeated else 1,
        }
        swept = self._swept(shape, "ran", heard.as_diagnostics()).model_copy(update=told)
        times = [total.repeated.warm if total.repeated else total.seconds]
        return _Trial(shape, swept, times, time.perf_counter() - start, repeats=total.repeated is None)

    def _leave(self, runner: StepRunner, finished: bool) -> tuple[bool | None, str]:
        """Tells the results of the first shape; compares those of others with the first one that ran."""
        if not self.told:
            self.told = True
            tell_results(runner, self.expected, self.emission, finished)
        if not finished:
            return None, ""
        read = {item.name: item for item in runner.run.buffers if item.role != "in"}
        if self.first is None:
            self.first = {name: np.array(runner.buffers[name].read()) for name in read}
            return None, ""
        for name, buffer in read.items():
            index = first_difference(runner.buffers[name].read(), self.first[name], buffer.shape)
            if index is not None:
                return False, f"{name}[{', '.join(map(str, index))}]"
        return (True, "") if read else (None, "")

    def _repeat(self, trials: list[_Trial]) -> None:
        """Runs all shapes in turn again, so that what else the machine does meets them alike."""
        start = time.perf_counter()
        for runs in range(1, MOST_RUNS):
            if runs >= LEAST_RUNS and time.perf_counter() - start > ENOUGH_SECONDS:
                return
            for trial in list(trials):
                before = time.perf_counter()
                if before + 1.5 * trial.cost > self._end:
                    continue
                with self._device(trial.shape) as device:
                    runner = self._runner(trial.shape, device, Overheard(None))
                    if not runner.execute():
                        trials.remove(trial)
                        continue
                trial.times.append(runner.totals[self.planned.step].seconds)
                trial.cost = max(trial.cost, time.perf_counter() - before)

    @contextmanager
    def _device(self, shape: Shape) -> Iterator[Device]:
        """A device of its own: variables of the module and buffers start anew. DeviceRefusal."""
        wanted = {_code_name(item) for item in shape.plan.launches.values()}
        blobs = {name: data for name, data in self.blobs.items() if name in wanted or not name.startswith("object:")}
        device = device_type(self.request.device).open(self.request.model_copy(update={"run": shape.run}), blobs)
        try:
            yield device
        finally:
            device.close()

    def _runner(self, shape: Shape, device: Device, emission: Overheard) -> StepRunner:
        buffers = allocate(shape.run, device, self.values)
        limit = self.request.deadline_seconds
        film = Filming.wanted(shape.run, emission) if emission.forwards else None
        return StepRunner(device, shape.plan, shape.run, buffers, emission, self.begin, limit, film)

    def _ended(self, shape: Shape, heard: Overheard, name: str, kind: DeviceKind) -> Swept:
        """A shape that did not come to its end."""
        if heard.timed_out:
            self.late.append(shape.label)
            return self._not_run(shape, "it was stopped when the time of the run was up")
        if heard.fatal is None:
            return self._swept(shape, "refused", heard.as_diagnostics())
        if kind == "gpu":
            self.lost_at = shape.label
        if not self.defect and not heard.forwards:
            self.emission.event(heard.fatal)
        self.defect = True
        return self._swept(shape, "failed", heard.as_diagnostics()).model_copy(update={"device_name": name})

    def _not_run(self, shape: Shape, reason: str) -> Swept:
        message = f"{shape.label} was not run: {reason}"
        return self._swept(shape, "not-run", [_told("warning", "sweep", message, f"sweep.blocks.{shape.index}")])

    def _swept(self, shape: Shape, state: State, diagnostics: Sequence[Diagnostic]) -> Swept:
        launch = self.planned.launch(shape)
        computed = None
        if state != "refused":
            resources, shared = launch.entry.resources, launch.dynamic_shared_bytes
            computed = occupancy(self.request.run.architecture, resources, shape.grid, shape.block, shared)
        return Swept(
            index=shape.index,
            step=self.planned.step,
            block=shape.block,
            grid=shape.grid,
            state=state,
            occupancy=computed,
            registers=launch.entry.resources.registers,
            diagnostics=tuple(diagnostics),
        )


def _code_name(launch: PlannedLaunch) -> str:
    """Of the blob with the emulator's code."""
    return f"object:{object_key(launch.entry.name, launch.block)}"


def _told(severity: Severity, code: str, message: str, field: str) -> Diagnostic:
    return Diagnostic(severity=severity, code=code, message=message, field=field, origin="launch")
