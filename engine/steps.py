"""Runs the steps of a run on one device: launches, repeats, swaps and fills."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.devices.architectures import Gpu
from engine.devices.device import Device, DeviceBuffer, DeviceLost, LaunchReport, Repeated
from engine.devices.occupancy import occupancy
from engine.emission import Emission, PrintedBatches
from engine.film import Filming
from engine.launching.arguments import argument_pieces
from engine.launching.plan import Plan, PlannedLaunch
from engine.values.initialise import initial_array
from protocol.arguments import Full
from protocol.diagnostics import Diagnostic
from protocol.events import Counted, Found, Launched, Timed
from protocol.launch import Fill, Launch, Repeat, Step, Swap
from protocol.run import RunRequest
from protocol.timing import Measured


@dataclass(slots=True)
class _Total:
    """Time of all rounds of one launch step."""

    seconds: float = 0.0
    launches: int = 0
    repeated: Repeated | None = None
    note: str = ""

    def add(self, report: LaunchReport) -> None:
        self.seconds += report.seconds
        self.launches += 1
        self.repeated, self.note = report.repeated, report.note


@dataclass(slots=True)
class StepRunner:
    """One run. `buffers` maps the user's names to allocations, whose own names never change."""

    device: Device
    plan: Plan
    run: RunRequest
    buffers: dict[str, DeviceBuffer]
    emission: Emission
    begin: float
    limit_seconds: float
    """Counted from `begin`, an instant of time.perf_counter()."""
    film: Filming | None = None
    totals: dict[str, _Total] = field(default_factory=dict)
    _labels: dict[str, str] = field(default_factory=dict)
    """The user's name -> the name that the buffer was allocated under."""
    _names: dict[str, str] = field(default_factory=dict)
    """The inverse."""
    _arguments: dict[str, list[bytes]] = field(default_factory=dict)
    """Of each launch, as long as the buffers keep their names."""

    def execute(self) -> bool:
        """Runs all steps, and tells of each launch; False where a fatal fault or the deadline ended the run."""
        self._labels = {name: name for name in self.buffers}
        self._names = dict(self._labels)
        finished = self._steps(self.run.steps, "steps", self.begin + self.limit_seconds)
        for step, total in self.totals.items():
            if total.repeated is not None:
                self.emission.event(Timed(stage="repeat", seconds=total.repeated.wall, step=step))
            if total.launches:
                self.emission.event(self._timed(step, total))
        if self.film is not None:
            self.emission.event(self.film.told())
        return finished

    def _timed(self, step: str, total: _Total) -> Timed:
        timed = Timed(
            stage="run",
            seconds=total.seconds,
            clock=self.device.clock,
            step=step,
            launches=total.launches,
            note=total.note,
        )
        if total.repeated is None:
            return timed
        found = total.repeated
        more = {
            "seconds": found.warm.median,
            "cold_seconds": found.cold.median,
            "first_seconds": total.seconds,
            "samples": len(found.warm.samples),
            "measured": Measured(series=(found.warm, found.cold), floor_seconds=found.floor),
        }
        return timed.model_copy(update=more)

    def _steps(self, steps: Sequence[Step], path: str, deadline: float) -> bool:
        return all(self._step(step, f"{path}.{index}", deadline) for index, step in enumerate(steps))

    def _step(self, step: Step, path: str, deadline: float) -> bool:
        match step:
            case Launch():
                return self._launch(step, self.plan.launches[path], deadline)
            case Repeat():
                return self._repeat(step, path, deadline)
            case Swap():
                first, second = step.first, step.second
                self.buffers[first], self.buffers[second] = self.buffers[second], self.buffers[first]
                self._labels[first], self._labels[second] = self._labels[second], self._labels[first]
                self._names = {label: name for name, label in self._labels.items()}
                self._arguments.clear()
                return True
            case Fill():
                buffer = next(item for item in self.run.buffers if item.name == step.buffer)
                values = initial_array(Full(value=step.value), buffer.dtype, buffer.shape, {})
                assert values is not None
                self.buffers[step.buffer].write(values)
                return True

    def _repeat(self, step: Repeat, path: str, deadline: float) -> bool:
        if not self._frame(path, 0):
            return False
        for number in range(1, step.count + 1):
            if not self._steps(step.steps, f"{path}.steps", deadline) or not self._frame(path, number):
                return False
        return True

    def _frame(self, path: str, rounds: int) -> bool:
        """Between two rounds of a repeat: a frame of the film, where one is due."""
        if self.film is None:
            return True
        try:
            self.film.after(path, rounds, self.buffers[self.film.buffer.name])
        except DeviceLost:
            message = f"the device's memory could not be read for the film after round {rounds:,}"
            self.emission.diagnosed([Diagnostic(severity="error", message=message, origin="launch", field="film")])
            return False
        return True

    def _launch(self, step: Launch, launch: PlannedLaunch, deadline: float) -> bool:
        left = deadline - time.perf_counter()
        if left <= 0:
            self.emission.event(out_of_time(launch.step, self.limit_seconds))
            return False
        total = self.totals.get(launch.step)
        if total is None:
            total = self.totals[launch.step] = _Total()
            self.emission.event(self._launched(launch))
        arguments = self.arguments_of(launch)
        sole = len(self.run.steps) == 1 and self.run.steps[0] is step
        with PrintedBatches(self.emission) as printed:
            report = self.device.launch(launch, arguments, self._names, printed, left, sole)
        self.emission.diagnosed(report.diagnostics)
        if report.ran:
            total.add(report)
        for found in report.found:
            self.emission.event(found)
        if report.counters:
            self.emission.event(Counted(step=launch.step, counters=dict(report.counters)))
        if report.timed_out:
            self.emission.event(out_of_time(launch.step, self.limit_seconds, report.lost))
        return not report.ended_the_run

    def arguments_of(self, launch: PlannedLaunch) -> list[bytes]:
        """The bytes of each of the kernel's parameters, with the buffers where they are now."""
        arguments = self._arguments.get(launch.step)
        if arguments is None:
            arguments = self._arguments[launch.step] = [
                piece
                for match in launch.matches
                for piece in argument_pieces(match, lambda name: self.buffers[name].address)
            ]
        return arguments

    def _launched(self, launch: PlannedLaunch) -> Launched:
        held = self.device.residency(launch)
        computed = occupancy(
            self.run.architecture,
            launch.entry.resources,
            launch.grid,
            launch.block,
            launch.dynamic_shared_bytes,
            Gpu(held.gpu, held.sm_count) if held else None,
        )
        return Launched(
            step=launch.step,
            entry=launch.entry.display,
            grid=launch.grid,
            block=launch.block,
            dynamic_shared_bytes=launch.dynamic_shared_bytes,
            cooperative=launch.cooperative,
            cluster=launch.cluster,
            device=self.device.kind,
            device_name=self.device.name,
            occupancy=computed.model_copy(update={"driver_blocks_per_sm": held.blocks_per_sm}) if held else computed,
        )


def out_of_time(step: str, seconds: float, lost: bool = False) -> Found:
    """The finding that ends a run at its deadline. `lost`: nothing can be read from the device after that."""
    after = "A GPU's memory cannot be read after that, so there are no results."
    message = f"The kernel was stopped after {seconds:g} s, the time that this service gives a run. "
    message += after if lost else "The buffers are as it left them."
    return Found.model_validate({"class": "limit", "code": "wall", "message": message, "step": step})
