"""Every item of the list has rows, a drill or a reason for each path."""

import ast

import pytest

from tests.bad_input.cases import API, COMMANDS, DRILLS, ITEMS, NOT_MET, ON_PAGE, PATHS, UPLOADS
from tests.service.harness import ROOT

ROWS = {
    "api": {row.item for row in (*API, *UPLOADS)},
    "command line": {row.item for row in COMMANDS},
    "page": {row.item for row in ON_PAGE},
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("item", ITEMS)
def test_every_item_is_met_on_every_path(item: str, path: str) -> None:
    met = [item in ROWS[path], (item, path) in DRILLS]
    assert any(met) != ((item, path) in NOT_MET)


def test_there_is_nothing_else() -> None:
    named = {item for rows in ROWS.values() for item in rows} | {item for item, _ in (*DRILLS, *NOT_MET)}
    assert named == set(ITEMS)
    assert {path for _, path in (*DRILLS, *NOT_MET)} == set(PATHS)


@pytest.mark.parametrize("drill", sorted(set(DRILLS.values())))
def test_drills_exist(drill: str) -> None:
    file, _, name = drill.partition("::")
    functions = {node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)}
    assert name in functions
