"""Estimates of a run's launches, told once its results have been."""

from __future__ import annotations

from collections.abc import Mapping

from engine.devices.emulated import EmulatedDevice
from engine.emission import Emission
from engine.estimating.launches import estimate_launch
from engine.estimating.profile import Unestimated
from engine.steps import StepRunner
from engine.values.dtypes import Array
from protocol.estimate import Estimated

MOST_LAUNCHES = 8
"""Steps of which the time is estimated."""


def tell_estimates(
    runner: StepRunner, device: EmulatedDevice, values: Mapping[str, Array | None], wanted: str, emission: Emission
) -> None:
    """One for each launch step. Blocks of a run's only launch see the values that it began with; those of several see
    what all of them have left, since a step in the middle cannot be had again."""
    launches = [launch for launch in runner.plan.launches.values() if launch.step in runner.totals]
    if len(launches) == 1:
        rewrite(runner, values)
    for launch in launches[:MOST_LAUNCHES]:
        emission.event(estimated(runner, device, launch.step, wanted))


def rewrite(runner: StepRunner, values: Mapping[str, Array | None]) -> None:
    """Gives the buffers the values that the run began with."""
    for name, given in values.items():
        if given is not None:
            runner.buffers[name].write(given)


def estimated(runner: StepRunner, device: EmulatedDevice, step: str, wanted: str) -> Estimated:
    """Of one launch step, on the device's memory as it is."""
    launch = runner.plan.launches[step]
    try:
        arguments = runner.arguments_of(launch)
        return Estimated(
            step=step, estimate=estimate_launch(device, launch, arguments, wanted, runner.run.architecture)
        )
    except Unestimated as error:
        return Estimated(step=step, why_not=str(error))
