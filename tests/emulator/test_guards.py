"""A guard that its own instruction writes is what it was before, for every destination."""

from __future__ import annotations

import numpy as np
import pytest
from launching import run

from emulator import compile_entry, parse

TEXT = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p<4>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
    and.b32 %r2, %r1, 1; setp.ne.u32 %p1, %r2, 0;
    setp.ne.u32 %p2, %r2, %r2;
    CODE
    selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; add.u32 %r3, %r3, %r4;
    st.global.u32 [%rd1], %r3;
    ret;
}
"""


@pytest.mark.parametrize(
    ("code", "odd", "even"),
    [
        ("@%p1 setp.lt.u32 %p1|%p2, %r1, 0;", 2, 0),
        ("@!%p1 setp.ge.u32 %p1|%p2, %r1, 0;", 1, 1),
        ("@%p1 setp.lt.and.u32 %p2|%p1, %r1, 0, %p1;", 1, 0),
        ("@%p1 shfl.sync.idx.b32 %r1|%p1, %r1, 40, 0x1f, 0xaaaaaaaa;", 1, 0),
    ],
)
def test_all_destinations_see_the_guard_as_it_was(code: str, odd: int, even: int) -> None:
    module, problems = parse(TEXT.replace("CODE", code))
    assert problems == []
    result = run(compile_entry(module, "k", (32, 1, 1)), np.zeros(32, np.uint32))
    assert result.outcome.fault is None
    assert result.arrays[0].tolist() == [odd if lane % 2 else even for lane in range(32)]
