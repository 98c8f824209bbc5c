"""One warp a gang or two: the same results, and faults at the same thread, for every block shape."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from launching import module
from test_truth import SOUND, check_output, launch_case

from emulator import CompiledEntry, Memory, Module, Options, compile_entry, launch, parse
from emulator.analysis.width import rows_of
from emulator.runtime.compile import lower_entry

WIDTHS = (32, 64)
CHOICES = (*WIDTHS, None)
# Rows that a gang of either width breaks, and gangs that are partly empty.
SHAPES = [(1024, 1, 1), (96, 1, 1), (100, 1, 1), (65, 1, 1), (24, 5, 1), (33, 3, 1), (16, 16, 1), (8, 8, 4), (3, 5, 7)]
TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry rotate(.param .u64 out, .param .u64 in, .param .u32 pitch, .param .u32 limit)
{
    .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<4>;
    .shared .align 4 .b8 tile[4096];
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.param.u32 %r1, [pitch];
    ld.param.u32 %r2, [limit];
    mov.u32 %r3, %tid.x; mov.u32 %r4, %tid.y; mov.u32 %r5, %tid.z;
    mov.u32 %r6, %ntid.x; mov.u32 %r7, %ntid.y; mov.u32 %r17, %ntid.z;
    mad.lo.s32 %r8, %r5, %r7, %r4;
    mad.lo.s32 %r9, %r8, %r6, %r3;       // the thread
    mad.lo.s32 %r10, %r8, %r1, %r3;      // its place, rows a pitch apart
    mul.lo.s32 %r18, %r6, %r7; mul.lo.s32 %r18, %r18, %r17;
    mul.wide.s32 %rd3, %r10, 4;
    add.s64 %rd4, %rd2, %rd3;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r11, 0;
loop:
    ld.global.f32 %f2, [%rd4];
    fma.rn.f32 %f1, %f1, 0f3F000000, %f2;
    shl.b32 %r12, %r9, 2;
    mov.u32 %r13, tile;
    add.s32 %r14, %r13, %r12;
    st.shared.f32 [%r14], %f1;
    bar.sync 0;
    add.s32 %r15, %r9, %r11; add.s32 %r15, %r15, 1;
    rem.u32 %r15, %r15, %r18;
    shl.b32 %r15, %r15, 2;
    add.s32 %r15, %r15, %r13;
    ld.shared.f32 %f1, [%r15];
    bar.sync 0;
    add.s32 %r11, %r11, 1;
    and.b32 %r16, %r9, 3;
    setp.gt.s32 %p2, %r16, 1;
    @%p2 mul.f32 %f1, %f1, 0f3FC00000;
    setp.lt.s32 %p1, %r11, %r2;
    @%p1 bra loop;
    mul.wide.s32 %rd5, %r9, 4;
    add.s64 %rd6, %rd1, %rd5;
    st.global.f32 [%rd6], %f1;
    ret;
}
"""


def rotated(shape: tuple[int, int, int], data: np.ndarray[Any, Any], pitch: int, limit: int) -> np.ndarray[Any, Any]:
    """What the kernel computes: float32 throughout."""
    x, y, z = shape
    threads = np.arange(x * y * z)
    value = np.zeros(x * y * z, np.float32)
    places = threads // x * pitch + threads % x
    for round in range(limit):
        value = (value.astype(np.float64) * 0.5 + data[places]).astype(np.float32)
        value = value[(threads + round + 1) % len(threads)]
        value = np.where(threads % 4 > 1, value * np.float32(1.5), value)
    return value


def entry_of(text: Module, name: str, block: tuple[int, int, int], lanes: int | None) -> CompiledEntry:
    entry = compile_entry(text, name, block, Options(lanes=lanes))
    return CompiledEntry.from_bytes(entry.to_bytes())


@pytest.mark.parametrize("lanes", CHOICES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_block_shape_gives_the_same(shape: tuple[int, int, int], lanes: int | None) -> None:
    text, problems = parse(TEXT)
    assert problems == []
    threads, pitch, limit = shape[0] * shape[1] * shape[2], 40 if shape[0] < 40 else shape[0], 5
    data = np.random.default_rng(3).random(pitch * shape[1] * shape[2], np.float32)
    memory = Memory(1 << 20)
    out, into = memory.allocate("out", 4 * threads), memory.allocate("in", data.nbytes)
    into.view(np.float32)[:] = data
    arguments = [struct.pack("<Q", out.address), struct.pack("<Q", into.address), struct.pack("<i", pitch)]
    outcome = launch(entry_of(text, "rotate", shape, lanes), memory, (1, 1, 1), [*arguments, struct.pack("<i", limit)])
    assert outcome.fault is None
    np.testing.assert_array_equal(out.view(np.float32), rotated(shape, data, pitch, limit))


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("missing", [1, 5, 40, 70])
def test_a_fault_names_its_thread(lanes: int, missing: int) -> None:
    text, _ = parse(TEXT)
    memory = Memory(1 << 20)
    out, into = memory.allocate("out", 4 * 128), memory.allocate("in", 4 * (128 - missing))
    arguments = [struct.pack("<Q", out.address), struct.pack("<Q", into.address), *[struct.pack("<i", 128)] * 2]
    fault = launch(entry_of(text, "rotate", (128, 1, 1), lanes), memory, (1, 1, 1), arguments).fault
    assert fault is not None
    assert (fault.kind, fault.thread, fault.warp, fault.lane) == (
        "out-of-bounds",
        (128 - missing, 0, 0),
        (128 - missing) // 32,
        (128 - missing) % 32,
    )


SAMPLE = [case for case in SOUND if case["name"] in (
    "matmul_tiled16", "matmul_naive_16x16", "collatz", "heat_step", "nbody", "transpose_padded", "copy_float4",
)]  # fmt: skip


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case in SAMPLE else pytest.mark.long, id=case["name"]) for case in SOUND],
)
def test_both_equal_the_gpu(case: dict[str, Any], lanes: int) -> None:
    block = (*case["block"], 1, 1)[:3]
    entry = compile_entry(module(case["file"].removesuffix(".cu")), case["entry"], block, Options(lanes=lanes))
    outcome, outputs = launch_case(case, entry)
    assert outcome.fault is None
    for key, got in outputs.items():
        check_output(case, key, got)


@pytest.mark.parametrize("missing", [1, 30, 70, 118])
def test_a_fault_in_a_row_names_its_thread(missing: int) -> None:
    """Blocks of 24 × 5, whose gangs are rows."""
    text, _ = parse(TEXT)
    memory = Memory(1 << 20)
    out, into = memory.allocate("out", 4 * 120), memory.allocate("in", 4 * (120 - missing))
    pitch, limit = struct.pack("<i", 24), struct.pack("<i", 2)
    arguments = [struct.pack("<Q", out.address), struct.pack("<Q", into.address), pitch, limit]
    fault = launch(entry_of(text, "rotate", (24, 5, 1), None), memory, (1, 1, 1), arguments).fault
    first = 120 - missing
    assert fault is not None
    assert (fault.thread, fault.warp, fault.lane) == ((first % 24, first // 24, 0), first // 32, first % 32)


@pytest.mark.parametrize(
    ("block", "width"),
    [((24, 5, 1), 32), ((33, 3, 1), 64), ((48, 2, 1), 64), ((100, 2, 1), 32), ((20, 20, 1), 32), ((3, 5, 7), None),
     ((16, 16, 1), None), ((32, 8, 1), None), ((100, 1, 1), None), ((65, 2, 1), 32), ((7, 3, 1), None)],
)  # fmt: skip
def test_rows_are_gangs_where_they_fit_no_warp(block: tuple[int, int, int], width: int | None) -> None:
    assert rows_of(block) == width


def test_a_wide_gang_is_half_as_many() -> None:
    text, _ = parse(TEXT)
    lowered = [lower_entry(text, "rotate", (128, 1, 1), lanes=lanes)[1] for lanes in (32, 64, None)]
    assert [item.ir.count("store i32 0, ptr %state.") for item in lowered] == [4, 2, 2]
    assert all(item.whole for item in lowered)
