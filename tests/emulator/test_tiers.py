"""Quick code computes what good code does, and a launch goes from one to the other in its middle."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

import numpy as np
import pytest
from launching import module
from test_truth import SOUND, check_output, launch_case

from emulator import CompiledEntry, Loaded, Memory, Options, Outcome, compile_entry, launch, parse
from emulator.runtime import compile as compiling
from emulator.runtime.compile import lower_entry
from emulator.runtime.jit import to_quick_object

# Each thread writes the code's own number before and behind a barrier; the first thread of all prints between them.
TEXT = """
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 said[4] = {{104, 105, 10, 0}};
.visible .entry number(.param .u64 out)
{{
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 64, %r1;
    mul.wide.s32 %rd2, %r3, 8;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r4, {number};
    st.global.u32 [%rd3], %r4;
    setp.ne.s32 %p1, %r3, 0;
    @%p1 bra past;
    mov.u64 %rd4, said;
    mov.u64 %rd5, 0;
    {{
        .param .b64 format; .param .b64 arguments; .param .b32 result;
        st.param.b64 [format], %rd4;
        st.param.b64 [arguments], %rd5;
        call.uni (result), vprintf, (format, arguments);
    }}
past:
    {barrier}
    mov.u32 %r5, {number};
    st.global.u32 [%rd3+4], %r5;
    ret;
}}
"""
BLOCK = (64, 1, 1)


def numbered(number: int, barrier: str, instruments: tuple[str, ...]) -> tuple[CompiledEntry, bytes]:
    """Quick code of the kernel, and its bitcode."""
    text, problems = parse(TEXT.format(number=number, barrier=barrier))
    assert problems == []
    entry = compile_entry(text, "number", BLOCK, Options(fast=True, instruments=instruments))
    return entry, to_quick_object(lower_entry(text, "number", BLOCK, instruments)[1].ir)[1]


# Instruments keep a block from being run in one call, so that its gangs come back from each barrier.
@pytest.mark.parametrize(
    ("barrier", "instruments", "first_block"),
    [("", (), [[1, 1]] * 64), ("bar.sync 0;", ("counters",), [[1, 2]] * 64)],
    ids=["block", "barrier"],
)
def test_a_launch_goes_on_with_better_code(
    barrier: str, instruments: tuple[str, ...], first_block: list[list[int]]
) -> None:
    """The better code is one that writes 2, so that the result tells which code ran what."""
    entry, _ = numbered(1, barrier, instruments)
    loaded = Loaded(dataclasses.replace(entry, better=numbered(2, barrier, instruments)[1]), hot_seconds=60)
    memory, blocks = Memory(1 << 20), 5
    out = memory.allocate("out", 8 * 64 * blocks)
    assert loaded.tier == 0

    def switch(text: str) -> None:
        loaded.improve()
        loaded.wait()

    outcome = launch(
        loaded.entry,
        memory,
        (blocks, 1, 1),
        [struct.pack("<Q", out.address)],
        threads=1,
        on_print=switch,
        loaded=loaded,
    )
    assert outcome.fault is None
    assert loaded.tier == 1
    pairs = out.view(np.int32).reshape(blocks, 64, 2)
    # Of the gangs of the first block the other one may begin behind the switch.
    assert pairs[0, :32].tolist() == first_block[:32]
    assert (pairs[1:] == 2).all()


def test_what_lasts_becomes_hot_by_itself() -> None:
    entry, bitcode = numbered(1, "", ())
    loaded = Loaded(dataclasses.replace(entry, better=bitcode), hot_seconds=0)
    memory = Memory(1 << 20)
    out = memory.allocate("out", 8 * 64)
    for _ in range(2):
        launch(loaded.entry, memory, (1, 1, 1), [struct.pack("<Q", out.address)], loaded=loaded)
    loaded.wait()
    assert loaded.tier == 1


def test_what_is_short_stays_as_it_is() -> None:
    entry, bitcode = numbered(1, "", ())
    loaded = Loaded(dataclasses.replace(entry, better=bitcode), hot_seconds=60)
    memory = Memory(1 << 20)
    out = memory.allocate("out", 8 * 64)
    launch(loaded.entry, memory, (1, 1, 1), [struct.pack("<Q", out.address)], loaded=loaded)
    assert loaded.tier == 0
    assert loaded.patience is not None and 0 < loaded.patience < 60


@pytest.mark.parametrize(
    ("quick_above", "kept_above", "better"),
    [(60.0, 10**9, False), (0.0, 10**9, True), (0.0, 0, False)],
    ids=["small", "large", "huge"],
)
def test_the_size_decides(monkeypatch: pytest.MonkeyPatch, quick_above: float, kept_above: int, better: bool) -> None:
    monkeypatch.setattr(compiling, "QUICK_ABOVE_SECONDS", quick_above)
    monkeypatch.setattr(compiling, "KEPT_ABOVE", kept_above)
    text, _ = parse(TEXT.format(number=1, barrier=""))
    entry = compile_entry(text, "number", BLOCK)
    again = CompiledEntry.from_bytes(entry.to_bytes())
    assert again == entry
    assert bool(entry.better) == better


def launched(case: dict[str, Any], loaded: Loaded) -> Outcome:
    outcome, outputs = launch_case(case, loaded=loaded)
    for key, got in outputs.items():
        check_output(case, key, got)
    return outcome


SAMPLE = ["matmul_tiled16", "collatz", "recursive_tree", "warp_misc", "half2_axpy", "atomics_all", "wmma_16x16"]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case["name"] in SAMPLE else pytest.mark.long, id=case["name"]) for case in SOUND],
)
def test_both_codes_equal_the_gpu(case: dict[str, Any]) -> None:
    """Quick code, then a launch that the good code overtakes, then good code alone."""
    text, block = module(case["file"].removesuffix(".cu")), (*case["block"], 1, 1)[:3]
    _, lowered, _ = lower_entry(text, case["entry"], block)
    quick = compile_entry(text, case["entry"], block, Options(fast=True))
    loaded = Loaded(dataclasses.replace(quick, better=to_quick_object(lowered.ir)[1]), hot_seconds=60)
    assert launched(case, loaded).fault is None
    loaded.improve()
    assert launched(case, loaded).fault is None
    loaded.wait()
    assert loaded.tier == 1
    assert launched(case, loaded).fault is None
