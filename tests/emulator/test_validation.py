"""What a PTX text may say that cannot run becomes problems that name the instruction; nothing else is raised."""

from __future__ import annotations

import random
import re

import pytest
from launching import DATA

from emulator import CompileProblems, parse
from emulator.runtime.compile import lower_entry

TEXT = """.version 8.0
.target sm_90
.address_size 64
.global .u32 counter;
.visible .entry k(.param .u64 p)
{{
    .reg .pred %p<3>; .reg .b16 %rs<3>; .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %rd<5>; .reg .f64 %fd<3>;
    {code}
    ret;
}}
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("frobnicate.u32 %r1, %r2;", "frobnicate"),
        ("add.rn.s32 %r1, %r2, %r3;", "add.rn.s32 is not supported"),
        ("add.s32 %r1, %r2;", "add.s32 is not supported"),
        ("add.s32 %r1, %r2, %r9;", "%r9 is not declared"),
        ("add.s32 %r1, %r2, %rd1;", "64 bits where .s32"),
        ("add.s32 %p1, %r2, %r3;", "1 bits where .s32"),
        ("add.s32 5, %r2, %r3;", "a result needs a register"),
        ("mov.u32 %tid.x, 5;", "a result needs a register"),
        ("add.s32 %r1, [%rd1], 4;", "address"),
        ("@%r1 mov.u32 %r1, 5;", "no predicate"),
        ("ld.global.u32 %r1, %rd1;", "address in brackets"),
        ("ld.global.u32 %r1, [nothing];", "'nothing' is not defined"),
        ("ld.global.v2.u32 %r1, [%rd1];", "needs 2 destinations"),
        ("ld.global.u64 %r1, [%rd1];", "32 bits where .u64"),
        ("ld.param.u64 %rd1, [p+4];", "beyond the parameter"),
        ("st.global.u32 [%f1+0], %rs1;", "16 bits where .u32"),
        ("bra nowhere;", "'nowhere' is not defined"),
        ("brx.idx %r1, nothing;", "list of targets"),
        ("bar.sync;", "number of operands"),
        ("mov.u64 %rd1, missing;", "'missing' is not defined"),
        ("call missing;", "not defined in this module"),
        ("tex.2d.v4.f32.f32 {%f1, %f2, %f1, %f2}, [t, {%f1, %f2}];", "tex"),
    ],
)
def test_problems_name_what_is_wrong(code: str, message: str) -> None:
    module, problems = parse(TEXT.format(code=code))
    assert problems == []
    with pytest.raises(CompileProblems) as caught:
        lower_entry(module, "k", (32, 1, 1))
    (problem,) = caught.value.problems
    assert message in problem.message
    assert problem.ptx_line == 8


def test_all_problems_are_reported_at_once() -> None:
    module, _ = parse(TEXT.format(code="one.u32 %r1;\ntwo.u32 %r1;\nadd.s32 %r1, %r2, %r3;\nthree.u32 %r1;"))
    with pytest.raises(CompileProblems) as caught:
        lower_entry(module, "k", (32, 1, 1))
    assert [problem.form for problem in caught.value.problems] == ["one.u32", "two.u32", "three.u32"]


@pytest.mark.parametrize("block", [(0, 1, 1), (1025, 1, 1), (32, 32, 2)])
def test_block_shapes(block: tuple[int, int, int]) -> None:
    with pytest.raises(CompileProblems, match="threads"):
        lower_entry(parse(TEXT.format(code=""))[0], "k", block)


def test_an_unknown_entry() -> None:
    with pytest.raises(CompileProblems, match="no entry 'other'"):
        lower_entry(parse(TEXT.format(code=""))[0], "other", (32, 1, 1))


SOURCE = (DATA / "ptx" / "features_sm_90.ptx").read_text()
HEAD, *ENTRIES = re.split(r"(?=\.visible \.entry)", SOURCE)
# A body without instructions between its braces has nothing to damage.
ENTRIES = [entry for entry in ENTRIES if re.search(r"^\s+[@a-z].*;$", entry, re.MULTILINE)]
LINES = [line.strip() for entry in ENTRIES for line in entry.splitlines() if re.match(r"\s+[a-z].*;$", line)]


def damaged(generator: random.Random, text: str) -> str:
    """The text with one instruction replaced, dropped, or given other registers or numbers."""
    lines = text.splitlines()
    at = generator.choice([i for i, line in enumerate(lines) if re.match(r"\s+[@a-z].*;$", line)] or [1])
    registers = re.findall(r"%\w+", text) or ["%r1"]
    change = generator.randrange(4)
    if change == 0:
        lines[at] = generator.choice(LINES)
    elif change == 1:
        lines[at] = ""
    elif change == 2:
        lines[at] = re.sub(r"%\w+", lambda _: generator.choice(registers), lines[at])
    else:
        numbers = ["0", "-1", "2147483648", "99999999999999999999"]
        lines[at] = re.sub(r"\b\d+\b", lambda _: generator.choice(numbers), lines[at])
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(60))
def test_damaged_kernels_compile_or_are_refused(seed: int) -> None:
    generator = random.Random(seed)
    text = HEAD + damaged(generator, damaged(generator, generator.choice(ENTRIES)))
    module, _ = parse(text)
    for name in module.entries:
        try:
            lower_entry(module, name, (64, 1, 1))
        except CompileProblems as refused:
            assert refused.problems
