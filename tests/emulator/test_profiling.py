"""Issue slots agree with what an H200 executed; blocks that run alone count what they count in their grid."""

from __future__ import annotations

import csv
import math
import statistics
import struct
from collections import Counter
from typing import Any

import numpy as np
import pytest
from launching import DATA, int32, module, run, truth_cases
from test_truth import launch_case

from emulator import LaunchError, Loaded, Memory, Options, compile_entry
from emulator.instruments.machine import PROLOGUE
from emulator.runtime.sample import Sampler

with (DATA / "truth" / "counters_sm_90.tsv").open() as table:
    EXECUTED = {row["case"]: float(row["smsp__inst_executed.sum"]) for row in csv.DictReader(table, delimiter="\t")}
PROFILE = Options(fast=True, instruments=("profile",))
# Our slots over the H200's instructions, where they are not the same to 2 %.
RATIOS = {
    "copy_coalesced_b256": 1.0, "copy_float4": 1.0, "copy_double": 1.0, "gather_indexed": 1.0, "gather_stride8": 1.06,
    "diverge_parity": 1.0, "collatz": 1.0, "mandelbrot": 1.0, "warp_sum": 1.0, "block_sum_b256": 1.0,
    "scan_block": 0.97, "histogram_global": 1.0, "transpose_tiled": 0.98, "integer_math": 1.02,
    "float_functions": 1.0, "double_functions": 0.97, "half2_axpy": 1.0, "blur3x3": 1.08, "softmax_rows": 0.87,
    "nbody_step": 0.89, "matmul_naive": 1.16, "matmul_tiled16": 1.26, "life_step": 1.19, "local_array": 1.46,
    "histogram_shared": 0.87,
}  # fmt: skip


def profiled(case: dict[str, Any]) -> float:
    """Slots of all warps of a case."""
    block = (*case["block"], 1, 1)[:3]
    entry = compile_entry(module(case["file"].removesuffix(".cu")), case["entry"], block, PROFILE)
    outcome, _ = launch_case(case, entry)
    assert outcome.fault is None
    return outcome.counters["slots"] + PROLOGUE * math.prod(case["grid"]) * -(-math.prod(case["block"]) // 32)


def test_slots_are_the_instructions_that_an_h200_executed() -> None:
    found = {case["name"]: profiled(case) / EXECUTED[case["name"]] for case in truth_cases() if case["name"] in RATIOS}
    assert found == pytest.approx(RATIOS, rel=0.02)
    errors = [abs(math.log(ratio)) for ratio in found.values()]
    assert math.exp(statistics.median(errors)) < 1.05


def sampler(name: str, entry: str, block: int, grid: int, *arguments: bytes, memory: Memory) -> Sampler:
    code = compile_entry(module(name), entry, (block, 1, 1), PROFILE)
    return Sampler(Loaded(code), memory, (grid, 1, 1), arguments)


def pointer(memory: Memory, values: np.ndarray[Any, Any]) -> bytes:
    buffer = memory.allocate("values", values.nbytes)
    buffer.view(values.dtype)[:] = values
    return struct.pack("<Q", buffer.address)


def test_blocks_alone_count_what_the_grid_counts() -> None:
    memory = Memory(1 << 20)
    given = int32(1000), pointer(memory, np.arange(1000, dtype=np.int32)), pointer(memory, np.zeros(2000, np.int32))
    code = compile_entry(module("control_flow"), "switch_four", (96, 1, 1), PROFILE)
    whole = run(code, *given, grid=(11, 1, 1), memory=memory)
    alone = sampler("control_flow", "switch_four", 96, 11, *given, memory=memory)
    total: Counter[str] = Counter()
    for index in reversed(range(11)):
        found = alone.block(index, 5.0)
        assert found is not None
        total.update(found.counters)
    alone.close()
    assert {name: total[name] for name in whole.outcome.counters} == dict(whole.outcome.counters)


# Kernel with its arguments beside the arrays, then of block 1 of 64 threads: lines of all reads and writes, and the
# sectors of each array that are read and written, relative to the array's first.
SHARES = [
    ("copy_coalesced", (1024,), (2, 2), [*range(8, 16)], [*range(8, 16)]),
    ("gather_strided", (128, 8), (16, 2), [*range(64, 128)], [*range(8, 16)]),
    ("scatter_strided", (128, 8), (2, 16), [*range(8, 16)], [*range(64, 128)]),
    ("copy_float4", (256,), (8, 8), [*range(32, 64)], [*range(32, 64)]),
    ("broadcast_read", (1024,), (2, 2), [0], [*range(8, 16)]),
]


@pytest.mark.parametrize(("entry", "scalars", "lines", "read", "written"), SHARES, ids=lambda value: str(value)[:20])
def test_a_block_touches(
    entry: str, scalars: tuple[int, ...], lines: tuple[int, int], read: list[int], written: list[int]
) -> None:
    memory = Memory(1 << 20)
    arrays = [pointer(memory, np.zeros(1024, np.float32)) for _ in range(2)]
    one = sampler("copy", entry, 64, 4, *map(int32, scalars), *arrays, memory=memory)
    found = one.block(1, 5.0)
    one.close()
    assert found is not None
    first, second = (buffer.address // 32 - memory.base // 32 for buffer in memory.buffers)
    assert (found.counters["global_read_lines"], found.counters["global_write_lines"]) == lines
    assert (found.read - first).tolist() == read
    assert (found.written - second).tolist() == written


def test_atomics_and_local_memory() -> None:
    memory = Memory(1 << 20)
    bins = pointer(memory, np.zeros(64, np.uint32))
    values = pointer(memory, (np.arange(256) % 64).astype(np.uint8))
    histogram = sampler("warp", "histogram_global", 32, 8, int32(256), values, bins, memory=memory)
    found = histogram.block(0, 5.0)
    histogram.close()
    assert found is not None
    assert (found.counters["atomic_lanes"], found.counters["global_atomic_sectors"], len(found.atomic)) == (32, 4, 4)
    assert found.counters["global_atomic_lines"] == 1


REFUSED = [
    ("control_flow", "spin_lock_sum", PROFILE, "wait for each other"),
    ("copy", "copy_coalesced", Options(fast=True), "does not profile"),
]


@pytest.mark.parametrize(("name", "entry", "options", "message"), REFUSED, ids=[row[1] for row in REFUSED])
def test_refused(name: str, entry: str, options: Options, message: str) -> None:
    memory = Memory(1 << 20)
    arrays = [pointer(memory, np.zeros(32, np.int32)) for _ in range(2)]
    code = compile_entry(module(name), entry, (32, 1, 1), options)
    with pytest.raises(LaunchError, match=message):
        Sampler(Loaded(code), memory, (1, 1, 1), [int32(32), *arrays])


def test_a_block_that_faults_or_takes_too_long_tells_nothing() -> None:
    memory = Memory(1 << 20)
    arrays = [pointer(memory, np.zeros(32, np.float32)) for _ in range(2)]
    beyond = sampler("copy", "copy_coalesced", 32, 4, int32(128), *arrays, memory=memory)
    assert beyond.block(3, 5.0) is None
    with pytest.raises(LaunchError, match="no block 4"):
        beyond.block(4, 5.0)
    beyond.close()
    # The origin never leaves Mandelbrot's set.
    origin = (int32(32), int32(1), int32(2**31 - 1), *[struct.pack("<f", 0)] * 4, arrays[0])
    long = sampler("control_flow", "mandelbrot", 32, 1, *origin, memory=memory)
    assert long.block(0, 0.02) is None
    long.close()
