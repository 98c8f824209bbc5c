"""Facts of GPUs agree with each other: peaks follow from SMs, lanes and clocks."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from engine.devices.architectures import architectures
from engine.estimating.machines import RATES
from protocol.gpus import GpuFacts, gpu_named, gpu_table

NAMES = [facts.name for facts in gpu_table().gpus]


def test_the_models() -> None:
    assert NAMES == [
        "T4", "A10G", "A100 SXM 40 GB", "A100 SXM 80 GB", "L4", "L40S", "RTX 4090", "H100 PCIe", "H100 SXM", "H200 SXM",
        "B200", "RTX 5090",
    ]  # fmt: skip
    with pytest.raises(KeyError, match="Voodoo"):
        gpu_named("Voodoo")


@pytest.mark.parametrize("name", NAMES)
def test_peaks_follow_from_units(name: str) -> None:
    facts = gpu_named(name)
    rates, tera = RATES[facts.architecture], 2 * facts.sm_count * facts.boost_mhz * 1e6 / 1e12
    assert facts.fp32_tflops == pytest.approx(tera * rates.fp32, rel=0.03)
    assert facts.fp64_tflops == pytest.approx(tera * rates.fp64, rel=0.03)
    assert facts.tensor_fp16_tflops > 1.9 * facts.fp32_tflops
    assert facts.architecture in architectures()
    assert facts.sources


def test_no_name_and_no_instance_twice() -> None:
    instances = [(item.cloud, item.name) for facts in gpu_table().gpus for item in facts.instances]
    assert len(set(instances)) == len(instances)
    assert len(set(NAMES)) == len(NAMES)


def test_a_fact_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="sm_count"):
        GpuFacts.model_validate(gpu_named("T4").model_dump() | {"sm_count": 0})
