"""A launch that is set up once and run often does each time what a launch of its own would do."""

from __future__ import annotations

import struct
import threading

import numpy as np
import pytest

from emulator import (
    LaunchError,
    Loaded,
    Memory,
    Options,
    Prepared,
    Team,
    check_arguments,
    compile_entry,
    parse,
    prepare,
)

# Adds `step` to each element below n, faults at n = 0, and goes on for ever where n is negative.
TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 step, .param .s32 n)
{
    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [step]; ld.param.s32 %r2, [n];
    mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x;
    mad.lo.s32 %r5, %r4, 64, %r3;
    setp.eq.s32 %p1, %r2, 0;
    @%p1 trap;
for_ever:
    setp.lt.s32 %p2, %r2, 0;
    @%p2 bra for_ever;
    bar.sync 0;
    setp.ge.s32 %p3, %r5, %r2;
    @%p3 bra out;
    mul.wide.s32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r6, [%rd3];
    add.s32 %r6, %r6, %r1;
    st.global.u32 [%rd3], %r6;
out:
    ret;
}
"""


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    text, problems = parse(TEXT)
    assert problems == []
    return Loaded(compile_entry(text, "add", (64, 1, 1)))


def arguments(address: int, step: int, n: int) -> list[bytes]:
    return [struct.pack("<Q", address), struct.pack("<I", step), struct.pack("<i", n)]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("blocks", [1, 7, 5000])
def test_each_run_has_its_own_arguments(loaded: Loaded, threads: int, blocks: int) -> None:
    memory, n = Memory(4 << 20), 64 * blocks - 5
    data = memory.allocate("data", 4 * n)
    other = memory.allocate("other", 4 * n)
    with Team() as team:
        prepared = prepare(loaded, memory, (blocks, 1, 1), team, threads=threads)
        for step in range(1, 6):
            for buffer in (data, other):
                assert prepared.fresh
                assert prepared.run(arguments(buffer.address, step, n), 10).fault is None
        assert prepared.run(arguments(other.address, 1, n - 1), 10).fault is None
    assert (data.view(np.int32) == 15).all()
    assert (other.view(np.int32)[:-1] == 16).all() and other.view(np.int32)[-1] == 15


def test_a_fault_leaves_nothing_behind(loaded: Loaded) -> None:
    """Of the next run that goes well; nor does an end by the clock."""
    memory = Memory(1 << 20)
    data = memory.allocate("data", 4 * 64)
    with Team() as team:
        prepared = prepare(loaded, memory, (1, 1, 1), team)
        kinds = []
        for n, deadline in [(64, 10.0), (0, 10.0), (64, 10.0), (-1, 0.05), (64, 10.0), (65, 10.0)]:
            fault = prepared.run(arguments(data.address, 1, n), deadline).fault
            kinds.append(fault.kind if fault else None)
    assert kinds == [None, "trap", None, "timeout", None, None]
    assert (data.view(np.int32) == 4).all()


def test_a_buffer_that_came_since_asks_for_another(loaded: Loaded) -> None:
    """The table of allocations is the launch's own."""
    memory = Memory(1 << 20)
    data = memory.allocate("data", 4 * 64)
    with Team() as team:
        prepared: Prepared = prepare(loaded, memory, (1, 1, 1), team)
        prepared.run(arguments(data.address, 1, 64), 10)
        assert prepared.fresh
        memory.allocate("later", 4 * 64)
        assert not prepared.fresh


def test_instruments_start_anew() -> None:
    """What they count and know is of one launch."""
    text, _ = parse(TEXT)
    counting = Loaded(compile_entry(text, "add", (64, 1, 1), Options(instruments=("counters",))))
    memory = Memory(1 << 20)
    data = memory.allocate("data", 4 * 64)
    with Team() as team:
        prepared = prepare(counting, memory, (1, 1, 1), team)
        assert prepared.fresh
        assert prepared.run(arguments(data.address, 1, 64), 10).counters["thread_instructions"] > 64
        assert not prepared.fresh


def test_a_closed_team_has_no_threads(loaded: Loaded) -> None:
    before = threading.active_count()
    memory = Memory(1 << 20)
    data = memory.allocate("data", 4 * 640)
    with Team() as team:
        prepare(loaded, memory, (10, 1, 1), team, threads=4).run(arguments(data.address, 1, 640), 10)
        assert threading.active_count() == before + 4
    assert threading.active_count() == before


def test_what_a_member_raises_arrives() -> None:
    def fails() -> None:
        raise ValueError("of the second")

    with Team() as team:
        with pytest.raises(ValueError, match="of the second"):
            team.run([lambda: None, fails], [])
        team.run([lambda: None], [])


def test_alarms_ring_once_and_only_while_calls_run() -> None:
    rang, begin = threading.Event(), [0]

    def ring() -> None:
        begin[0] += 1
        rang.set()

    with Team() as team:
        team.run([lambda: rang.wait(10)], [(0.0, ring)])
        team.run([lambda: None], [(1e12, ring)])
    assert begin == [1]


def test_arguments_are_checked(loaded: Loaded) -> None:
    with pytest.raises(LaunchError, match="3 parameters, 1 were given"):
        check_arguments(loaded.entry, [bytes(8)])
    with pytest.raises(LaunchError, match="parameter 'step' has 4 bytes, 8 were given"):
        check_arguments(loaded.entry, [bytes(8), bytes(8), bytes(4)])
