"""CuPy's kernels in pasted Python: what becomes of each, and what is told where one cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from engine.recognise.recogniser import recognise
from protocol.launch import Launch
from tests.engine.child_jobs import array, compiled, launched

HEAD = "import cupy as cp\nimport numpy as np\n"
X = np.arange(1024, dtype=np.float32)


@dataclass(frozen=True)
class Generated:
    """A kernel that CuPy makes of expressions, and what its last output holds after x = 0, 1, 2, …"""

    text: str
    want: Any
    dtype: str = "float32"


GENERATED = {
    "elementwise": Generated(
        "k = cp.ElementwiseKernel('float32 x, float32 y', 'float32 z', 'z = (x - y) * (x - y)', 'squared')\n"
        "k(cp.arange(3), 2.5)",
        (X - np.float32(2.5)) ** 2,
    ),
    "keywords": Generated(
        "k = cp.ElementwiseKernel(in_params='int32 x', out_params='int32 z', operation='z = 2 * x', name='twice')",
        2 * np.arange(1024),
        "int32",
    ),
    "letters": Generated("k = cp.ElementwiseKernel('T x, S y', 'T z', 'z = x + y', 'add')", 2 * X),
    "raw and i": Generated(
        "k = cp.ElementwiseKernel('raw T x, int32 n', 'T z', 'z = x[n - i - 1]', 'back')\nk(a, 1024)", X[::-1]
    ),
    "size": Generated(
        "k = cp.ElementwiseKernel('T x', 'T z', 'z = i == _ind.size() - 1 ? 7 : x', 'last')", [*X[:-1], 7]
    ),
    "several lines": Generated(
        "k = cp.ElementwiseKernel('T x', 'T z', '''\n  T y = x + 1;\n  z = y * y\n''', 'lines')", (X + 1) ** 2
    ),
    "preamble": Generated(
        "k = cp.ElementwiseKernel('T x', 'T z', 'z = half_of(x)', 'halves', preamble='''\n"
        "__device__ float half_of(float v) { return v / 2; }\n''')",
        X / 2,
    ),
    "loops around": Generated(
        "k = cp.ElementwiseKernel('T x', 'T z', 'z = base + x', 'prepared', loop_prep='float base = 10')", X + 10
    ),
    "two outputs": Generated("k = cp.ElementwiseKernel('T x', 'T y, T z', 'y = x; z = -x', 'pair')", -X),
    "sum": Generated("k = cp.ReductionKernel('T x', 'T y', 'x', 'a + b', 'y = a', '0', 'total')", [523776]),
    "norm": Generated(
        "from cupy import ReductionKernel\nk = ReductionKernel('float64 x', 'float64 y', 'x * x', 'a + b', "
        "'y = sqrt(a)', '0', name='norm')",
        [np.sqrt((np.arange(1024.0) ** 2).sum())],
        "float64",
    ),
    "largest": Generated("k = cp.ReductionKernel('T x', 'T y', 'x', 'max(a, b)', 'y = a', '-INFINITY', 'top')", [1023]),
    "mean": Generated(
        "k = cp.ReductionKernel('T x', 'T y', 'x', 'a + b', 'y = a / _in_ind.size()', '0', 'mean')", [511.5]
    ),
    "names a and b": Generated(
        "k = cp.ReductionKernel('T a, T b', 'T y', 'a * b', 'a + b', 'y = a', '0', 'dot')",
        [np.sum(X.astype(float) ** 2)],
    ),
    "reduce type": Generated(
        "k = cp.ReductionKernel('int8 x', 'int32 y', 'x', 'a + b', 'y = a', 0, 'wide', 'int')",
        [int(np.random.default_rng(0).integers(0, 100, 1024).sum())],
        "int32",
    ),
}


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_kernel_computes_what_cupy_says(name: str) -> None:
    case = GENERATED[name]
    found = recognise(HEAD + case.text)
    assert found.diagnostics == ()
    (kernel,) = found.kernels
    code = compiled(kernel.request)
    assert code.messages() == []
    assert code.messages("warning") == []
    job = launched(kernel.request, code)
    assert job.messages() == []
    last = kernel.request.buffers[-1].name
    want = np.array(case.want).astype(case.dtype)
    np.testing.assert_allclose(array(job, last, case.dtype), want, rtol=1e-5)


ADD = 'extern "C" __global__ void add(const float *x, float *y) { y[threadIdx.x] += x[threadIdx.x]; }'
TWICE = ADD.replace("{", "{{").replace("}", "}}")
SCALE = "template <typename T> __global__ void scale(T *x, T f) { x[threadIdx.x] *= f; }"

RAW: dict[str, tuple[str, str, dict[str, Any]]] = {
    "raw kernel": (
        f"k = cp.RawKernel(r'''{ADD}''', 'add')\nk((4,), (128,), (x, y))",
        "add",
        {"grid": (4,), "block": (128,)},
    ),
    "names of the launch": (
        f"code = '''{ADD}'''\nN, B = 1024, 8\nT = 16\n"
        "k = cp.RawKernel(code, 'add')\nk((1024 // T, 2), (T, 4), (x, y), shared_mem=256)",
        "add",
        {"grid": (64, 2), "block": (16, 4), "dynamic_shared_bytes": 256},
    ),
    "from cupy": (f"from cupy import RawKernel as RK\nk = RK('''{ADD}''', 'add')", "add", {}),
    "called at once": (f"cp.RawKernel('''{ADD}''', 'add')((2,), (32,), (x, y))", "add", {"grid": (2,), "block": (32,)}),
    "f-string": (f"N = 3\nk = cp.RawKernel(f'''#define N {{N}}\n{TWICE}''', 'add')", "add", {}),
    "format": ("k = cp.RawKernel('#define N {}\\n{code}'.format(3, code='''" + ADD + "'''), 'add')", "add", {}),
    "replace": (f"k = cp.RawKernel('''{ADD.replace('add', 'NAME')}'''.replace('NAME', 'add'), 'add')", "add", {}),
    "sum of texts": (f"k = cp.RawKernel('// begin\\n' + '''{ADD}''' + '\\n// end', 'add')", "add", {}),
    "dedent": (f"import textwrap\nk = cp.RawKernel(textwrap.dedent('''\n    {ADD}\n'''), 'add')", "add", {}),
    "module": (
        f"m = cp.RawModule(code='''{ADD}''')\nk = m.get_function('add')\nk((3,), (64,), (x, y))",
        "add",
        {"grid": (3,)},
    ),
    "template": (f"m = cp.RawModule(code='''{SCALE}''', name_expressions=['scale<float>'])", "scale<float>", {}),
    "inside a function": (
        f"def main():\n    k = cp.RawKernel('''{ADD}''', 'add')\n    k((7,), (32,), (x,))",
        "add",
        {"grid": (7,)},
    ),
}


@pytest.mark.parametrize("name", RAW)
def test_a_raw_kernel_brings_its_source_entry_and_launch(name: str) -> None:
    text, entry, config = RAW[name]
    found = recognise(HEAD + text)
    assert found.diagnostics == ()
    (kernel,) = found.kernels
    (step,) = kernel.request.steps
    assert isinstance(step, Launch)
    assert (kernel.name, step.entry) == (entry, entry)
    for field, value in config.items():
        assert getattr(step.config, field) == value
    assert "__global__ void" in kernel.request.source.text


def test_options_become_those_of_a_request() -> None:
    text = (
        f"m = cp.RawModule(code='''{ADD}''', backend='nvcc', options=('-std=c++14', '-DN=3', '-D', 'M', "
        "'--use_fast_math', '--fmad=false', '--maxrregcount=32', '-lineinfo', '-I/usr/include'))"
    )
    found = recognise(HEAD + text)
    options = found.kernels[0].request.options
    assert (options.standard, options.fast_math, options.fmad, options.max_registers) == ("c++14", True, False, 32)
    assert [(item.name, item.value) for item in options.defines] == [("N", "3"), ("M", "1")]
    assert [item.message for item in found.diagnostics] == ["these options have no counterpart here: -I/usr/include"]


def test_several_kernels_keep_their_order() -> None:
    text = f"m = cp.RawModule(code='''{SCALE}''', name_expressions=('scale<float>', 'scale<int>'))\n"
    text += f"k = cp.RawKernel('''{ADD}''', 'add')"
    assert [(item.name, item.line) for item in recognise(HEAD + text).kernels] == [
        ("scale<float>", 3),
        ("scale<int>", 3),
        ("add", 4),
    ]


TOLD = {
    "unknown value": ("k = cp.RawKernel(f'int x = {size};', 'k')", "the value of size is not known", 3),
    "read from a file": ("k = cp.RawKernel(open('k.cu').read(), 'k')", "without running the text", 3),
    "path": ("m = cp.RawModule(path='k.cubin')", "paste the CUDA C++ itself", 3),
    "assigned twice": ("c = 'a'\nc = 'b'\nk = cp.RawKernel(c, 'k')", "the value of c is not known", 5),
    "parameter": ("k = cp.ElementwiseKernel('float32', 'T z', 'z = 1')", "is no parameter such as", 3),
    "complex": ("k = cp.ElementwiseKernel('complex64 x', 'T z', 'z = 1')", "the type complex64 of x", 3),
    "shape": ("k = cp.ElementwiseKernel('raw T x', 'T z', 'z = x.size()')", "x is raw and asked for its size", 3),
    "no output": ("k = cp.ElementwiseKernel('T x', '', 'x')", "no output parameter", 3),
    "a name": ("k = cp.ElementwiseKernel('T x', 'T z', 'z = x', 'my kernel')", "is no name of a function", 3),
    "no kernel in it": ("k = cp.RawModule(code='int x;')", "no __global__ function", 3),
    "a bomb": ("k = cp.RawKernel('a' * 10 ** 9, 'k')", "not known without running", 3),
    "nothing": ("x = 1", "no kernel of CuPy was found", None),
    "not Python": ("k = (", "was never closed", 3),
    "two dtypes": ("c = '%s' % (1, 2)\nk = cp.RawKernel(c, 'k')", "do not fit", 3),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_cannot_be_read_is_told_at_its_line(name: str) -> None:
    text, message, line = TOLD[name]
    found = recognise(HEAD + text)
    assert found.verdict == "compile-error"
    (told,) = found.diagnostics
    assert message in told.message
    assert (told.span.line if told.span else None) == line


SCRIPT = """
import cupy as cp
import numpy as np
add = cp.RawKernel(r'''extern "C" __global__ void add(const float *a, const float *b, float *c, int n, float f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = f * (a[i] + b[i]);
}''', 'add')
n = 96
a = cp.arange(n, dtype=cp.float32).reshape(4, -1)
b = cp.ones((4, 24), dtype='float32')
c = cp.zeros_like(a)
add(((n + 31) // 32,), (32,), (a, b, c, n, np.float32(0.5)))
"""


def test_a_raw_kernel_takes_its_arrays_from_the_call() -> None:
    (kernel,) = recognise(SCRIPT).kernels
    assert [(item.name, item.dtype, item.shape) for item in kernel.request.buffers] == [
        *(("a", "float32", (4, 24)), ("b", "float32", (4, 24)), ("c", "float32", (4, 24))),
    ]
    job = launched(kernel.request, compiled(kernel.request))
    np.testing.assert_array_equal(array(job, "c", "float32"), (np.arange(96, dtype=np.float32) + 1) / 2)


ARRAYS = {
    "cp.arange(8)": ("int64", (8,), {"kind": "arange", "start": 0, "step": 1}),
    "np.arange(1, 2, 0.25)": ("float64", (4,), {"kind": "arange", "start": 1, "step": 0.25}),
    "cp.zeros((2, 3), np.int32)": ("int32", (2, 3), {"kind": "zeros"}),
    "cp.empty(5, dtype='f')": None,
    "cp.full((4,), 2.5, dtype=cp.float16)": ("float16", (4,), {"kind": "full", "value": 2.5}),
    "cp.ones(4, dtype=bool)": ("bool", (4,), {"kind": "full", "value": 1}),
    "np.linspace(0, 1, 11)": ("float64", (11,), {"kind": "linspace", "start": 0, "stop": 1}),
    "cp.random.rand(2, 2).astype(np.float32)": ("float32", (2, 2), {"kind": "uniform"}),
    "np.random.default_rng(1).standard_normal(size=6)": ("float64", (6,), {"kind": "normal"}),
    "cp.asarray(np.arange(6, dtype=np.int32).reshape(2, 3))": ("int32", (2, 3), {"kind": "arange"}),
    "cp.arange(6).reshape((3, -1)).ravel()": ("int64", (6,), {"kind": "arange"}),
    "cp.load('x.npy')": None,
    "cp.zeros()": None,
    "cp.arange(1e999)": None,
    "cp.arange(0, 1, 0)": None,
    "cp.full((2,), 'x')": None,
    "cp.arange(4).reshape(None)": None,
    "cp.zeros(1 << 40)": None,
    "cp.zeros(n)": None,
    "cp.zeros((0,))": None,
    "cp.arange(6).reshape(4, 4)": None,
}


@pytest.mark.parametrize("text", ARRAYS)
def test_arrays_are_read_off_the_text(text: str) -> None:
    want = ARRAYS[text]
    (kernel,) = recognise(f"{HEAD}k = cp.RawKernel('''{ADD}''', 'add')\nk((1,), (1,), ({text},))").kernels
    if want is None:
        assert (kernel.request.buffers, kernel.request.steps[0].arguments) == ((), ())  # type: ignore[union-attr]
        return
    (buffer,) = kernel.request.buffers
    assert (buffer.dtype, buffer.shape) == want[:2]
    assert want[2].items() <= buffer.init.model_dump().items()


def test_a_launch_of_numba_is_taken_over() -> None:
    text = (
        "from numba import cuda\nimport numpy as np\n@cuda.jit\ndef k(x, n, f):\n    x[0] = n\n"
        "n = 64\nx = cuda.to_device(np.ones(n, dtype=np.float32))\nk[n // 32, 32, 0, 128](x, n, np.float32(2))\n"
    )
    (kernel,) = recognise(text).kernels
    step = kernel.request.steps[0]
    assert isinstance(step, Launch)
    assert (kernel.kind, kernel.name, kernel.line, kernel.request.source.language) == ("numba", "k", 4, "numba")
    assert (step.config.grid, step.config.block, step.config.dynamic_shared_bytes) == ((2,), (32,), 128)
    assert [item.kind for item in step.arguments] == ["buffer", "scalar", "scalar"]
    assert kernel.request.buffers[0].shape == (64,)


def test_kernels_of_numba_are_named_as_such() -> None:
    found = recognise("from numba import cuda\n@cuda.jit\ndef k(x):\n    pass\n")
    assert (found.verdict, found.numba, found.kernels) == ("ok", True, ())


@pytest.mark.parametrize(
    "text", ["(" * 5000, "a." * 90000 + "b", "-" * 90000 + "1", "x = " + "[" * 150 + "]" * 150, "1" * 9000]
)
def test_deep_and_long_texts_end_in_words(text: str) -> None:
    assert recognise(HEAD + text).diagnostics
