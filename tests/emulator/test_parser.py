"""The parser reads every dialect and never raises; what it cannot read is a problem with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import DATA

from emulator.syntax import parse
from emulator.syntax.nodes import (
    AddressOperand,
    Guard,
    ImmediateOperand,
    Instruction,
    Label,
    PairOperand,
    RegisterOperand,
    SourceLocation,
    SymbolOperand,
    VectorOperand,
)

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
FILES = sorted((DATA / "ptx").glob("*.ptx"))
R = RegisterOperand


def instruction(text: str, registers: str = "") -> Instruction:
    """The first instruction of a body with the registers declared."""
    body = f"{HEAD}.visible .entry k()\n{{\n{registers}\n{text}\n}}\n"
    module, problems = parse(body)
    assert problems == []
    found = module.functions["k"].body
    assert found is not None
    return next(item for item in found if isinstance(item, Instruction))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_modules(path: Path) -> None:
    text = path.read_text()
    module, problems = parse(text)
    assert problems == []
    assert len(module.entries) == len(re.findall(r"^\.visible \.entry", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("text", "form", "operands"),
    [
        ("add.s32 %r1, %r2, -3;", "add.s32", (R("%r1"), R("%r2"), ImmediateOperand(-3))),
        ("mov.u32 %r1, 0xFFFFFFFF;", "mov.u32", (R("%r1"), ImmediateOperand(0xFFFFFFFF))),
        ("mov.u32 %r1, 0777;", "mov.u32", (R("%r1"), ImmediateOperand(0o777))),
        ("mov.u32 %r1, 12U;", "mov.u32", (R("%r1"), ImmediateOperand(12))),
        ("mov.f32 %f1, 0f3F800000;", "mov.f32", (R("%f1"), ImmediateOperand(0x3F800000, 32))),
        ("mov.f32 %f1, -0f3F800000;", "mov.f32", (R("%f1"), ImmediateOperand(0xBF800000, 32))),
        ("mov.f64 %fd1, 0d3FF0000000000000;", "mov.f64", (R("%fd1"), ImmediateOperand(0x3FF0000000000000, 64))),
        ("mov.u32 %r1, %tid.x;", "mov.u32", (R("%r1"), R("%tid.x"))),
        ("ld.global.v2.f32 {%f1, _}, [%rd1+-8];", "ld.global.v2.f32",
         (VectorOperand((R("%f1"), SymbolOperand("_"))), AddressOperand("%rd1", -8))),
        ("st.shared.u32 [tile+4], 1;", "st.shared.u32", (AddressOperand("tile", 4), ImmediateOperand(1))),
        ("ld.global.nc.L1::no_allocate.L2::128B.f32 %f1, [%rd1];", "ld.global.nc.L1::no_allocate.L2::128B.f32",
         (R("%f1"), AddressOperand("%rd1"))),
        ("setp.lt.and.s32 %p1|%p2, %r1, 5, !%p3;", "setp.lt.and.s32",
         (PairOperand(R("%p1"), R("%p2")), R("%r1"), ImmediateOperand(5), R("%p3", negated=True))),
        ("mov.u64 %rd1, table+16;", "mov.u64", (R("%rd1"), SymbolOperand("table", 16))),
        ("bar.sync 0;", "bar.sync", (ImmediateOperand(0),)),
        ("ret;", "ret", ()),
    ],
)  # fmt: skip
def test_instructions(text: str, form: str, operands: tuple[object, ...]) -> None:
    found = instruction(text)
    assert found.form == form
    assert found.operands == operands


def test_guards() -> None:
    assert instruction("@!%p1 bra end; end: ret;").guard == Guard("%p1", True)
    assert instruction("@%p1 exit;").guard == Guard("%p1", False)


def test_types_are_the_trailing_ones() -> None:
    assert instruction("cvt.rn.f32.s32 %f1, %r1;").types == ("f32", "s32")
    assert instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};").types == (
        "f32", "f16", "f16", "f32",
    )  # fmt: skip


def test_calls() -> None:
    call = instruction("call.uni (ret0), printer, (p0, p1);").call
    assert call is not None
    assert (call.results, call.callee) == (("ret0",), "printer")
    assert call.arguments == (SymbolOperand("p0"), SymbolOperand("p1"))
    indirect = instruction("call (ret0), %rd1, (p0), proto;", ".reg .b64 %rd<3>;").call
    assert indirect is not None
    assert (indirect.callee, indirect.prototype) == ("%rd1", "proto")


def test_scopes_of_inline_assembly() -> None:
    """Two scopes declare one register and one label: they are two of each."""
    module, problems = parse(
        HEAD + ".visible .entry k() { .reg .b32 %r<3>; { .reg .pred p; setp.eq.s32 p, %r1, 0; @p bra L; L: }"
        " { .reg .pred p; setp.eq.s32 p, %r2, 0; @p bra L; L: } ret; }"
    )
    assert problems == []
    body = module.functions["k"].body
    assert body is not None
    registers = [i.operands[0] for i in body if isinstance(i, Instruction) and i.opcode == "setp"]
    labels = [i.name for i in body if isinstance(i, Label)]
    branches = [i.operands[0] for i in body if isinstance(i, Instruction) and i.opcode == "bra"]
    assert len(set(registers)) == 2 and len(set(labels)) == 2
    assert branches == [SymbolOperand(label) for label in labels]


def test_locations_follow_inlining() -> None:
    module, _ = parse(
        HEAD + ".visible .entry k() {\n.loc 1 40 3\n.loc 2 7 5, function_name $L__info_string0, inlined_at 1 40 3\n"
        'ret;\n}\n.file 1 "k.cu"\n.file 2 "lib.h"\n.section .debug_str { $L__info_string0: .b8 102 .b8 0 }\n'
    )
    body = module.functions["k"].body
    assert body is not None
    assert isinstance(body[0], Instruction)
    assert body[0].location == SourceLocation("lib.h", 7, 5, SourceLocation("k.cu", 40, 3))


def test_variables() -> None:
    module, problems = parse(
        HEAD + ".global .align 4 .u32 a[3] = {1, 2};\n.const .f32 b = 0f40000000;\n"
        ".global .align 8 .u64 t[2] = {generic(a)+4, f};\n.extern .shared .align 16 .b8 s[];\n"
        ".global .attribute(.managed) .align 4 .u32 m;\n.visible .func f() { ret; }\n"
    )
    assert problems == []
    a, b, t, s = (module.variables[name] for name in "abts")
    assert (a.size, a.initial, a.alignment) == (12, bytes([1, 0, 0, 0, 2, 0, 0, 0]), 4)
    assert b.initial == bytes([0, 0, 0, 0x40])
    assert t.addresses == ((0, 8, "a", 4), (8, 8, "f", 0))
    assert (s.size, s.extern) == (0, True)


def test_parameter_layout() -> None:
    module, _ = parse(
        HEAD + ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 4 b, .param .align 4 .b8 c[12],"
        " .param .f64 d) { ret; }"
    )
    layout = [(p.name, p.offset, p.size) for p in module.functions["k"].parameters]
    assert layout == [("a", 0, 1), ("b", 8, 8), ("c", 16, 12), ("d", 32, 8)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, ".version"),
        (HEAD + "nonsense", 4, "declaration"),
        (HEAD + ".visible .entry k() {\nadd.s32 %r1, ;\nret;\n}", 5, "expected a name"),
        (HEAD + ".visible .entry k() {\nret;\n", 6, "no closing brace"),
        (HEAD + ".visible .entry k() {\n.reg .b32 %r<99999999>;\n}", 5, "too many registers"),
        (HEAD + ".visible .entry k() {\nmov.u32 %r1, 99999999999999999999999999999999999999999;\n}", 5, "digits"),
        (HEAD + ".visible .entry k() { ret; }\n.visible .entry k() { ret; }", 5, "defined twice"),
    ],
)
def test_problems_name_the_line(text: str, line: int, message: str) -> None:
    problems = parse(text)[1]
    assert problems and message in problems[0].message
    assert problems[0].ptx_line == line


FRAGMENTS = st.sampled_from(
    [".version", "8.0", ".entry", ".func", ".reg", ".param", ".global", ".loc", "inlined_at", "{", "}", "(", ")", "[",
     "]", ";", ",", ":", "=", "|", "@", "!", "%r1", "%r<", ">", "add.s32", "call", "-", "0x", "1", ".b8", ".align",
     '"', "\n", "//", "/*", "*/", ".section", ".callprototype", "k", "_", "0f3F800000", "~", "+"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(FRAGMENTS, max_size=60).map(" ".join)))
def test_never_raises(text: str) -> None:
    parse(text)
    parse(HEAD + ".visible .entry k() {\n" + text + "\n}")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_damaged_modules_never_raise(data: st.DataObject) -> None:
    text = (DATA / "ptx" / "control_flow.ptx").read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 400)))
    parse(text[:start] + data.draw(st.text(max_size=10)) + text[end:])


@pytest.mark.parametrize("line", ["copy;", "copy.b32 %r1, %r2;", "trap.callee;"])
def test_what_inlining_makes_is_no_instruction_of_a_text(line: str) -> None:
    _, problems = parse(
        f".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {{ .reg .b32 %r<3>;\n{line}\nret; }}"
    )
    assert [(p.message, p.ptx_line) for p in problems] == [
        (f"the instruction '{line.rstrip(';').split()[0]}' is not supported", 5)
    ]


SEVERAL = """
.visible .entry first(.param .u64 out) {
    .reg .b32 %r<4>;
    { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; }
    mov.b64 {%r1, %r2}, 0;
    ret;
}
.func helper() { ret; }
.visible .entry second() { ret; }
"""


def test_entries_that_are_not_wanted_are_passed_over() -> None:
    module, problems = parse(HEAD + SEVERAL, None, {"second"})
    assert problems == []
    assert {name: function.body is not None for name, function in module.functions.items()} == {
        "first": False, "helper": True, "second": True,
    }  # fmt: skip
    assert [parameter.name for parameter in module.functions["first"].parameters] == ["out"]
    assert module.functions["second"].line == parse(HEAD + SEVERAL)[0].functions["second"].line


@pytest.mark.parametrize(
    ("text", "messages", "read"),
    [
        (".entry k() { { ret; }\n", ["the body has no closing brace"], True),
        (".entry k() { ret; // }\n }\n", [], True),
        (".entry k() { /* } */ ret; }\n", [], True),
        ('.entry k() { .pragma "}"; ret; }\n', [], True),
        ("// .entry k() {\n.entry k() { ret; }\n", [], False),
        (".entry k(.param .u64 a) .maxntid 32, 1, 1 { // all of it\n { ret; } }\n", [], False),
        (".entry k() ; .entry l() { mov; }\n", [], False),
        (".section .debug_info\n{\n.b32 x\n}\n.entry k() { ret; }\nx", ["expected a declaration before 'x'"], False),
    ],
)
def test_what_is_passed_over_is_plain_to_see(text: str, messages: list[str], read: bool) -> None:
    module, problems = parse(HEAD + text, None, set())
    assert [item.message for item in problems] == messages
    assert (module.functions["k"].body is not None) == read


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_left_reads_as_before(path: Path) -> None:
    text = path.read_text()
    whole, _ = parse(text)
    for name in whole.entries[-1:]:
        part, problems = parse(text, None, {name})
        assert problems == []
        assert part.entries == (name,)
        assert part.functions[name] == whole.functions[name]
        assert part.variables == whole.variables
        assert part.functions.keys() == whole.functions.keys()


def test_a_name_means_what_the_open_scopes_say() -> None:
    """An operand that was read before is not taken for one of another scope."""
    text = ".reg .b32 a; mov.u32 a, 1; { .reg .b32 a; mov.u32 a, 2; } mov.u32 a, 3;"
    module, problems = parse(f"{HEAD}.entry k() {{ {text} ret; }}")
    assert problems == []
    body = [item for item in module.functions["k"].body or () if isinstance(item, Instruction)]
    first, inner, last, _ = (item.operands[:1] for item in body)
    assert first == last == (R("a"),)
    assert inner != first
