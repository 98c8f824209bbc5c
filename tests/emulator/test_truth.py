"""The emulator computes what an H200 computed, and reports the defects that end a kernel."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np
import pytest
from launching import DATA, compiled, truth_cases

from emulator import CompiledEntry, Loaded, Memory, Outcome, launch

OUTPUTS = json.loads((DATA / "truth" / "outputs_sm_90.json").read_text())
ARRAYS = np.load(DATA / "truth" / "outputs_sm_90.npz")
SOUND = [case for case in truth_cases() if not case.get("defect")]


def initial(spec: dict[str, Any]) -> np.ndarray[Any, Any] | None:
    """The array that a buffer starts from; None for one left uninitialised. As in truth/measure.py."""
    dtype, n, init = np.dtype(spec["buffer"]), int(np.prod(spec["shape"])), spec["init"]
    if "zeros" in init:
        return np.zeros(n, dtype)
    if "full" in init:
        return np.full(n, init["full"], dtype)
    if "arange" in init:
        return np.arange(n).astype(dtype)
    if "random" in init:
        generator = np.random.default_rng(init["random"])
        if dtype == np.float64:
            return generator.random(n)
        return generator.random(n, dtype=np.float32).astype(dtype)
    if "normal" in init:
        return np.random.default_rng(init["normal"]).standard_normal(n).astype(dtype)
    if "integers" in init:
        return np.random.default_rng(init["seed"]).integers(*init["integers"], size=n).astype(dtype)
    return None


def launch_case(
    case: dict[str, Any], entry: CompiledEntry | None = None, loaded: Loaded | None = None
) -> tuple[Outcome, dict[str, np.ndarray[Any, Any]]]:
    """The outcome, and the buffers that the case compares."""
    memory = Memory(64 << 20)
    arguments: list[bytes] = []
    outputs: dict[str, np.ndarray[Any, Any]] = {}
    for index, argument in enumerate(case["arguments"]):
        if "scalar" in argument:
            arguments.append(np.dtype(argument["scalar"]).type(argument["value"]).tobytes())
            continue
        if "null" in argument:
            arguments.append(bytes(8))
            continue
        dtype = np.dtype(argument["buffer"])
        start = initial(argument)
        nbytes = int(np.prod(argument["shape"])) * dtype.itemsize
        buffer = memory.allocate(f"argument {index}", nbytes, initialised=start is not None)
        if start is not None:
            buffer.view(dtype)[:] = start
        arguments.append(struct.pack("<Q", buffer.address))
        if argument["role"] != "in":
            outputs[f"{case['name']}.{index}"] = buffer.view(dtype)
    block = (*case["block"], 1, 1)[:3]
    grid, shared = (*case["grid"], 1, 1)[:3], case["dynamic_shared_bytes"]
    if loaded is not None:
        return launch(loaded.entry, memory, grid, arguments, shared, loaded=loaded), outputs
    entry = entry or compiled(case["file"].removesuffix(".cu"), case["entry"], block)
    # What is run went through the form in which it is cached.
    entry = CompiledEntry.from_bytes(entry.to_bytes())
    return launch(entry, memory, grid, arguments, shared), outputs


def check_output(case: dict[str, Any], key: str, got: np.ndarray[Any, Any]) -> None:
    if hashlib.sha256(got.tobytes()).hexdigest() == OUTPUTS[key]["sha256"]:
        return
    assert "tolerance" in case, f"{key}: the bits differ"
    want = ARRAYS[key].reshape(-1).astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=case["tolerance"], atol=case.get("absolute", 0.0), equal_nan=True)


@pytest.mark.parametrize("case", SOUND, ids=lambda case: case["name"])
def test_equals_the_gpu(case: dict[str, Any]) -> None:
    outcome, outputs = launch_case(case)
    assert outcome.fault is None
    for key, got in outputs.items():
        check_output(case, key, got)


@pytest.mark.parametrize(
    ("name", "kind", "space", "buffer", "relation"),
    [
        ("oob_read", "out-of-bounds", "global", "argument 1", "right behind the end"),
        ("oob_write", "out-of-bounds", "global", "argument 2", "right behind the end"),
        ("oob_negative", "out-of-bounds", "global", "argument 1", "4 bytes before the start"),
        ("oob_far", "out-of-bounds", "global", "argument 1", "34359734272 bytes past the end"),
        ("oob_shared", "out-of-bounds", "shared", "shared memory", "right behind the end"),
        ("null_read", "null", "global", None, None),
        ("misaligned", "misaligned", "global", "argument 0", "inside"),
        ("device_assert_trap", "trap", None, None, None),
        ("integer_overflow_index", "out-of-bounds", "global", "argument 2", "8589934592 bytes before the start"),
    ],
)
def test_reports_the_defect(name: str, kind: str, space: str | None, buffer: str | None, relation: str | None) -> None:
    case = next(case for case in truth_cases() if case["name"] == name)
    fault = launch_case(case)[0].fault
    assert fault is not None
    assert (fault.kind, fault.space) == (kind, space)
    assert fault.source is not None
    assert fault.source.line in case["lines"]
    assert fault.block is not None and fault.thread is not None
    assert (fault.buffer.name if fault.buffer else None) == buffer
    if relation is not None:
        assert fault.buffer is not None and fault.buffer.relation == relation
