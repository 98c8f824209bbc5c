"""NumPy references: what they see, what they may give, and where their faults are told to be."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from engine import reference
from engine.values.dtypes import numpy_dtype
from engine.values.results import check
from protocol.checks import NumpyReference
from protocol.kernel import CompiledKernel
from protocol.run import ReferenceJob
from tests.engine.child_jobs import Job, buffer, compiled, launched, request

SOURCE = """__global__ void k(float a, int n, float4 v, const float *x, float *y, unsigned *u) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}"""
BUFFERS = [
    buffer("x", "float32", 6, "in", kind="arange"),
    {"name": "y", "dtype": "float32", "shape": [2, 3], "init": {"kind": "full", "value": 1}},
    buffer("u", "uint32", 4, kind="uninitialised"),
    buffer("h", "bfloat16", 2, kind="full", value=1.5),
    buffer("flag", "bool", 2),
]
ARGUMENTS = [
    {"kind": "scalar", "value": 2.5},
    {"kind": "scalar", "value": 6},
    {"kind": "vector", "dtype": "float32", "values": [1, 2, 3, 4]},
    *({"kind": "buffer", "buffer": name} for name in "xyu"),
]


def run(text: str, *buffers: str, grid: int = 1, block: int = 32, **fields: Any) -> Any:
    step = {"kind": "launch", "config": {"grid": [grid], "block": [block]}, "arguments": ARGUMENTS}
    checks = [{"kind": "numpy", "text": text, "buffers": buffers or ["y"], **fields}]
    return request(SOURCE, buffers=BUFFERS, steps=[step], checks=checks)


@pytest.fixture(scope="module")
def code() -> Job:
    return compiled(run("y = y"))


def referred(code: Job, wanted: Any) -> Job:
    job = Job()
    kernel = CompiledKernel.model_validate_json(code.artifacts["kernel"])
    order = ReferenceJob(run=wanted, kernel=kernel, check=0, deadline_seconds=60)
    reference.reference_job(order.model_dump_json().encode(), {}, job)
    return job


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("y = a * x.reshape(y.shape) + y", "y", [1, 3.5, 6, 8.5, 11, 13.5]),
        ("y += a", "y", [3.5] * 6),
        ("y[1] = v[1:]", "y", [1, 1, 1, 2, 3, 4]),
        ("import math\ndef f(z):\n    return math.floor(z)\ny = np.full((2, 3), f(a) + n)", "y", [8] * 6),
        ("y = [[True, 2, 3.5]] * 2", "y", [1, 2, 3.5] * 2),
        ("assert a.dtype == np.float32 and n.dtype == np.int32\ny[:] = np.nan", "y", [np.nan] * 6),
        ("u = np.arange(4)", "u", [0, 1, 2, 3]),
        ("h = numpy.float64([0.1, 3])", "h", [ml_dtypes.bfloat16(0.1), 3]),
        ("h = h * ml_dtypes.bfloat16(2)", "h", [3, 3]),
        ("flag = flag | True", "flag", [True, True]),
    ],
)
def test_what_a_reference_gives(code: Job, text: str, name: str, expected: list[Any]) -> None:
    job = referred(code, run(text, name))
    assert job.messages() == []
    dtype = numpy_dtype(next(item["dtype"] for item in BUFFERS if item["name"] == name))
    np.testing.assert_array_equal(np.frombuffer(job.artifacts["expected"], dtype), np.array(expected, dtype))


@pytest.mark.parametrize("text", ["y = a", "y = q"])
def test_the_watch_ends_with_its_reference(code: Job, text: str) -> None:
    """Left behind, it would end the process when the deadline of a reference that had failed came."""
    before = set(threading.enumerate())
    referred(code, run(text))
    for thread in set(threading.enumerate()) - before:
        thread.join(1)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("text", "name", "message", "line"),
    [
        ("y = 1\n  y = 2", "y", "the reference is not Python: unexpected indent", 2),
        ("y = (" + "(" * 300, "y", "the reference ", None),
        ("z = 1\n\ny = q * 2", "y", "NameError: name 'q' is not defined", 3),
        ("def f():\n    return 1 / 0\ny = f()", "y", "ZeroDivisionError: division by zero", 2),
        ("y = x + y", "y", "ValueError: operands could not be broadcast", 1),
        ("x = np.sort(x)\nimport nothing_of_the_kind", "y", "ModuleNotFoundError", 2),
        ("y = 0\nraise SystemExit(0)", "y", "the reference ended itself before it was done", 2),
        ("z = 1", "y", "the reference assigns nothing to y", None),
        ("z = 1\ndel y", "y", "the reference assigns nothing to y", None),
        ("\ny = a * x", "y", "y has shape (6,) in the reference; the buffer has (2, 3)", 2),
        ("y = y + 1j", "y", "y is complex64, complex numbers in the reference; the buffer is float32", 1),
        ("y = np.full(y.shape, 'a')", "y", "y is <U1 in the reference; the buffer is float32", 1),
        ("u = np.zeros(4)", "u", "u is float64, real numbers in the reference; the buffer is uint32", 1),
        ("u = -np.ones(4, int)", "u", "u in the reference: element 0 is -1, which does not fit uint32 (0 to", 1),
        ("u = u + 1", "u", "NameError: name 'u' is not defined", 1),
        ("flag = np.ones(2, int)", "flag", "flag is int64, integers in the reference; the buffer is bool", 1),
    ],
)
def test_a_fault_is_told_at_its_line_of_the_reference(
    code: Job, text: str, name: str, message: str, line: int | None
) -> None:
    job = referred(code, run(text, name))
    assert "expected" not in job.artifacts
    (event,) = job.kind("diagnosed")
    found = event["diagnostic"]
    assert found["message"].startswith(message)
    assert (found["severity"], found["file"], found["field"]) == ("error", "reference", "checks.0.text")
    if line is not None:
        assert found["span"]["line"] == line
    if text == "u = u + 1":
        assert found["help"].startswith("u starts uninitialised")


def test_an_element_that_differs_comes_with_its_thread(code: Job) -> None:
    wanted = run("y = a * x.reshape(y.shape) + y\ny[1, 1] = 7", block=3)
    expected = {"expected:0:y": memoryview(referred(code, wanted).artifacts["expected"])}
    made = compiled(wanted)
    # One row of threads does not cover two rows of elements.
    (event,) = launched(wanted, made, uploads=expected).kind("checked")
    assert (event["check"], event["buffer"], event["thread"]) == (0, "y", None)
    config = {"grid": {"kind": "cover", "buffer": "x"}, "block": [4]}
    flat = wanted.model_copy(
        update={
            "buffers": tuple(
                item.model_copy(update={"shape": (6,)}) if item.name == "y" else item for item in wanted.buffers
            )
        }
    )
    step = flat.steps[0]
    assert step.kind == "launch"
    covers = step.model_copy(update={"config": type(step.config).model_validate_json(str(config).replace("'", '"'))})
    flat = flat.model_copy(update={"steps": (covers,)})
    (event,) = launched(flat, compiled(flat), uploads=expected).kind("checked")
    assert not event["passed"]
    assert (event["index"], event["got"], event["expected"], event["differing"]) == ([4], 11.0, 7.0, 1)
    assert (event["step"], event["block"], event["thread"]) == ("steps.0", [1, 0, 0], [0, 0, 0])


def test_without_what_the_reference_expects_a_buffer_is_read_but_not_compared(code: Job) -> None:
    wanted = run("y = q")
    job = launched(wanted, code)
    (event,) = job.kind("checked")
    assert (event["passed"], event["compared"], event["check"]) == (False, False, 0)
    assert "y" in job.buffers


def test_integers_are_compared_exactly_and_floats_as_numpy_allclose_does() -> None:
    item = NumpyReference(text="b = 1", buffers=("b",))
    whole, real = np.array([1_000_000], np.int32), np.array([1_000_000], np.float32)
    assert not check(item, "b", whole, whole + 1, (1,)).passed
    assert check(item, "b", real, real + 1, (1,)).passed
    assert not check(item, "b", real, real + 100, (1,)).passed
