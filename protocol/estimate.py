"""The estimate of a launch's time on a GPU that nobody has: never a measurement, and shown as none."""

from typing import Literal

from protocol.base import Model, Seconds


class Bound(Model):
    """What one resource alone would make of the launch."""

    resource: str
    """Such as DRAM, issue slots, latency."""
    seconds: Seconds


class Estimate(Model):
    """Seconds that a launch would take on a GPU, told from a sample of its blocks (docs/estimate.md)."""

    gpu: str
    """As in `protocol.gpus`."""
    seconds: Seconds
    limiter: str
    """The resource with the greatest bound."""
    bounds: tuple[Bound, ...] = ()
    """The greatest first."""
    sampled_blocks: int = 0
    judged_on: str = ""
    """The GPU on whose timings the model was judged; on others nobody has."""
    median_error: float = 0.0
    p90_error: float = 0.0
    """Ratio of estimate and measurement, whichever is greater over the other, on kernels that the fit had not seen."""


class Estimated(Model):
    """An estimate of one launch step of a run, or why there is none."""

    kind: Literal["estimated"] = "estimated"
    step: str
    estimate: Estimate | None = None
    why_not: str = ""
