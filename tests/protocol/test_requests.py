"""Requests: what is accepted, and how each fault names its field."""

import json
from typing import Any

import pytest

from protocol.arguments import Literals
from protocol.checks import Equals, NumpyReference, checked_buffers
from protocol.launch import Launch, count_launches, resolve_grid, walk
from protocol.reading import Unreadable, read
from protocol.run import RunRequest, compile_request
from protocol.sweep import swept_grid

SOURCE = {"text": "__global__ void k(float *x, int n) {}"}
LAUNCH: dict[str, Any] = {
    "kind": "launch",
    "entry": "k",
    "config": {"grid": [4], "block": [256]},
    "arguments": [{"kind": "buffer", "buffer": "x"}, {"kind": "scalar", "value": 7}],
}
X = {"name": "x", "dtype": "float32", "shape": [4, 256]}


def request(**changes: Any) -> str:
    return json.dumps({"source": SOURCE, "buffers": [X], "steps": [LAUNCH], **changes})


def fault(text: str) -> tuple[str, str]:
    """(field path, message) of the first error of a refused request."""
    with pytest.raises(Unreadable) as caught:
        read(RunRequest, text)
    return caught.value.faults[0].field, caught.value.faults[0].message


def buffer(**changes: Any) -> str:
    return request(buffers=[{**X, **changes}])


def launch(**changes: Any) -> str:
    return request(steps=[{**LAUNCH, **changes}])


FAULTS = [
    ("", "", "not JSON"),
    ("[]", "", "object"),
    ("{", "", "not JSON"),
    ("[" * 100_000, "", "nested more than 64 deep"),
    ('{"source": ' + '{"text":' * 70 + "1" + "}" * 70, "", "nested more than 64 deep"),
    (json.dumps({"steps": [LAUNCH]}), "source", "required"),
    (request(source={"text": "\\ud800"}).replace("\\\\", "\\"), "", "not JSON"),
    (request(source={"text": "a\n b\0"}), "source.text", "line 2, column 3 holds a NUL"),
    (request(source={"text": "  \n"}), "source.text", "empty"),
    (request(source={"text": "x" * 300_000}), "source.text", "300,000 bytes; the limit is 262,144"),
    (request(source={"text": "k", "file_name": "../k.cu"}), "source.file_name", "a file name has letters"),
    (request(options={"standard": "c++98"}), "options.standard", "c++11"),
    (request(options={"-I": "/"}), "options.-I", "not known here"),
    (request(options={"max_registers": 8}), "options.max_registers", "16"),
    (
        request(options={"defines": [{"name": "A", "value": "1\n2"}]}),
        "options.defines.0.value",
        "one line without control characters; it is '1\\n2'",
    ),
    (request(options={"defines": [{"name": "A B"}]}), "options.defines.0.name", "a name is a C identifier"),
    (request(architecture="sm_50"), "architecture", "architectures are sm_75, "),
    (request(checks=[{"kind": "same"}]), "checks.0", "kind is equals or numpy"),
    (request(checks=[7]), "checks.0", "kind is equals or numpy"),
    (request(checks=[{"buffer": "x"}]), "checks.0.expected", "required"),
    (request(checks=[{"kind": "numpy", "buffers": ["x"]}]), "checks.0.text", "required"),
    (request(checks=[{"kind": "numpy", "text": "x = 1", "buffers": []}]), "checks.0.buffers", "at least 1 item"),
    (request(checks=[{"kind": "numpy", "text": "x = 1", "buffers": ["x", "x"]}]), "checks.0.buffers", "there twice"),
    (request(checks=[{"kind": "numpy", "text": "x = 1", "buffers": ["y"]}]), "checks.0.buffers.0", "is called y"),
    (request(checks=[{"kind": "numpy", "text": "x = 1\n" * 9000, "buffers": ["x"]}]), "checks.0.text", "54,000 bytes"),
    (request(checks=[{"kind": "numpy", "text": " \n", "buffers": ["x"]}]), "checks.0.text", "reference is empty"),
    (request(checks=[{"kind": "numpy", "text": "x\n\0", "buffers": ["x"]}]), "checks.0.text", "line 2"),
    (request(sweep={"blocks": []}), "sweep.blocks", "at least 1 item"),
    (request(sweep={"blocks": [[32]] * 257}), "sweep.blocks", "at most 256 items"),
    (request(sweep={"blocks": [[32], [64], [32, 1]]}), "sweep.blocks.2", "32 × 1 × 1 is there twice"),
    (request(sweep={"blocks": [[32], [-1]]}), "sweep.blocks.1.0", "greater than or equal to 0"),
    (request(sweep={"blocks": [[32]], "step": "steps.1"}), "sweep.step", "steps.1 is no launch (there are: steps.0)"),
    (request(steps=[LAUNCH, LAUNCH], sweep={"blocks": [[32]]}), "sweep.step", "2 launches: name the one"),
    (request(device="cuda"), "device", "a device is auto, "),
    (request(schema_version=2), "schema_version", "less than or equal to 1"),
    (request(surprise=1), "surprise", "not known here"),
    (buffer(shape=[-1]), "buffers.0.shape.0", "greater than or equal to 1"),
    (buffer(shape=[1.5]), "buffers.0.shape.0", "valid integer"),
    (buffer(shape=["7"]), "buffers.0.shape.0", "valid integer"),
    (buffer(shape=[1 << 40]), "buffers.0", "the limit is 1,073,741,824"),
    (buffer(dtype="float8"), "buffers.0.dtype", "float16"),
    (launch(arguments=[{"kind": "scalar", "value": "9" * 500}]), "steps.0.arguments.0.value", "at most 400"),
    (buffer(name="2x"), "buffers.0.name", "a name is a C identifier"),
    (buffer(role="output"), "buffers.0.role", "inout"),
    (buffer(init={"kind": "ones"}), "buffers.0.init", "zeros"),
    (buffer(dtype="uint8", init={"kind": "full", "value": 300}), "buffers.0", "300 does not fit uint8: 0 to 255"),
    (buffer(shape=[3], init={"kind": "literals", "values": [1, 2]}), "buffers.0", "3 elements, but 2 values"),
    (
        buffer(shape=[2], init={"kind": "literals", "values": [1, "x"]}),
        "buffers.0",
        "value 1 of x: 'x' is not a number",
    ),
    (buffer(dtype="int8", init={"kind": "integers", "low": 5, "high": 5}), "buffers.0", "low is 5 and high is 5"),
    (buffer(dtype="int8", init={"kind": "integers", "low": 0, "high": 500}), "buffers.0", "high is 500"),
    (buffer(init={"kind": "upload", "digest": "../../etc/passwd"}), "buffers.0.init.digest", "a digest is 64 "),
    (request(buffers=[X, X]), "buffers.1.name", "two buffers are called x"),
    (launch(arguments=[{"kind": "buffer", "buffer": "y"}]), "steps.0.arguments.0.buffer", "no buffer is called y"),
    (launch(arguments=[{"kind": "scalar", "dtype": "int32", "value": "1e9"}]), "steps.0.arguments.0", "whole"),
    (
        launch(config={"grid": [1, 1, 1, 1], "block": [1]}),
        "steps.0.config.grid",
        "3",
    ),
    (launch(config={"grid": {"kind": "cover", "buffer": "q"}, "block": [1]}), "steps.0.config.grid.buffer", "called q"),
    (request(steps=[]), "steps", "at least 1"),
    (request(steps=[{"kind": "fill", "buffer": "x", "value": 0}]), "steps", "0 launches"),
    (request(steps=[{"kind": "repeat", "count": 10_001, "steps": [LAUNCH]}]), "steps.0.count", "10000"),
    (request(steps=[LAUNCH, {"kind": "swap", "first": "x", "second": "y"}]), "steps.1.second", "no buffer is called y"),
    (request(checks=[{"buffer": "z", "expected": {"kind": "zeros"}}]), "checks.0.buffer", "no buffer is called z"),
    (request().replace('"value": 7', '"value": NaN'), "steps.0.arguments.1.value", "finite"),
    (request().replace('"value": 7', '"value": ' + "9" * 5000), "", "not JSON"),
]


@pytest.mark.parametrize(("text", "field", "words"), FAULTS, ids=[f"{row[1]}-{n}" for n, row in enumerate(FAULTS)])
def test_fault_names_its_field(text: str, field: str, words: str) -> None:
    path, message = fault(text)
    assert path == field
    assert words in message


@pytest.mark.parametrize("text", [buffer(shape=[-1]), request(steps=[{**LAUNCH, "kind": "leap"}])])
def test_one_fault_is_told_once(text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(RunRequest, text)
    assert len(caught.value.faults) == 1, caught.value.faults


def test_swap_of_unequal_shapes_is_refused() -> None:
    other = {**X, "name": "y", "shape": [1024]}
    path, message = fault(request(buffers=[X, other], steps=[LAUNCH, {"kind": "swap", "first": "x", "second": "y"}]))
    assert path == "steps.1"
    assert "x and y differ in dtype or shape" in message


@pytest.mark.parametrize(
    ("block", "grid"),
    [([256], (1, 4, 1)), ([100], (3, 4, 1)), ([16, 16], (16, 1, 1)), ([1, 1, 1], (256, 4, 1)), ([0], (0, 4, 1))],
)
def test_grid_covers_a_buffer(block: list[int], grid: tuple[int, int, int]) -> None:
    run = RunRequest.model_validate_json(launch(config={"grid": {"kind": "cover", "buffer": "x"}, "block": block}))
    step = run.steps[0]
    assert step.kind == "launch"
    assert resolve_grid(step.config, run.buffers) == grid


@pytest.mark.parametrize(
    ("shape", "components", "grid"),
    [
        ([1024, 4], 4, (4, 1, 1)),
        ([4096], 4, (4, 1, 1)),
        ([4], 4, (1, 1, 1)),
        ([6, 1024, 2], 2, (4, 6, 1)),
        ([8, 1024], 2, (2, 8, 1)),
        ([1000, 3], 4, (1, 1000, 1)),
        ([1024, 1], 1, (1, 1024, 1)),
    ],
)
def test_vectors_are_covered_as_one_element(shape: list[int], components: int, grid: tuple[int, int, int]) -> None:
    config = {"grid": {"kind": "cover", "buffer": "x", "components": components}, "block": [256]}
    text = request(buffers=[{**X, "shape": shape}], steps=[{**LAUNCH, "config": config}])
    run = RunRequest.model_validate_json(text)
    step = run.steps[0]
    assert step.kind == "launch"
    assert resolve_grid(step.config, run.buffers) == grid


def test_launches_are_counted_through_repeats() -> None:
    inner = {"kind": "repeat", "count": 5, "steps": [LAUNCH, LAUNCH]}
    run = RunRequest.model_validate_json(request(steps=[LAUNCH, {"kind": "repeat", "count": 3, "steps": [inner]}]))
    assert count_launches(run.steps) == 31


def test_templates_are_instantiated_once() -> None:
    steps = [{**LAUNCH, "entry": name} for name in ("k<float>", "plain", "k<int>", "k<float>")]
    run = RunRequest.model_validate_json(request(steps=steps))
    assert compile_request(run).instantiations == ("k<float>", "k<int>")


def test_checks_without_a_kind_compare_with_given_values() -> None:
    """As links that were made when there was no other kind hold them."""
    old = {"buffer": "x", "expected": {"kind": "literals", "values": [1.0] * 1024}, "relative": 0.5}
    new = {"kind": "numpy", "text": "x = x + 1", "buffers": ["x"]}
    first, second = read(RunRequest, request(checks=[old, new])).checks
    assert isinstance(first, Equals)
    assert first == Equals(buffer="x", expected=Literals(values=(1.0,) * 1024), relative=0.5)
    assert second == NumpyReference(text="x = x + 1", buffers=("x",), relative=1e-5, absolute=1e-8)
    assert [checked_buffers(item) for item in (first, second)] == [("x",), ("x",)]


@pytest.mark.parametrize(
    ("grid", "block", "shape", "expected"),
    [
        ([512], [256], [1024], (128, 1, 1)),
        ([512], [256], [100], (1311, 1, 1)),
        ([512], [256], [16, 16], (8192, 1, 1)),
        ([64, 32], [16, 16], [32, 8], (32, 64, 1)),
        ([4, 3, 2], [8, 4, 2], [64, 2, 1], (1, 6, 4)),
        ([4], [256], [0], (0, 1, 1)),
        ({"kind": "cover", "buffer": "x"}, [256], [64], (4, 4, 1)),
        ({"kind": "cover", "buffer": "x"}, [256], [32, 8], (8, 1, 1)),
    ],
)
def test_a_grid_follows_the_block(grid: Any, block: Any, shape: list[int], expected: tuple[int, int, int]) -> None:
    """Explicit: as many threads along each axis, rounded up; a cover: the buffer's 4 × 256 elements again."""
    run = read(RunRequest, launch(config={"grid": grid, "block": block}))
    (_, step), *_ = walk(run.steps)
    assert isinstance(step, Launch)
    assert swept_grid(step.config, shape, run.buffers) == expected
