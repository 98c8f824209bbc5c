"""Every access is bounded to the byte, in every way that addresses of a gang can lie; faults say where and what."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from launching import compiled, int32, run

from emulator import CompiledEntry, LaunchError, Memory, OutOfMemory, compile_entry, launch, parse

# (name, PTX that makes %rd9, the byte offset of a lane, from %r1 = tid.x; the offset of the last lane, in accesses)
PATTERNS = {
    "contiguous": ("mul.wide.u32 %rd9, %r1, {size};", 31),
    "strided": ("mul.wide.u32 %rd9, %r1, {size}*3;", 93),
    "wide strides": ("mul.wide.u32 %rd9, %r1, {size}*1000;", 31000),
    "reversed": ("sub.u32 %r2, 31, %r1; mul.wide.u32 %rd9, %r2, {size};", 31),
    "one address": ("mov.u64 %rd9, {size}*5;", 5),
    "scattered": (
        "mul.lo.u32 %r2, %r1, 7; and.b32 %r2, %r2, 31; xor.b32 %r2, %r2, %r3; mul.wide.u32 %rd9, %r2, {size};",
        31,
    ),
    "run-time stride": ("mul.lo.u32 %r2, %r1, %r4; mul.wide.u32 %rd9, %r2, {size};", 62),
}
TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry touch(.param .u64 p, .param .u32 zero, .param .u32 two)
{{
    .reg .pred %p<2>; .reg .b16 %rs<5>; .reg .b32 %r<9>; .reg .b64 %rd<16>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r3, [zero];
    ld.param.u32 %r4, [two];
    mov.u32 %r1, %tid.x;
    {pattern}
    add.s64 %rd2, %rd1, %rd9;
    {access}
    ret;
}}
"""
ACCESSES = {
    ("ld", 1): "ld.global.u8 %rs1, [%rd2];",
    ("ld", 2): "ld.global.u16 %rs1, [%rd2];",
    ("ld", 4): "ld.global.u32 %r5, [%rd2];",
    ("ld", 8): "ld.global.u64 %rd3, [%rd2];",
    ("ld", 16): "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2];",
    ("st", 1): "st.global.u8 [%rd2], %rs1;",
    ("st", 4): "st.global.u32 [%rd2], %r1;",
    ("st", 8): "st.global.v2.u32 [%rd2], {%r1, %r1};",
    ("st", 16): "st.global.v2.u64 [%rd2], {%rd1, %rd1};",
    ("red", 4): "red.global.add.u32 [%rd2], %r1;",
    ("generic", 4): "ld.u32 %r5, [%rd2];",
}


def entry_of(pattern: str, access: str, size: int) -> CompiledEntry:
    # PTX has no constant expressions in operands: they are computed here.
    code = PATTERNS[pattern][0].replace("{size}*1000", str(size * 1000)).replace("{size}*5", str(size * 5))
    code = code.replace("{size}*3", str(size * 3)).replace("{size}", str(size))
    module, problems = parse(TEXT.format(pattern=code, access=access))
    assert problems == []
    return compile_entry(module, "touch", (32, 1, 1))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("operation", "size"), ACCESSES)
def test_bounds_are_exact(operation: str, size: int, pattern: str) -> None:
    """The last byte is reachable; one byte less, or one access to the left, is a fault that names it."""
    entry = entry_of(pattern, ACCESSES[operation, size], size)
    need = (PATTERNS[pattern][1] + 1) * size
    last = PATTERNS[pattern][1] * size
    for nbytes, shift, fault in ((need, 0, False), (need - 1, 0, True), (need, size, True)):
        memory = Memory(8 << 20)
        memory.allocate("left", 4096)
        buffer = memory.allocate("middle", nbytes)
        memory.allocate("right", 4096)
        arguments = [struct.pack("<Q", buffer.address + shift), int32(0), int32(2)]
        outcome = launch(entry, memory, (1, 1, 1), arguments, threads=1)
        if not fault:
            assert outcome.fault is None
            continue
        assert outcome.fault is not None
        assert outcome.fault.kind == "out-of-bounds"
        assert outcome.fault.address == buffer.address + last + shift
        assert outcome.fault.buffer is not None and outcome.fault.buffer.name == "middle"
        assert outcome.fault.buffer.offset == last + shift
        assert outcome.fault.size == size


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_every_access_is_aligned(size: int) -> None:
    entry = entry_of("contiguous", ACCESSES["ld", size], size)
    memory = Memory(1 << 20)
    buffer = memory.allocate("x", 4096)
    for shift in range(1, size):
        arguments = [struct.pack("<Q", buffer.address + shift), int32(0), int32(2)]
        fault = launch(entry, memory, (1, 1, 1), arguments, threads=1).fault
        assert fault is not None and fault.kind == "misaligned"
        assert fault.lane == 0


def test_a_wrapping_index_is_not_contiguous() -> None:
    """tid.x + 2³¹ − 8 wraps in the middle of the gang: its sign extension is far on both sides."""
    text = TEXT.format(
        pattern="add.s32 %r2, %r1, 2147483640; mul.wide.s32 %rd9, %r2, 4;", access="ld.global.u32 %r5, [%rd2];"
    )
    entry = compile_entry(parse(text)[0], "touch", (32, 1, 1))
    memory = Memory(1 << 20)
    buffer = memory.allocate("x", 4096)
    # The address of lane 0 is in the buffer, that of lane 8 is 16 GiB below.
    shifted = (buffer.address - 4 * 2147483640) & ((1 << 64) - 1)
    fault = launch(entry, memory, (1, 1, 1), [struct.pack("<Q", shifted), int32(0), int32(2)], threads=1).fault
    assert fault is not None and fault.kind == "out-of-bounds" and fault.lane == 8


def test_inactive_lanes_touch_nothing() -> None:
    """A guard keeps lanes from what lies behind the buffer; the others' values arrive."""
    text = TEXT.format(
        pattern="mul.wide.u32 %rd9, %r1, 4; setp.lt.u32 %p1, %r1, 5;", access="@%p1 st.global.u32 [%rd2], %r1;"
    )
    entry = compile_entry(parse(text)[0], "touch", (32, 1, 1))
    result = run(entry, np.full(5, 9, np.int32), int32(0), int32(2))
    assert result.outcome.fault is None
    np.testing.assert_array_equal(result.arrays[0], np.arange(5))


def test_an_endless_kernel_ends_at_its_deadline() -> None:
    result = run(compiled("features_sm_90", "forever", (32, 1, 1)), np.zeros(1, np.int32), grid=(4, 1, 1), deadline=0.2)
    assert result.outcome.fault is not None and result.outcome.fault.kind == "timeout"
    assert result.outcome.seconds < 1.0


def test_a_failed_assertion() -> None:
    fault = run(compiled("features_sm_90", "as", (32, 1, 1)), int32(5)).outcome.fault
    assert fault is not None
    assert (fault.kind, fault.thread) == ("assert", (5, 0, 0))
    assert "(int)threadIdx.x < n" in fault.message


def test_endless_recursion_overflows_the_stack() -> None:
    fault = run(compiled("bugs", "stack_overflow", (32, 1, 1)), int32(10_000), np.zeros(64, np.int32)).outcome.fault
    assert fault is not None
    assert (fault.kind, fault.space) == ("stack-overflow", "local")
    assert fault.source is not None and fault.source.line == 100


def test_beyond_a_heap_allocation() -> None:
    fault = run(compiled("features_sm_90", "mal_oob", (64, 1, 1)), np.zeros(64, np.int32)).outcome.fault
    assert fault is not None and fault.buffer is not None
    assert (fault.kind, fault.buffer.name, fault.buffer.offset) == ("out-of-bounds", "malloc #1", 16)


@pytest.mark.parametrize(
    ("grid", "arguments", "shared", "message"),
    [
        ((0, 1, 1), [int32(5)], 0, "grid"),
        ((1, 65536, 1), [int32(5)], 0, "grid"),
        ((1, 1, 1), [], 0, "1 parameters, 0 were given"),
        ((1, 1, 1), [bytes(8)], 0, "4 bytes, 8 were given"),
        ((1, 1, 1), [int32(5)], 1 << 20, "shared"),
    ],
)
def test_malformed_launches(grid: tuple[int, int, int], arguments: list[bytes], shared: int, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        launch(compiled("features_sm_90", "as", (32, 1, 1)), Memory(1 << 20), grid, arguments, shared)


def test_the_memory_limit() -> None:
    memory = Memory(1 << 20)
    memory.allocate("half", 1 << 19)
    with pytest.raises(OutOfMemory, match="'more' needs"):
        memory.allocate("more", 1 << 19)


def test_fill_of_uninitialised_buffers() -> None:
    buffer = Memory(1 << 20).allocate("x", 10, fill=b"\xff\xfe")
    assert bytes(buffer.bytes_view()) == b"\xff\xfe" * 5
