"""Files of PTX do what the comments beside their code say, on the emulator and (marked gpu) on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from filetests import Filetest, Launch, differences, emulate, filetests, on_gpu, problems_of
from launching import DATA

from emulator.isa import Form, lookup, rows
from emulator.syntax import Instruction, parse

TESTS = filetests()
LAUNCHES = [(test, launch) for test in TESTS for launch in test.launches]


@pytest.mark.parametrize(("test", "launch"), LAUNCHES, ids=[launch.name for _, launch in LAUNCHES])
def test_launch_gives_what_the_file_says(test: Filetest, launch: Launch) -> None:
    results, fault = emulate(test, launch)
    assert fault == launch.fault
    assert differences(launch, results) == []


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_refusals_are_those_that_the_file_names(test: Filetest) -> None:
    found = problems_of(test)
    assert found.keys() == test.refused.keys()
    assert [f"{line}: {found[line]}" for line, part in test.refused.items() if part not in found[line]] == []


# Programs of clusters and of asynchronous copies, which a GPU ran too.
PROGRAMS = [
    DATA / "ptx" / f"{name}.ptx"
    for name in ("cooperation", "bulk", "asynchronous_sm_80", "asynchronous_sm_90", "matrix")
]


def test_every_row_without_code_is_in_a_file() -> None:
    """Rows of lane-wise arithmetic and of the warp have vectors; all others a place in one of the files."""
    seen = set()
    for text in [*(test.text for test in TESTS), *(path.read_text() for path in PROGRAMS)]:
        module, _ = parse(text)
        for function in module.functions.values():
            for item in function.body or ():
                if isinstance(item, Instruction) and isinstance(form := lookup(item), Form):
                    seen.add(form.row.notation.text)
    wanted = [row.notation for row in rows() if row.kind not in ("alu", "warp")]
    assert [form.text for form in wanted if form.text not in seen] == []


@pytest.mark.gpu
def test_a_gpu_gives_the_same(tmp_path: Path) -> None:
    report = on_gpu(tmp_path)
    assert [line for lines in report.values() for line in lines if not line.startswith("chosen")] == []
