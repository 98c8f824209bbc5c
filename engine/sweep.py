"""A sweep: all steps of a run once for each cell, every time on a fresh device, from the same first values."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from engine.buffers import Expected, allocate, expected_values, initial_values, uploads_of
from engine.conclusion import conclude
from engine.devices import Device, DeviceRefusal, device_type
from engine.devices.emulated import EmulatedDevice
from engine.devices.gpu_probes import BLOB as PROBES
from engine.devices.occupancy import occupancy
from engine.emission import Emission
from engine.estimating.told import estimated, rewrite
from engine.film import Filming
from engine.launching.plan import PlannedLaunch
from engine.launching.shapes import Shape, Shapes, cell_label, plan_shapes
from engine.outcome import tell_results, values_refused
from engine.overheard import Overheard
from engine.steps import StepRunner
from engine.values.dtypes import Array
from engine.values.results import check, first_difference
from protocol.base import FieldError
from protocol.cells import Cell
from protocol.diagnostics import Diagnostic, Severity
from protocol.estimate import Estimate
from protocol.events import DeviceKind, Timed
from protocol.frames import object_key, of_variant, profile_key
from protocol.run import LaunchRequest, Variant
from protocol.sweep import State, Swept

LEAST_RUNS = 3
MOST_RUNS = 9
_NAMED = 8
ENOUGH_SECONDS = 0.6
"""Of runs for the time alone, of all shapes together, after which LEAST_RUNS of each are enough."""


def sweep_job(request: LaunchRequest, blobs: Mapping[str, memoryview], emission: Emission, begin: float) -> None:
    """Tells of the first possible cell all that a run tells, and of every cell as soon as it is known.

    `begin` is when the job started, by time.perf_counter().
    """
    variants = dict(enumerate(request.variants or (Variant(kernel=request.kernel),)))
    planned = plan_shapes(request.run, variants)
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
    late: list[Shape] = field(default_factory=list)
    rows: dict[int, Swept] = field(default_factory=dict)

    def run(self) -> None:
        told = [self.planned_row(shape, "refused", shape.refusals) for shape in self.planned.shapes if shape.refusals]
        for swept in [*told, *(_left_out(cell, self.planned.step) for cell in self.planned.excluded)]:
            self._tell(swept)
        trials: list[_Trial] = []
        for shape in self._order():
            trial = self._shape(shape)
            self._tell(trial.told())
            trials.append(trial)
        self._repeat([trial for trial in trials if trial.repeats])
        if self.late:
            labels = [shape.label for shape in sorted(self.late, key=lambda item: item.cell.index)]
            more = f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else ""
            names = ", ".join(labels[:_NAMED]) + more
            message = f"No time was left for these shapes (the run has {self.request.deadline_seconds:g} s): {names}"
            self.emission.diagnosed([_told("warning", "sweep-time", message, "sweep.blocks")])
        if not self.planned.possible:
            message = "none of the shapes can be launched"
            self.emission.diagnosed([_told("error", "sweep", message, "sweep.blocks")])
        elif len(self.planned.possible) > 1:
            self.emission.event(conclude([self.rows[index] for index in sorted(self.rows)]))

    def _order(self) -> list[Shape]:
        """The first possible cell, whose results are the run's, then the others by chance."""
        assert self.request.run.sweep is not None
        first, *others = self.planned.possible or (None,)
        random.Random(self.request.run.sweep.seed).shuffle(others)
        return [] if first is None else [first, *others]

    def _tell(self, swept: Swept) -> None:
        self.rows[swept.index] = swept
        self.emission.event(swept)

    def _shape(self, shape: Shape) -> _Trial:
        if self.lost_at:
            return _Trial(shape, self._not_run(shape, f"a defect at {self.lost_at} took the GPU's context along"))
        if time.perf_counter() < self._end and not self._lacks_code(shape):
            return self._try(shape)
        self.late.append(shape)
        late = time.perf_counter() >= self._end
        return _Trial(
            shape, self._not_run(shape, "the time of the run was up" if late else "no time was left to make its code")
        )

    @property
    def _end(self) -> float:
        return self.begin + self.request.deadline_seconds

    def _lacks_code(self, shape: Shape) -> bool:
        return (
            self.request.device == "emulator"
            and self._blob(shape, _code_name(self.planned.launch(shape))) not in self.blobs
        )

    def _try(self, shape: Shape) -> _Trial:
        """The first run of a shape, whose results count."""
        start = time.perf_counter()
        heard = Overheard(None if self.told else self.emission)
        with self._device(shape) as device:
            runner = self._runner(shape, device, heard)
            finished = runner.execute()
            same, differs_at = self._leave(runner, finished)
            passed = self._passed(runner) if finished else None
            clock, name, kind = device.clock, device.name, device.kind
            estimate, why_not = self._estimate(runner, device) if finished else (None, "")
        if not finished:
            return _Trial(shape, self._ended(shape, heard, name, kind))
        total = runner.totals[self.planned.step]
        told = {
            "occupancy": heard.launched[self.planned.step].occupancy,
            "clock": clock,
            "device_name": name,
            "same_as_first": same,
            "differs_at": differs_at,
            "passed": passed,
            "estimate": estimate,
            "samples": len(total.repeated.warm.samples) if total.repeated else 1,
        }
        notes = (
            [_told("note", "no-estimate", f"no estimate: {why_not}", f"sweep.blocks.{shape.cell.place}")]
            if why_not
            else []
        )
        swept = self.planned_row(shape, "ran", [*heard.as_diagnostics(), *notes]).model_copy(update=told)
        times = [total.repeated.warm.median if total.repeated else total.seconds]
        # A processor's time says nothing of a GPU's, so that it is not worth more runs.
        repeats = total.repeated is None and clock == "gpu-events"
        return _Trial(shape, swept, times, time.perf_counter() - start, repeats)

    def _estimate(self, runner: StepRunner, device: Device) -> tuple[Estimate | None, str]:
        """Of the swept launch, whose sampled blocks see the values that the run began with; else why there is none."""
        wanted = self.request.run.estimate
        if wanted is None or not isinstance(device, EmulatedDevice):
            return None, ""
        rewrite(runner, self.values)
        told = estimated(runner, device, self.planned.step, wanted)
        return told.estimate, told.why_not

    def _passed(self, runner: StepRunner) -> bool | None:
        """Whether all checks of the run pass in this cell; None without checks that can be made."""
        results = [
            check(item.check, item.buffer.name, runner.buffers[item.buffer.name].read(), item.values, item.buffer.shape)
            for item in self.expected
            if item.values is not None
        ]
        return all(result.passed for result in results) if results else None

    def _leave(self, runner: StepRunner, finished: bool) -> tuple[bool | None, str]:
        """Tells the results of the first shape; compares those of others with the first one that ran."""
        if not self.told:
            self.told = True
            tell_results(runner, self.expected, self.emission, finished)
        if not finished:
            return None, ""
        read = {item.name: item for item in runner.run.buffers if item.role != "in"}
        if self.first is None and self._passed(runner) is not False:
            self.first = {name: np.array(runner.buffers[name].read()) for name in read}
            return None, ""
        if self.first is None:
            return None, ""
        for name, buffer in read.items():
            index = first_difference(runner.buffers[name].read(), self.first[name], buffer.shape)
            if index is not None:
                return False, f"{name}[{', '.join(map(str, index))}]"
        return (True, "") if read else (None, "")

    def _repeat(self, trials: list[_Trial]) -> None:
        """Runs all cells in turn again, in an order of chance, so that what else the machine does meets them alike."""
        assert self.request.run.sweep is not None
        start, chance = time.perf_counter(), random.Random(self.request.run.sweep.seed + 1)
        for runs in range(1, MOST_RUNS):
            if runs >= LEAST_RUNS and time.perf_counter() - start > ENOUGH_SECONDS:
                break
            chance.shuffle(trials)
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
        for trial in sorted(trials, key=lambda item: item.swept.index):
            self._tell(trial.told())

    @contextmanager
    def _device(self, shape: Shape) -> Iterator[Device]:
        """A device of its own: variables of the module and buffers start anew. DeviceRefusal."""
        assert shape.plan is not None
        keys = {object_key(item.entry.name, item.block) for item in shape.plan.launches.values()}
        wanted = {f"object:{key}" for key in keys} | {f"object:{profile_key(key)}" for key in keys} | {"cubin"}
        blobs = {name: self.blobs[own] for name in wanted if (own := self._blob(shape, name)) in self.blobs}
        blobs |= {name: self.blobs[name] for name in (PROBES,) if name in self.blobs}
        request = self.request.model_copy(update={"run": shape.run, "kernel": shape.kernel, "variants": ()})
        device = device_type(self.request.device).open(request, blobs)
        try:
            yield device
        finally:
            device.close()

    def _blob(self, shape: Shape, name: str) -> str:
        """What the blob is called that is `name` where the source is compiled once."""
        return of_variant(shape.cell.combination, name) if self.request.variants else name

    def _runner(self, shape: Shape, device: Device, emission: Overheard) -> StepRunner:
        assert shape.plan is not None
        buffers = allocate(shape.run, device, self.values)
        limit = self.request.deadline_seconds
        film = Filming.wanted(shape.run, emission) if emission.forwards else None
        return StepRunner(device, shape.plan, shape.run, buffers, emission, self.begin, limit, film)

    def _ended(self, shape: Shape, heard: Overheard, name: str, kind: DeviceKind) -> Swept:
        """A shape that did not come to its end."""
        if heard.timed_out:
            self.late.append(shape)
            return self._not_run(shape, "it was stopped when the time of the run was up")
        if heard.fatal is None:
            return self.planned_row(shape, "refused", heard.as_diagnostics())
        if kind == "gpu":
            self.lost_at = shape.label
        if not self.defect and not heard.forwards:
            self.emission.event(heard.fatal)
        self.defect = True
        return self.planned_row(shape, "failed", heard.as_diagnostics()).model_copy(update={"device_name": name})

    def _not_run(self, shape: Shape, reason: str) -> Swept:
        message = f"{shape.label} was not run: {reason}"
        return self.planned_row(
            shape, "not-run", [_told("warning", "sweep", message, f"sweep.blocks.{shape.cell.place}")]
        )

    def planned_row(self, shape: Shape, state: State, diagnostics: Sequence[Diagnostic]) -> Swept:
        """What is known of a cell without its run."""
        cell, computed, resources = shape.cell, None, None
        if shape.plan is not None:
            launch = self.planned.launch(shape)
            resources, shared = launch.entry.resources, launch.dynamic_shared_bytes
            if state != "refused":
                computed = occupancy(self.request.run.architecture, resources, launch.grid, launch.block, shared)
        return _row(cell, self.planned.step, state).model_copy(
            update={
                "occupancy": computed,
                "registers": resources.registers if resources else 0,
                "spill_bytes": resources.spill_store_bytes + resources.spill_load_bytes if resources else 0,
                "diagnostics": tuple(diagnostics),
            }
        )


def _field(shape: Shape) -> str:
    return f"sweep.blocks.{shape.cell.place}"


def _row(cell: Cell, step: str, state: State) -> Swept:
    return Swept(
        index=cell.index,
        step=step,
        block=cell.block,
        grid=cell.grid,
        macros=dict(cell.macros),
        dynamic_shared_bytes=cell.dynamic_shared_bytes,
        state=state,
        registers=0,
    )


def _left_out(cell: Cell, step: str) -> Swept:
    message = f"{cell_label(cell.block, cell.macros)} is left out by the restriction {cell.excluded}"
    note = _told("note", "restriction", message, "sweep.where")
    return _row(cell, step, "excluded").model_copy(update={"diagnostics": (note,)})


def _code_name(launch: PlannedLaunch) -> str:
    """Of the blob with the emulator's code."""
    return f"object:{object_key(launch.entry.name, launch.block)}"


def _told(severity: Severity, code: str, message: str, field: str) -> Diagnostic:
    return Diagnostic(severity=severity, code=code, message=message, field=field, origin="launch")
