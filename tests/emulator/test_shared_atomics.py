"""Atomics on words of shared memory whose addresses are data, with all lanes and with some: reference in Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from launching import run

from emulator import compile_entry, parse

BINS = 48
TEXT = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 keys, .param .u64 out)
{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    .shared .align 4 .b8 bins[192];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; mov.u64 %rd5, bins; add.s64 %rd6, %rd5, %rd2;
    setp.ge.u32 %p1, %r1, 48;
    @%p1 bra CLEARED;
    mov.u32 %r4, 100; st.shared.u32 [%rd6], %r4;
CLEARED:
    bar.sync 0;
    ld.param.u64 %rd1, [keys]; add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r2, [%rd1];
    and.b32 %r3, %r2, 0xff; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd3, %rd5, %rd3;
    setp.ge.u32 %p2, %r2, 256;
    @%p2 bra DONE;
    ATOMIC;
DONE:
    bar.sync 0;
    @%p1 bra END;
    ld.shared.u32 %r5, [%rd6]; ld.param.u64 %rd4, [out]; add.s64 %rd4, %rd4, %rd2; st.global.u32 [%rd4], %r5;
END:
    ret;
}
"""
Update = Callable[[int], int]
UPDATES: dict[str, Update] = {
    "red.shared.add.u32 [%rd3], 7": lambda old: (old + 7) & 0xFFFFFFFF,
    "red.shared.add.u32 [%rd3], -101": lambda old: (old - 101) & 0xFFFFFFFF,
    "atom.shared.add.u32 %r6, [%rd3], 1": lambda old: old + 1,
    "red.shared.xor.b32 [%rd3], 0x55": lambda old: old ^ 0x55,
    "red.shared.or.b32 [%rd3], 3": lambda old: old | 3,
    "red.shared.and.b32 [%rd3], 0x64": lambda old: old & 0x64,
    "red.shared.max.s32 [%rd3], 101": lambda old: max(old, 101),
    "red.shared.min.u32 [%rd3], 99": lambda old: min(old, 99),
    "red.shared.inc.u32 [%rd3], 102": lambda old: 0 if old >= 102 else old + 1,
    "red.shared.dec.u32 [%rd3], 98": lambda old: 98 if old == 0 or old > 98 else old - 1,
    "atom.shared.exch.b32 %r6, [%rd3], 5": lambda old: 5,
}
ACTIVE = {
    "all": lambda lane: True,
    "odd": lambda lane: lane % 2 == 1,
    "one": lambda lane: lane == 9,
    "none": lambda lane: False,
}


@pytest.mark.parametrize("active", ACTIVE)
@pytest.mark.parametrize("atomic", UPDATES)
def test_every_active_lane_counts_once(atomic: str, active: str) -> None:
    keys = np.random.default_rng(3).integers(0, BINS, 64).astype(np.uint32)
    keys += np.uint32(256) * ~np.array([ACTIVE[active](lane) for lane in range(64)])
    module, problems = parse(TEXT.replace("ATOMIC", atomic))
    assert problems == []
    expected = [100] * BINS
    for key in keys[keys < 256]:
        expected[key] = UPDATES[atomic](expected[key])
    result = run(compile_entry(module, "k", (64, 1, 1)), keys, np.zeros(BINS, np.uint32))
    assert result.outcome.fault is None
    assert result.arrays[1].tolist() == expected


@pytest.mark.parametrize("lane", [0, 17, 31])
def test_the_lane_that_leaves_shared_memory_is_named(lane: int) -> None:
    keys = np.arange(32, dtype=np.uint32)
    keys[lane] = BINS
    module, problems = parse(TEXT.replace("ATOMIC", "red.shared.add.u32 [%rd3], 7"))
    assert problems == []
    fault = run(compile_entry(module, "k", (32, 1, 1)), keys, np.zeros(BINS, np.uint32)).outcome.fault
    assert fault is not None
    assert (fault.kind, fault.space, fault.lane) == ("out-of-bounds", "shared", lane)
