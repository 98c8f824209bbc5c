"""The estimate of one launch as the protocol tells it."""

from __future__ import annotations

from collections.abc import Sequence

from engine.devices.emulated import EmulatedDevice
from engine.devices.occupancy import resident_blocks_per_sm
from engine.estimating.machines import STANDS_FOR, machine_of
from engine.estimating.model import estimate
from engine.estimating.profile import Unestimated
from engine.estimating.quality import MEASURED_GPU, MEDIAN_ERROR, P90_ERROR
from engine.launching.plan import PlannedLaunch
from protocol.estimate import Bound, Estimate

BUDGET_SECONDS = 0.25
"""For the sampled blocks of one launch."""
_TOLD_BOUNDS = 6


def gpu_of(wanted: str, architecture: str) -> str:
    """The name of the GPU whose time is estimated; `wanted` is auto or a name of `protocol.gpus`. Unestimated."""
    if wanted != "auto":
        return wanted
    if architecture not in STANDS_FOR:
        raise Unestimated(f"no GPU of {architecture} is in the table of GPUs")
    return STANDS_FOR[architecture]


def estimate_launch(
    device: EmulatedDevice,
    launch: PlannedLaunch,
    arguments: Sequence[bytes],
    wanted: str,
    architecture: str,
    budget_seconds: float = BUDGET_SECONDS,
) -> Estimate:
    """Samples blocks of the launch on the device's memory as it is, which they change. Unestimated."""
    gpu = gpu_of(wanted, architecture)
    per_sm = resident_blocks_per_sm(architecture, launch.entry.resources, launch.block, launch.dynamic_shared_bytes)
    if not per_sm:
        raise Unestimated("not one block fits on an SM")
    profile = device.profile(launch, arguments, budget_seconds)
    found = estimate(profile, per_sm, machine_of(gpu))
    return Estimate(
        gpu=gpu,
        seconds=found.seconds,
        limiter=found.bounds[0].resource,
        bounds=tuple(Bound(resource=item.resource, seconds=item.seconds) for item in found.bounds[:_TOLD_BOUNDS]),
        sampled_blocks=profile.sampled,
        judged_on=MEASURED_GPU,
        median_error=MEDIAN_ERROR,
        p90_error=P90_ERROR,
    )
