"""GPUs as the estimate sees them: facts of the model, and what an SM of its architecture does in a clock."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from engine.estimating.model import Machine
from protocol.gpus import GpuFacts, gpu_named, gpu_table


@dataclass(frozen=True, slots=True)
class Rates:
    """Results of one SM a clock, by kind of instruction."""

    integers: int
    fp32: int
    integer_products: int
    fp64: int
    special: int


# CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions". Blackwell's GeForce SMs do integers on all
# lanes: NVIDIA RTX Blackwell GPU Architecture whitepaper.
RATES = {
    "sm_75": Rates(64, 64, 64, 2, 16),
    "sm_80": Rates(64, 64, 64, 32, 16),
    "sm_86": Rates(64, 128, 64, 2, 16),
    "sm_89": Rates(64, 128, 64, 2, 16),
    "sm_90": Rates(64, 128, 64, 64, 16),
    "sm_100": Rates(64, 128, 64, 64, 16),
    "sm_120": Rates(128, 128, 64, 2, 16),
}

# What a run's architecture stands for where nobody names a GPU: see engine/devices/architectures.json.
STANDS_FOR = {
    "sm_75": "T4",
    "sm_80": "A100 SXM 80 GB",
    "sm_86": "A10G",
    "sm_89": "RTX 4090",
    "sm_90": "H200 SXM",
    "sm_100": "B200",
    "sm_120": "RTX 5090",
}


@functools.cache
def machine_of(name: str) -> Machine:
    """The GPU of this name in the table of facts. KeyError."""
    return _machine(gpu_named(name))


def _machine(facts: GpuFacts) -> Machine:
    rates = RATES[facts.architecture]
    clock = facts.boost_mhz * 1e6
    return Machine(
        sm_count=facts.sm_count,
        clock_hz=clock,
        dram_bytes_per_second=facts.memory_gb_per_second * 1e9,
        l2_bytes=int(facts.l2_mib * (1 << 20)),
        alu=rates.integers,
        fma=rates.fp32,
        imad=rates.integer_products,
        fp64=rates.fp64,
        xu=rates.special,
        matrix_operations=facts.tensor_fp16_tflops * 1e12 / facts.sm_count / clock,
    )


def machines() -> dict[str, Machine]:
    """All GPUs of the table, by name."""
    return {facts.name: _machine(facts) for facts in gpu_table().gpus}
