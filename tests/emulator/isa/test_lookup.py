"""The table accepts what real programs contain and refuses the rest by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.isa import LLVM_TYPES, SPECIAL_REGISTERS, Form, lookup, rows, supported
from emulator.isa.notation import parse_notation
from emulator.syntax import Instruction, Problem, RegisterOperand, SourceLocation, VectorOperand
from emulator.syntax.nodes import PairOperand

REAL = (Path(__file__).parents[2] / "data" / "isa" / "real_forms.txt").read_text().split()
# Textures, surfaces, clusters and copies of tensors.
OUTSIDE = ("tex", "sust", "suld", "cp.async.bulk.tensor")


def instruction(text: str, *shape: int) -> Instruction:
    """An instruction with registers as operands; n > 0 is a vector of n, −1 `a|b`."""
    opcode, *modifiers = text.split(".")
    one = RegisterOperand("%r1")
    kinds = {0: one, -1: PairOperand(one, one)}
    operands = tuple(kinds[size] if size in kinds else VectorOperand((one,) * size) for size in shape)
    return Instruction(opcode, tuple(modifiers), operands, line=7, location=SourceLocation("kernel.cu", 3))


@pytest.mark.parametrize("text", [t for t in REAL if not t.startswith(OUTSIDE)])
def test_real_forms_have_a_row(text: str) -> None:
    opcode, *modifiers = text.split(".")
    found = [row for row in rows() if row.notation.opcode == opcode and row.notation.match(tuple(modifiers))]
    assert len(found) >= 1


@pytest.mark.parametrize("text", [t for t in REAL if t.startswith(OUTSIDE)])
def test_what_is_not_supported_is_refused(text: str) -> None:
    found = lookup(instruction(text, 0, 0))
    assert isinstance(found, Problem)
    assert found.form == text and found.ptx_line == 7 and found.source == SourceLocation("kernel.cu", 3)


def test_a_refusal_says_what_is_supported() -> None:
    found = lookup(instruction("add.rn.s32", 0, 0, 0))
    assert isinstance(found, Problem)
    assert found.message == "add.rn.s32 is not supported"
    assert found.help is not None and "add{.sat}.s32 d, a, b" in found.help
    unknown = lookup(instruction("frob.b32", 0))
    assert isinstance(unknown, Problem) and unknown.message == "the instruction 'frob' is not supported"


def test_a_refusal_lists_the_nearest_of_many_forms() -> None:
    found = lookup(instruction("mma.sync.aligned.m16n8k16.row.row.f32.bf16.bf16.f32", 4, 4, 2, 4))
    assert isinstance(found, Problem) and found.help is not None
    assert found.help.startswith("supported: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 …; ")
    assert found.help.endswith(" more forms of mma") and len(found.help) < 800


def test_wrong_operands_are_refused_with_the_right_ones() -> None:
    found = lookup(instruction("add.s32", 0, 0))
    assert isinstance(found, Problem)
    assert found.help == "its operands are: add{.sat}.s32 d, a, b"


ACCEPTED = [
    ("add.s32", (0, 0, 0), ("s32",), ("s32", "s32")),
    ("mul.wide.u16", (0, 0, 0), ("u32",), ("u16", "u16")),
    ("mad.wide.s32", (0, 0, 0, 0), ("s64",), ("s32", "s32", "s64")),
    ("add.cc.u32", (0, 0, 0), ("u32", "cc"), ("u32", "u32")),
    ("madc.hi.cc.u32", (0, 0, 0, 0), ("u32", "cc"), ("u32", "u32", "u32", "cc")),
    ("setp.lt.and.s32", (-1, 0, 0, 0), ("pred", "pred"), ("s32", "s32", "pred")),
    ("setp.lt.s32", (0, 0, 0), ("pred",), ("s32", "s32")),
    ("mov.b64", (2, 0), ("b32", "b32"), ("b64",)),
    ("mov.b32", (0, 2), ("b32",), ("b16", "b16")),
    ("cvt.rn.f16.s64", (0, 0), ("f16",), ("s64",)),
    ("slct.u64.f32", (0, 0, 0, 0), ("u64",), ("u64", "u64", "f32")),
    ("shfl.sync.bfly.b32", (-1, 0, 0, 0, 0), ("b32", "pred"), ("b32", "b32", "b32", "b32")),
    ("shfl.sync.bfly.b32", (0, 0, 0, 0, 0), ("b32",), ("b32", "b32", "b32", "b32")),
    ("vote.ballot.sync.b32", (0, 0, 0), ("b32",), ("pred", "b32")),
    ("vote.sync.ballot.b32", (0, 0, 0), ("b32",), ("pred", "b32")),
    ("dp4a.u32.s32", (0, 0, 0, 0), ("b32",), ("b32", "b32", "b32")),
    ("ld.global.nc.v4.f32", (4, 0), (), ()),
]


@pytest.mark.parametrize(("text", "shape", "destinations", "sources"), ACCEPTED, ids=lambda v: str(v))
def test_forms_have_their_types(
    text: str, shape: tuple[int, ...], destinations: tuple[str, ...], sources: tuple[str, ...]
) -> None:
    form = lookup(instruction(text, *shape))
    assert isinstance(form, Form)
    assert (form.destinations, form.sources) == (destinations, sources)


@pytest.mark.parametrize(
    "text", ["cvt.sat.s64.s32", "cvt.u32.f32", "cvt.rn.f64.f32", "set.eq.u16.f64", "add.s64.s32", "shl.u32"]
)
def test_types_stand_in_their_order(text: str) -> None:
    assert isinstance(lookup(instruction(text, 0, 0, 0)), Problem)


def test_rows_of_kinds_that_the_caller_lowers_have_no_code() -> None:
    for row in rows():
        assert (row.lower is None) == (row.kind not in ("alu", "warp")), row.notation.text
        assert row.meaning.endswith((".", ")")), row.notation.text


def test_supported_lists_the_manuals_notation() -> None:
    assert supported("popc") == ("popc.(b32|b64) d:u32, a",)
    assert supported("nothing") == ()


@pytest.mark.parametrize("text", ["add.{s32} d, a", "add..s32 d", "add(.s32) d"])
def test_a_row_that_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="cannot read the form"):
        parse_notation(text)


def test_special_registers_have_types() -> None:
    assert all(register.type in LLVM_TYPES for register in SPECIAL_REGISTERS.values())
    assert SPECIAL_REGISTERS["%tid.x"].extent == "lane" and SPECIAL_REGISTERS["%ntid.y"].extent == "launch"
