"""Which registers may hold NaNs of the host's choice."""

from __future__ import annotations

import pytest

from emulator import compile_entry, parse
from emulator.lowering.nans import raw_registers
from emulator.syntax import Instruction

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
REGISTERS = ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %q<9>; .reg .pred %p;\n"

CASES = [
    ("add.f32 %f1, %f2, %f3;", {"%f1"}),
    ("add.f32 %f1, %f2, %f3; mov.f32 %f4, %f1; mov.b32 %r1, %f4;", {"%f1", "%f4", "%r1"}),
    ("mov.f32 %f1, 0f00000000; mul.f32 %f1, %f1, %f2;", {"%f1"}),
    ("add.f32 %f1, %f2, %f3; mov.f32 %f1, 0f7FC00001;", set()),
    ("add.f32 %f1, %f2, %f3; ld.global.f32 %f1, [%q1];", set()),
    ("add.f32 %f1, %f2, %f3; selp.f32 %f4, %f1, 0f3F800000, %p;", {"%f1", "%f4"}),
    # A register of constants alone has no NaNs: 127 − tid.x keeps its lane pattern.
    ("mov.u32 %r1, 127; sub.s32 %r2, %r1, %r3;", set()),
    ("mov.u32 %r1, 127; mov.u32 %r2, %r1; selp.b32 %r3, %r1, %r2, %p;", set()),
]


@pytest.mark.parametrize(("body", "raw"), CASES, ids=[body for body, _ in CASES])
def test_raw_registers_are_those_of_arithmetic(body: str, raw: set[str]) -> None:
    module, problems = parse(HEAD + REGISTERS + body + "\nret; }")
    assert problems == []
    assert raw_registers(item for item in module.functions["k"].body or () if isinstance(item, Instruction)) == raw


def test_an_index_from_the_end_stays_symbolic() -> None:
    """What the analysis keeps symbolic the lowering does too, also behind a constant in a register."""
    module, _ = parse(
        HEAD + REGISTERS + ".shared .align 4 .b8 tile[512]; mov.u32 %r1, %tid.x; mov.u32 %r2, 127;\n"
        "sub.s32 %r3, %r2, %r1; mul.wide.u32 %q1, %r3, 4; mov.u64 %q2, tile; add.s64 %q3, %q2, %q1;\n"
        "bar.sync 0; st.shared.u32 [%q3], %r1; bar.sync 0; ld.shared.u32 %r4, [%q3];\n"
        "ld.param.u64 %q4, [p]; st.global.u32 [%q4], %r4; ret; }"
    )
    assert compile_entry(module, "k", (128, 1, 1)).to_bytes()
