"""Memory that threads take from their stacks, as nvcc's alloca and as that of the header for NVRTC."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from launching import DATA, compiled, run
from progress_inputs import IN, wrap

from emulator import compile_entry, parse


def _sort(t: int) -> int:
    count = int(IN[t]) & 31
    hash = 0
    for value in sorted(int(IN[(t + i) & 255]) for i in range(count)):
        hash = wrap(hash * 31 + value)
    return hash


def _digits(value: int, base: int) -> int:
    digits = []
    while value:
        digits.append(value % base)
        value //= base
    total = 0
    for digit in digits:
        total = wrap(total * 3 + digit)
    return total


def _calls(t: int) -> int:
    return wrap(sum(_digits(int(IN[(t + i) & 255]) & 0xFFFFFFFF, 2 + (t & 7)) for i in range(512)))


def _partitions(left: int, most: int, before: int) -> int:
    if left == 0:
        return before
    total = 0
    for part in range(1, min(most, left) + 1):
        mine = before + part * left
        total = wrap(total + _partitions(left - part, part, mine ^ 1 if part == 1 else mine))
    return total


def _recursion(t: int) -> int:
    return _partitions(t % 7, t % 5 + 1, int(IN[t]) & 15)


@pytest.mark.parametrize("module", ["stack", "stack_nvcc"])
@pytest.mark.parametrize(("entry", "reference"), [("sort", _sort), ("calls", _calls), ("recursion", _recursion)])
def test_computes(module: str, entry: str, reference: Callable[[int], int]) -> None:
    result = run(compiled(module, f"stack_{entry}", (32, 1, 1)), np.zeros(32, np.int32), IN)
    assert result.outcome.fault is None
    assert result.arrays[0].tolist() == [reference(t) for t in range(32)]


def test_an_allocation_beyond_the_stack_names_its_line_and_the_limit() -> None:
    """The fifth round: four times 3,360 bytes and 3,348 are too many, 3,232 and 3,224 are not."""
    fault = run(compiled("stack", "stack_overflow", (32, 1, 1)), np.zeros(32, np.int32), IN * 0 + 31).outcome.fault
    assert fault is not None and fault.source is not None
    assert (fault.kind, fault.form, fault.thread) == ("stack-overflow", "alloca", (27, 0, 0))
    assert "16384 bytes of a thread's stack" in fault.message
    caller = fault.source.inlined_at
    assert caller is not None
    line = (DATA / "ptx" / "stack.cu").read_text().splitlines()[caller.line - 1]
    assert "alloca(T * in[0] * sizeof(int))" in line


@pytest.mark.parametrize("module", ["stack", "stack_nvcc"])
def test_an_access_beyond_what_was_given_is_found(module: str) -> None:
    """Lane i has i + 4 words, in steps of 16 bytes, and writes word 3, or 15."""
    given = np.zeros(64, np.int32)
    assert run(compiled(module, "stack_beyond", (32, 1, 1)), given, given + 3).outcome.fault is None
    fault = run(compiled(module, "stack_beyond", (32, 1, 1)), given, given + 15).outcome.fault
    assert fault is not None
    assert (fault.kind, fault.thread) == ("beyond-stack", (0, 0, 0))
    assert (fault.form or "").startswith("st.local")


GUARDED = """
.version 7.3
.target sm_52
.address_size 64
.visible .entry guarded(.param .u64 out)
{
    .reg .b64 %d<9>;
    .reg .b32 %r<12>;
    .reg .pred %p<4>;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.s64 %d1, %d1, %d2;
    and.b32 %r2, %r1, 1;
    setp.ne.u32 %p1, %r2, 0;
    stacksave.u32 %r3;
    mov.u32 %r6, 0;
    @%p1 alloca.u32 %r4, %r1, 16;
    stacksave.u32 %r5;
    sub.u32 %r6, %r5, %r3;
    setp.ne.u32 %p2, %r6, 0;
    selp.u32 %r7, 1, 0, %p2;
    @%p1 stackrestore.u32 %r3;
    stacksave.u32 %r8;
    setp.ne.u32 %p3, %r8, %r3;
    @%p3 add.u32 %r7, %r7, 2;
    st.global.u32 [%d1], %r7;
    ret;
}
"""


def test_a_guarded_alloca_moves_the_stack_of_its_lanes_alone() -> None:
    """On an H200 it moved that of even lanes too: ptxas 13.0 does not heed the guard."""
    module, problems = parse(GUARDED)
    assert problems == []
    result = run(compile_entry(module, "guarded", (32, 1, 1)), np.zeros(32, np.uint32))
    assert result.outcome.fault is None
    assert result.arrays[0].tolist() == [lane % 2 for lane in range(32)]
