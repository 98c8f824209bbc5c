"""Facts of GPUs, as their vendor publishes them, and cloud instances that carry them, with date and sources."""

from __future__ import annotations

import functools
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field

from protocol.base import Architecture, Model

Positive = Annotated[float, Field(gt=0)]


class Instance(Model):
    """A cloud's machine type that carries a GPU."""

    cloud: str
    name: str
    gpus: Annotated[int, Field(ge=1)]
    suits: str
    """What it is for, in a few words."""


class GpuFacts(Model):
    """One model. Peaks are of dense operations without sparsity, in units of 10¹² a second, at boost clock."""

    name: str
    architecture: Architecture
    sm_count: Annotated[int, Field(ge=1)]
    boost_mhz: Annotated[int, Field(ge=1)]
    memory_gb: Annotated[int, Field(ge=1)]
    """10⁹ bytes, as it is sold."""
    memory_kind: str
    memory_gb_per_second: Positive
    l2_mib: Positive
    host_gb_per_second: Positive
    """Each way, of the PCI Express link (x16) that it has: no copy from or to the host is faster."""
    fp32_tflops: Positive
    fp64_tflops: Positive
    tensor_fp16_tflops: Positive
    """With sums in FP32."""
    watts: Annotated[int, Field(ge=1)]
    """The highest configured board power."""
    instances: tuple[Instance, ...] = ()
    sources: Annotated[tuple[str, ...], Field(min_length=1)]


class GpuTable(Model):
    """All models, and when the facts were looked up."""

    checked: date
    gpus: tuple[GpuFacts, ...]


@functools.cache
def gpu_table() -> GpuTable:
    """The facts of gpus.json."""
    text = Path(__file__).with_name("gpus.json").read_text(encoding="utf-8")
    return GpuTable.model_validate_json(text)


def gpu_named(name: str) -> GpuFacts:
    """KeyError where the table has no GPU of this name."""
    found = next((gpu for gpu in gpu_table().gpus if gpu.name == name), None)
    if found is None:
        raise KeyError(name)
    return found
