"""What authors of Python kernels are told: message, line, help; and host code, which is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.engine.child_jobs import Job
from tests.engine.languages.numba_jobs import HEAD, array_of, number, run_of, translated


@dataclass(frozen=True)
class Case:
    """A text, or the body of a kernel k(x, n) of float32[:] and int64, which begins at line 6."""

    body: str
    message: str
    line: int | None = 6
    help: str = ""
    whole: bool = False


MEMORY = "a kernel cannot allocate memory"
CASES = {
    "types": Case('x[0] = "a" + 1', "+ is not possible between text and int64"),
    "undefined": Case("i = cuda.grid(1)\nx[i] = foo(1)", "foo is not defined", 7),
    "undefined np": Case(
        "from numba import cuda\n@cuda.jit\ndef k(x, n):\n    x[0] = np.pi", "np is not defined", 4, "Import it", True
    ),
    "with": Case('with open("x") as f: pass', "construct is not supported", help="subset of Python"),
    "lists": Case("a = [j for j in range(3)]\nx[0] = a[0]", MEMORY, help="cuda.local.array"),
    "new arrays": Case("y = np.zeros(3)\nx[0] = y[0]", MEMORY, help="cuda.local.array"),
    "f-strings": Case('print(f"{n} of")', MEMORY),
    "attribute": Case("x[0] = cuda.treadIdx.x", "module 'numba.cuda' has no attribute 'treadIdx'"),
    "return": Case("return 1", "a kernel cannot return a value", help="device=True"),
    "axes": Case("x[0, 1] = 1", "this index cannot be assigned to"),
    "two types": Case("if n > 3:\n    a = 1\nelse:\n    a = x\nx[0] = a", "Cannot unify", 10, "one type"),
    "shape": Case(
        "s = cuda.shared.array(n, dtype='float32')\nx[0] = s[0]", "must be a constant", help="array(0, dtype)"
    ),
    "dtype": Case("s = cuda.local.array(4, dtype='float33')\nx[0] = s[0]", "one of NumPy's"),
    "generator": Case("yield 1", "k: a kernel cannot yield or await", 4),
    "plain function": Case(
        f"{HEAD}def f(a):\n    return a\n@cuda.jit\ndef k(x, n):\n    x[0] = f(n)",
        "a kernel calls only functions that are compiled too", 8, "device=True", True,
    ),
    "device function": Case(
        f"{HEAD}@cuda.jit(device=True)\ndef f(a):\n    return a.foo\n@cuda.jit\ndef k(x, n):\n    x[0] = f(n)",
        "Unknown attribute 'foo' of type int64", 6, whole=True,
    ),
    "ufunc": Case("x[0] = np.sqrt(x[0])", "np.sqrt is not possible in a kernel", help="math.sqrt"),
    "star": Case(f"{HEAD}@cuda.jit\ndef k(x, *n):\n    x[0] = 1", "plain parameters only", 4, whole=True),
    "link": Case(f'{HEAD}@cuda.jit(link=["x.cu"])\ndef k(x, n):\n    x[0] = 1', "cuda.CUSource", 4, whole=True),
    "syntax": Case("def k(:\n  pass", "invalid syntax", 1, whole=True),
    "CUDA C++": Case("__global__ void k() {}", "invalid syntax", 1, "looks like CUDA C++", True),
    "tab": Case("if True:\n\tx = 1\n        y = 2\n", "inconsistent use of tabs", 3, whole=True),
    "exception": Case("a = 1\nb = a / 0", "ZeroDivisionError: division by zero", 2, whole=True),
    "exit": Case("raise SystemExit", "the source ends itself", 1, whole=True),
    "no kernel": Case("x = 1", "the source defines no kernel", 1, "@cuda.jit", True),
    "no import": Case("@cuda.jit\ndef k(x): pass", "NameError: name 'cuda'", 1, "from numba import cuda", True),
    "nested": Case(f"{'(' * 300}1{')' * 300}", "too many nested parentheses", 1, whole=True),
    "strange signature": Case(
        f'{HEAD}@cuda.jit("void(float32[:,:,:,:,:])")\ndef k(x): pass', "the launch form cannot give", 4, whole=True
    ),
}  # fmt: skip


def told(text: str, *arguments: dict[str, Any]) -> list[dict[str, Any]]:
    job: Job = translated(run_of(text, *(arguments or (array_of("x"), number("n", 1)))))
    return [event["diagnostic"] for event in job.kind("diagnosed")]


@pytest.mark.parametrize("name", CASES)
def test_what_a_faulty_source_is_told(name: str) -> None:
    case = CASES[name]
    body = "".join(f"    {line}\n" for line in case.body.split("\n"))
    text = case.body if case.whole else f"{HEAD}@cuda.jit\ndef k(x, n):\n{body}"
    found = [item for item in told(text) if item["severity"] == "error"]
    assert [item for item in found if case.message in item["message"]], found
    first = next(item for item in found if case.message in item["message"])
    assert (first["span"]["line"] if first["span"] else None) == case.line
    assert case.help in (first["help"] or "")
    assert len(first["message"]) <= 500


HOST = """from numba import cuda
import numpy as np
import cupy as cp
import matplotlib.pyplot as plt

@cuda.jit
def k(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] += 1

a = np.arange(8)
x = cuda.to_device(a)
y = cp.zeros(3)
k[1, 32](x, 4)
cuda.synchronize()
print(x.copy_to_host() + y)
if __name__ == "__main__":
    k[1, 2](x)
"""


def test_host_code_is_left_out_and_that_is_told_once() -> None:
    found = told(HOST)
    assert [(item["severity"], item["span"]["line"]) for item in found] == [("note", 3), ("note", 4), ("note", 13)]
    assert "cupy cannot be imported here" in found[0]["message"]
    assert "lines 13, 14, 15, 16, 17" in found[2]["message"]


def test_errors_of_a_source_that_is_no_host_code_are_not_left_out() -> None:
    found = told(HOST + "z = undefined + 1\n")
    assert [item["message"] for item in found if item["severity"] == "error"] == [
        "NameError: name 'undefined' is not defined"
    ]


def test_warnings_of_the_source_are_told() -> None:
    text = f"{HEAD}import warnings\nwarnings.warn('old')\n@cuda.jit\ndef k(x, n):\n    x[0] = 1\n"
    assert [(item["severity"], item["span"]["line"]) for item in told(text)] == [("warning", 5)]
