"""The generated page of instructions is that of the table, and its parts agree with each other."""

from __future__ import annotations

import pytest

from emulator.isa import lookup, rows
from emulator.isa.refused import REFUSALS
from emulator.syntax import Instruction, Problem

from .coverage import FAMILIES, OPCODES, read, share, wholly
from .manual import DATA, PAGE, page


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.emulator.isa.manual"


def test_every_row_was_asked_of_ptxas() -> None:
    asked = {line.split("\t")[0] for line in (DATA / "isa" / "targets.tsv").read_text().splitlines()}
    control = ("bra", "brx", "call", "ret", "exit", "trap", "brkpt")  # they stand in programs alone
    missing = [r.notation.text for r in rows() if r.notation.text not in asked and r.notation.opcode not in control]
    assert missing == [], "run python -m tests.emulator.isa.targets"


@pytest.mark.parametrize("form", [form for refusal in REFUSALS for form in refusal.forms], ids=lambda form: form.text)
def test_refused_families_have_no_rows(form: object) -> None:
    for spelling in form.spellings():  # type: ignore[attr-defined]
        found = lookup(Instruction(form.opcode, spelling, (), line=1))  # type: ignore[attr-defined]
        assert isinstance(found, Problem) and found.help, spelling
        assert ": " in found.message


def test_real_forms_are_supported_or_refused_by_name() -> None:
    forms = (DATA / "isa" / "real_forms.txt").read_text().split()
    found = share([(form, 1) for form in forms])
    assert found.unknown == ()
    assert found.percent[0] > 97


def test_nearly_all_real_kernels_are_supported_wholly() -> None:
    table = read(OPCODES)
    assert share(table).percent[1] > 99.9
    found = wholly(table, read(FAMILIES))
    assert (found.kernels, found.least, found.most) == (3694, 3615, 3648)
    alone = wholly(table, [])
    assert alone.least <= found.least and found.most <= alone.most
