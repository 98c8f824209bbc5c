"""Outputs of the emulator, through the engine, are those of the GPU."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocol.kernel import CompiledKernel
from protocol.run import RunRequest
from tests.engine.child_jobs import compiled, launched, request

TRUTH = Path(__file__).parent.parent / "data" / "truth"

# Cases of the measured truth, chosen for their arguments; the emulator's own tests run them all.
MEASURED = [
    "copy_coalesced_b100", "copy_float4", "copy_bytes", "copy_double", "gather_indexed", "saxpy_grid_stride",
    "dynamic_reverse", "transpose_padded", "mandelbrot", "warp_misc", "block_sum_b1024", "histogram_shared",
    "atomics_all", "matmul_tiled16", "life_step", "integer_math", "float_ieee", "half2_axpy", "bf16_scale",
    "tile_reduce", "function_pointer", "inline_ptx", "spin_lock_sum", "softmax_rows",
]  # fmt: skip


def measured_request(case: dict[str, Any]) -> RunRequest:
    buffers, arguments = [], []
    for index, item in enumerate(case["arguments"]):
        if "scalar" in item:
            arguments.append({"kind": "scalar", "dtype": item["scalar"], "value": item["value"]})
            continue
        init = item["init"]
        made: dict[str, Any] = {"kind": "zeros"}
        if "random" in init:
            made = {"kind": "uniform", "seed": init["random"]}
        elif "normal" in init:
            made = {"kind": "normal", "seed": init["normal"]}
        elif "integers" in init:
            low, high = init["integers"]
            made = {"kind": "integers", "low": low, "high": high, "seed": init["seed"]}
        elif "full" in init:
            made = {"kind": "full", "value": init["full"]}
        name = f"b{index}"
        buffers.append(
            {"name": name, "dtype": item["buffer"], "shape": item["shape"], "init": made, "role": item["role"]}
        )
        arguments.append({"kind": "buffer", "buffer": name})
    config = {key: case[key] for key in ("grid", "block", "dynamic_shared_bytes")}
    step = {"kind": "launch", "entry": case["entry"], "config": config, "arguments": arguments}
    text = (TRUTH / "kernels" / case["file"]).read_text()
    return request(text, buffers=buffers, steps=[step])


@pytest.fixture(scope="module")
def kernels() -> dict[str, CompiledKernel]:
    return {}


@pytest.mark.parametrize("name", MEASURED)
def test_outputs_are_those_of_the_gpu(name: str, kernels: dict[str, CompiledKernel]) -> None:
    (case,) = [item for item in json.loads((TRUTH / "cases.json").read_text()) if item["name"] == name]
    outputs = json.loads((TRUTH / "outputs_sm_90.json").read_text())
    run = measured_request(case)
    code = compiled(run, kernels.get(case["file"]))
    if "kernel" in code.artifacts:
        kernels[case["file"]] = CompiledKernel.model_validate_json(code.artifacts["kernel"])
    assert code.messages() == []
    job = launched(run, code, kernels[case["file"]])
    assert job.messages() == []
    assert job.kind("found") == []
    assert job.buffers
    for buffer_name, data in job.buffers.items():
        key = f"{name}.{buffer_name[1:]}"
        if "tolerance" not in case:
            assert hashlib.sha256(data).hexdigest() == outputs[key]["sha256"]
            continue
        with np.load(TRUTH / "outputs_sm_90.npz") as stored:
            want = stored[key]
        np.testing.assert_allclose(
            np.frombuffer(data, want.dtype), want.reshape(-1), rtol=case["tolerance"], atol=case.get("absolute", 0)
        )
