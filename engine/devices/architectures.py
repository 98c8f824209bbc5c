"""The limits of every GPU architecture that the protocol names, read from architectures.json, as the page reads it.

Sizes in bytes; block and grid limits are x, y, z. Sources:

- block, thread and shared-memory limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability";
- allocation units, sub-partitions, barriers and which architectures count them: NVIDIA's cuda_occupancy.h (13.0);
- sm_90: also what the driver of an H200 answered to 12,600 questions, which the tests ask again;
- SM counts: NVIDIA's data sheets (T4, A100, A6000, AGX Orin, RTX 4090, H200, AGX Thor, RTX 5090, GB10) and the device
  descriptions in openxla/xla, xla/backends/gpu/target_config/specs (A100, A6000, H200, B200, GB300).
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Gpu:
    """The GPU model that an architecture's waves are counted for."""

    name: str
    sm_count: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one architecture."""

    family: str
    gpu: Gpu
    warp_size: int
    max_threads_per_block: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    max_threads_per_sm: int
    max_blocks_per_sm: int
    registers_per_sm: int
    registers_per_block: int
    max_registers_per_thread: int
    register_allocation_unit: int
    """Registers are given to a warp in multiples of this."""
    sub_partitions: int
    shared_per_sm: int
    shared_per_block: int
    """Static and dynamic together, without opting in."""
    shared_per_block_optin: int
    """The same after cudaFuncSetAttribute, which a launch here implies."""
    shared_reserved_per_block: int
    shared_allocation_unit: int
    barriers_per_sm: int
    barriers_limit_blocks: bool

    @property
    def max_warps_per_sm(self) -> int:
        return self.max_threads_per_sm // self.warp_size


@functools.cache
def architectures() -> dict[str, Limits]:
    """Architecture, such as sm_90, -> its limits."""
    table: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("architectures.json").read_text())
    return {name: _limits(facts) for name, facts in table.items()}


def _limits(facts: dict[str, Any]) -> Limits:
    lists = {key: tuple(value) for key, value in facts.items() if isinstance(value, list)}
    return Limits(**{**facts, **lists, "gpu": Gpu(**facts["gpu"])})
