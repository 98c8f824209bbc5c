"""Cells of a sweep: shapes times macros, less restrictions, with grids and shared memory by expression."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.cells import cells, with_macros
from protocol.expressions import Unusable, evaluate, parse
from protocol.reading import Unreadable, read
from protocol.run import RunRequest, compile_request
from protocol.source import Define

NAMES = {"a": 7, "b": 2, "t": "fast", "f": 0.5}
VALUES = [
    ("a + b * 3", 13), ("(a + b) * 3", 27), ("a // b", 3), ("a / b", 3.5), ("a % b", 1), ("-a", -7), ("a ** b", 49),
    ("a > b", True), ("1 < b < a", True), ("1 < a < b", False), ("not a == 7", False), ("a == 7 and b == 3", False),
    ("a == 8 or b == 2", True), ("a if b == 2 else 0", 7), ("min(a, b, 1)", 1), ("max(a, b)", 7), ("abs(-3)", 3),
    ("ceil_div(a, b)", 4), ("len(x) // 4", 256), ("t == 'fast'", True), ("f * 4", 2.0), ("True + 1", 2), ("0x10", 16),
]  # fmt: skip
REFUSED = {
    "": "cannot be read",
    "a +": "cannot be read",
    "a && b": "cannot be read",
    "c": "c is not known; there are a, b",
    "a.b": "a.b cannot stand here",
    "open(a)": "cannot stand here",
    "[a]": "cannot stand here",
    "len(q)": "no buffer is called q; there are x",
    "a // 0": "divides by 0",
    "9 ** 9 ** 9": "the power is too large",
    "t + 1": "'fast' is no number",
    "t < 1": "mixes",
    "(-8) ** 0.5": "no real value",
    "a" + " + a" * 200: "too long",
    "__import__('os')": "cannot stand here",
    "min()": "cannot stand here",
    "a in b": "only <",
    "lambda: 1": "cannot stand here",
    "(" * 300 + ")" * 300: "cannot be read",
}


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_expressions(text: str, value: object) -> None:
    found = evaluate(parse(text), NAMES, {"x": 1024})
    assert found == value
    assert isinstance(found, bool) == isinstance(value, bool)


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_what_no_expression_is(text: str, words: str) -> None:
    with pytest.raises(Unusable) as caught:
        evaluate(parse(text), NAMES, {"x": 1024})
    assert words in str(caught.value)


def run(sweep: dict[str, Any], **fields: Any) -> RunRequest:
    arguments = [{"kind": "buffer", "name": "x", "buffer": "x"}, {"kind": "scalar", "name": "n", "value": 1000}]
    step = {
        "kind": "launch",
        "config": {"grid": {"kind": "cover", "buffer": "x"}, "block": [64]},
        "arguments": arguments,
    }
    body = {
        "source": {"text": "__global__ void k(int *x, int n) {}"},
        "buffers": [{"name": "x", "dtype": "int32", "shape": [1000], "init": {"kind": "zeros"}}],
        "steps": [step],
        "sweep": sweep,
    }
    return read(RunRequest, json.dumps(body | fields))


def test_macros_multiply_and_restrictions_leave_out() -> None:
    found = cells(
        run(
            {
                "blocks": [[8, 8], [16, 16]],
                "macros": [{"name": "TILE", "values": ["8", "16"]}, {"name": "UNROLL", "values": ["1", "4"]}],
                "where": ["block_x == TILE", "threads * UNROLL <= 256"],
            }
        )
    )
    assert [(cell.index, cell.combination, cell.place) for cell in found] == [
        (0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1), (4, 2, 0), (5, 2, 1), (6, 3, 0), (7, 3, 1),
    ]  # fmt: skip
    assert [cell.index for cell in found if not cell.excluded] == [0, 2, 5]
    assert found[2].macros == (("TILE", "8"), ("UNROLL", "4"))
    assert (found[1].excluded, found[7].excluded) == ("block_x == TILE", "threads * UNROLL <= 256")


def test_grid_and_shared_memory_by_expression() -> None:
    (cell,) = cells(
        run(
            {
                "blocks": [[128]],
                "macros": [{"name": "PER", "values": ["4"]}],
                "grid": ["ceil_div(n, block_x * PER)", "2"],
                "dynamic_shared_bytes": "threads * 4 + len(x)",
                "where": ["grid_x * grid_y == blocks", "shared_bytes == 1512"],
            }
        )
    )
    assert (cell.grid, cell.dynamic_shared_bytes, cell.excluded) == ((2, 2, 1), 1512, "")
    (plain,) = cells(run({"blocks": [[96]]}))
    assert (plain.grid, plain.dynamic_shared_bytes) == ((11, 1, 1), 0)


def test_a_sample_is_drawn_by_its_seed() -> None:
    def drawn(seed: int) -> list[int]:
        found = cells(run({"blocks": [[32 * size] for size in range(1, 33)], "sample": 5, "seed": seed}))
        return [cell.index for cell in found if cell.chosen]

    assert len(drawn(1)) == 5
    assert drawn(1) == drawn(1) != drawn(2)


def test_each_choice_has_its_own_compilation() -> None:
    asked = run(
        {"blocks": [[32]], "macros": [{"name": "TILE", "values": ["8", "16"]}]},
        options={"defines": [{"name": "TILE", "value": "1"}, {"name": "FAST", "value": "1"}]},
    )
    defines = [compile_request(asked, number).options.defines for number in (0, 1)]
    assert [[(item.name, item.value) for item in found] for found in defines] == [
        [("FAST", "1"), ("TILE", "8")], [("FAST", "1"), ("TILE", "16")],
    ]  # fmt: skip
    assert with_macros((Define(name="A"),), ()) == (Define(name="A"),)


MACRO = {"name": "TILE", "values": ["8", "16"]}
FAULTS = [
    ({"blocks": [[32]], "where": ["block_x <"]}, "sweep.where.0", "cannot be read"),
    ({"blocks": [[32]], "where": ["threads > 0", "TILE == 8"]}, "sweep.where.1", "TILE is not known; there are"),
    ({"blocks": [[32]], "where": ["threads > 32"]}, "sweep.where", "leave no cell"),
    ({"blocks": [[32]], "grid": ["n / 3"]}, "sweep.grid.0", "give a whole number up to 4,294,967,295"),
    ({"blocks": [[32]], "grid": ["-1"]}, "sweep.grid.0", "is -1 for some cell"),
    ({"blocks": [[32]], "dynamic_shared_bytes": "n * n * n"}, "sweep.dynamic_shared_bytes", "up to 1,048,576"),
    ({"blocks": [[32]], "macros": [MACRO, MACRO]}, "sweep.macros.1.name", "TILE is there twice"),
    ({"blocks": [[32]], "macros": [{"name": "A", "values": ["1", "1"]}]}, "sweep.macros.0.values.1", "there twice"),
    ({"blocks": [[32]], "macros": [{"name": "2A", "values": ["1"]}]}, "sweep.macros.0.name", ""),
    (
        {"blocks": [[32]], "macros": [{"name": name, "values": [str(item) for item in range(9)]} for name in "AB"]},
        "sweep.macros", "81 choices of values; at most 32",
    ),
    ({"blocks": [[size] for size in range(1, 250)], "macros": [MACRO]}, "sweep", "498 cells; one job tries at most"),
    ({"blocks": [[32]], "sample": 0}, "sweep.sample", "greater than or equal to 1"),
]  # fmt: skip


@pytest.mark.parametrize(("sweep", "field", "words"), FAULTS)
def test_faults_name_their_field(sweep: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(Unreadable) as caught:
        run(sweep)
    assert [(fault.field, words in fault.message) for fault in caught.value.faults] == [(field, True)]


def test_only_a_preprocessor_has_macros() -> None:
    with pytest.raises(Unreadable) as caught:
        run({"blocks": [[32]], "macros": [MACRO]}, source={"language": "ptx", "text": ".version 8.0"})
    assert caught.value.faults[0].field == "sweep.macros"


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        ("Voodoo", "no GPU is called Voodoo: there are auto, T4"),
        ("T4", "the T4 is sm_75; the source is compiled for sm_90"),
    ],
)
def test_an_estimate_is_for_a_gpu_of_the_architecture(gpu: str, words: str) -> None:
    with pytest.raises(Unreadable) as caught:
        run({"blocks": [[32]]}, estimate=gpu)
    assert (caught.value.faults[0].field, words in caught.value.faults[0].message) == ("estimate", True)
    assert run({"blocks": [[32]]}, estimate="H100 SXM").estimate == "H100 SXM"
