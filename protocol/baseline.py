"""The same job without a GPU, for comparison: Python text that NumPy, Numba or PyTorch run on the processor."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from protocol.base import Bytes, Model, Seconds
from protocol.checks import plain_text

MAX_BASELINES = 4


class Baseline(Model):
    """Python text that sees what a NumPy reference sees (`protocol.checks.NumpyReference`).

    Where it defines a function `baseline`, that is called with the buffers and scalars that its parameters name, again
    and again, each time on fresh arrays; else the whole text is. Numba may be imported, and PyTorch where it is there.
    """

    name: Annotated[str, StringConstraints(min_length=1, max_length=40, strip_whitespace=True)] = "NumPy"
    text: str

    @field_validator("text")
    @classmethod
    def _plain(cls, text: str) -> str:
        return plain_text(text, "baseline", "write what the kernel does")


class Baselined(Model):
    """How long a baseline takes on this machine's processor."""

    kind: Literal["baselined"] = "baselined"
    index: Annotated[int, Field(ge=0)]
    """Its place in the request's baselines."""
    name: str
    seconds: Seconds | None = None
    """The median of `samples` calls after the first one; None where it failed, as a diagnostic says."""
    samples: Annotated[int, Field(ge=0)] = 0
    first_seconds: Seconds | None = None
    """The text itself and its first call: imports and compilation are part of it."""
    threads: Annotated[int, Field(ge=1)] = 1
    """Processors that the process had; NumPy's own loops use one of them."""
    transfer_bytes: Bytes = 0
    """That a GPU would have to get and give back: the buffers that are read, and those that are written."""


def break_even(
    gpu_seconds: float, floor_seconds: float, transfer_seconds: float, baseline_seconds: float
) -> float | None:
    """By which factor the problem may shrink or has to grow until both take equally long; None: the GPU never wins.

    All times but the floor, which is an empty launch, are taken to grow in proportion to the problem.
    """
    growing = max(0.0, gpu_seconds - floor_seconds) + transfer_seconds
    gain = baseline_seconds - growing
    return floor_seconds / gain if gain > 0 else None
