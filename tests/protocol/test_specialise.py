"""Argument types of launches: what a language compiles for that compiles for them."""

import json
from typing import Any

import pytest

from protocol.reading import Unreadable, read
from protocol.run import RunRequest, compile_request
from protocol.specialise import python_type, specialisations, step_of

X = {"name": "x", "dtype": "float32", "shape": [4, 8]}
SOURCE = {"language": "numba", "text": "from numba import cuda", "file_name": "kernel.py"}


def run(*entries: str, value: Any = 1, source: Any = SOURCE, **scalar: Any) -> RunRequest:
    steps = [
        {
            "kind": "launch",
            "entry": entry,
            "config": {"grid": [1], "block": [32]},
            "arguments": [
                {"kind": "buffer", "name": "x", "buffer": "x"},
                {"kind": "scalar", "name": "n", "value": value, **scalar},
                {"kind": "null", "name": "p"},
            ],
        }
        for entry in entries
    ]
    whole = {"source": source, "buffers": [X], "steps": [{"kind": "repeat", "count": 2, "steps": steps}]}
    return read(RunRequest, json.dumps(whole))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "bool"), (7, "int64"), (2.0, "float64"), ("0xff", "int64"), ("-12", "int64"), ("true", "bool"),
        ("nan", "float64"), ("1e3", "float64"), ("1+2j", "complex128"), ("2j", "complex128"), ("1_000", "int64"),
    ],
)  # fmt: skip
def test_a_number_without_a_type_is_what_python_makes_of_it(value: Any, dtype: str) -> None:
    assert python_type(value) == dtype


def test_each_kernel_and_list_of_types_is_asked_for_once() -> None:
    request = run("k", "k", "m", value=2.5, dtype="float32")
    found = compile_request(request).specialisations
    assert [item.entry for item in found] == ["k", "m"]
    x, n, p = found[0].arguments
    assert (x.kind, x.dtype, x.dimensions, x.name) == ("array", "float32", 2, "x")
    assert (n.kind, n.dtype, n.dimensions) == ("number", "float32", 0)
    assert p.kind == "other"
    assert step_of(request.steps, request.buffers, 1) == "steps.0.steps.2"
    assert specialisations(request.steps, request.buffers) == found


def test_other_languages_are_not_compiled_for_arguments() -> None:
    request = run("k<float>", source={"text": "k"})
    assert compile_request(request).specialisations == ()
    assert compile_request(request).instantiations == ("k<float>",)
    assert compile_request(run("k<float>", source={**SOURCE, "language": "ptx"})).instantiations == ()


@pytest.mark.parametrize("source", [SOURCE, {"text": "k"}])
def test_more_than_can_be_compiled_at_once_is_a_fault_of_the_steps(source: Any) -> None:
    run(*(f"k{index}<int>" for index in range(16)), source=source)
    with pytest.raises(Unreadable) as caught:
        run(*(f"k{index}<int>" for index in range(17)), source=source)
    (fault,) = caught.value.faults
    assert (fault.field, "ask for 17 kernels" in fault.message) == ("steps", True)
