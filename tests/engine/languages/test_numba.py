"""Kernels of Numba: what they compute, how arguments reach them, and what the form learns of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from protocol.run import compile_request
from tests.engine.child_jobs import array
from tests.engine.languages.numba_jobs import (
    HEAD,
    array_of,
    compiled,
    kernel,
    launch,
    launched,
    number,
    ran,
    run_of,
    run_of_steps,
    translated,
)

T = np.arange(32)


@dataclass(frozen=True)
class Case:
    """A kernel k(x, …) on 32 elements by one warp, and what x then holds."""

    body: str
    want: Any
    dtype: str = "float32"
    init: dict[str, Any] = field(default_factory=lambda: {"kind": "arange"})
    arguments: tuple[dict[str, Any], ...] = ()
    decorator: str = "@cuda.jit"
    before: str = ""
    shared: int = 0
    shape: tuple[int, ...] = (32,)
    block: tuple[int, ...] = (32,)


X = T.astype(np.float32)
TURN = "t = cuda.threadIdx.x\ns[t] = x[t]\ncuda.syncthreads()\nx[t] = s[31 - t]"
CASES = {
    "shared": Case(
        f"s = cuda.shared.array(32, np.float32)\n{TURN}",
        X[::-1],
    ),
    "dynamic shared": Case(
        f"s = cuda.shared.array(0, np.float32)\n{TURN}",
        X[::-1],
        shared=128,
    ),
    "local": Case(
        "s = cuda.local.array(4, np.int32)\nt = cuda.grid(1)\nfor i in range(4): s[i] = t + i\nx[t] = s[t % 4]",
        T + T % 4,
    ),
    "two axes": Case(
        "i, j = cuda.grid(2)\nif i < x.shape[0] and j < x.shape[1]:\n    x[i, j] = 10 * i + j",
        (10 * np.arange(4)[:, None] + np.arange(8)).ravel(),
        shape=(4, 8),
        block=(4, 8),
    ),
    "strides": Case("for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):\n    x[i] += 1", X + 1, block=(5,)),
    "slices": Case(
        "y = x[8:16]\nif cuda.grid(1) < 8: y[cuda.grid(1)] = len(y)\nx[-1] = -1", [*T[:8], *[8] * 8, *T[16:31], -1]
    ),
    "integer atomics": Case(
        "cuda.atomic.add(x, 0, 2)\ncuda.atomic.max(x, 1, cuda.grid(1))\ncuda.atomic.min(x, 2, -5)\n"
        "cuda.atomic.cas(x, 3, 0, 7)\ncuda.atomic.exch(x, 4, 9)\ncuda.atomic.or_(x, 5, 1 << (cuda.grid(1) % 4))",
        [64, 31, -5, 7, 9, 15] + [0] * 26,
        "int32",
        {"kind": "zeros"},
    ),
    "atomics of doubles": Case(
        "cuda.atomic.add(x, 0, 0.5)\ncuda.atomic.max(x, 1, float(cuda.grid(1)))",
        [16, 31] + [0] * 30,
        "float64",
        {"kind": "zeros"},
    ),
    "warp": Case(
        "t = cuda.laneid\nv = cuda.shfl_xor_sync(0xffffffff, t, 1)\nw = cuda.ballot_sync(0xffffffff, t % 2 == 0)\n"
        "cuda.syncwarp()\nx[t] = v + cuda.popc(w)",
        (T ^ 1) + 16,
        "int32",
    ),
    "counted barrier": Case("n = cuda.syncthreads_count(int(cuda.grid(1) < 5))\nx[cuda.grid(1)] = n", [5] * 32),
    "constant array": Case(
        "a = cuda.const.array_like(A)\nx[cuda.grid(1)] = a[cuda.grid(1) % 4]", T % 4, before="A = np.arange(4)"
    ),
    "names of the module": Case(
        "s = cuda.shared.array(N, np.float32)\nx[cuda.grid(1)] = A[1] + N",
        [11] * 32,
        before="N = 8\nA = np.array([1, 3])",
    ),
    "device function": Case(
        "x[cuda.grid(1)] = f(x[cuda.grid(1)], 2)",
        X * 2,
        before="@cuda.jit(device=True)\ndef f(a, b):\n    return a * b",
    ),
    "njit": Case(
        "x[cuda.grid(1)] = f(x[cuda.grid(1)])", X + 1, before="import numba\n@numba.njit\ndef f(a):\n    return a + 1"
    ),
    "random": Case(
        "s = cuda.local.array(1, xoroshiro128p_dtype)\ninit_xoroshiro128p_state(s, 0, 1)\nx[cuda.grid(1)] = "
        "xoroshiro128p_uniform_float32(s, 0)",
        [np.float32(0.13312314)] * 32,
        before="from numba.cuda.random import *\n"
        "from numba.cuda.random import xoroshiro128p_dtype, init_xoroshiro128p_state",
    ),
    "half": Case("x[cuda.grid(1)] = x[cuda.grid(1)] * np.float16(2) + np.float16(1)", 2 * T + 1, "float16"),
    "complex": Case(
        "x[cuda.grid(1)] = x[cuda.grid(1)] * z + 1j",
        T * (1 + 2j) + 1j,
        "complex64",
        arguments=(number("z", "1+2j", "complex64"),),
    ),
    "bool": Case(
        "x[cuda.grid(1)] = b and cuda.grid(1) > h",
        T > 2.5,
        "bool",
        {"kind": "zeros"},
        (number("b", True), number("h", 2.5, "float16")),
    ),
    "numbers without types": Case(
        "x[cuda.grid(1)] = i // 2 + f", [3 + 0.25] * 32, "float64", arguments=(number("i", 7), number("f", 0.25))
    ),
    "vector types": Case("v = cuda.float32x4(1, 2, 3, 4)\nx[cuda.grid(1)] = v.x + v.w", [5] * 32),
    "reshape": Case("y = x.reshape(4, 8)\nif cuda.grid(1) == 0: y[1, 0] = -1", [*T[:8], -1, *T[9:]]),
    "math": Case(
        "v = x[cuda.grid(1)]\n"
        "x[cuda.grid(1)] = math.sqrt(v) + math.floor(v / 3) + math.pow(v, 2) + abs(-v) + max(v, 2.0)",
        np.sqrt(T) + T // 3 + T**2.0 + T + np.maximum(T, 2.0),
        "float64",
    ),
    "launch bounds": Case("x[cuda.grid(1)] = 1", [1] * 32, decorator="@cuda.jit(launch_bounds=64)"),
    "fast math": Case("x[cuda.grid(1)] = x[cuda.grid(1)] + 1", X + 1, decorator="@cuda.jit(fastmath=True)"),
    "signature": Case(
        "x[cuda.grid(1)] = n", [3] * 32, decorator='@cuda.jit("void(float32[:], int32)")', arguments=(number("n", 3),)
    ),
}


def source(case: Case) -> str:
    names = ", ".join(["x", *(item["name"] for item in case.arguments)])
    body = "".join(f"    {line}\n" for line in case.body.split("\n"))
    return f"{HEAD}{case.before}\n{case.decorator}\ndef k({names}):\n{body}"


@pytest.mark.parametrize("name", CASES)
def test_what_a_kernel_computes(name: str) -> None:
    case = CASES[name]
    x = array_of("x", case.dtype, *case.shape, **case.init)
    job = ran(run_of(source(case), x, *case.arguments, block=case.block, shared=case.shared))
    want = np.array(case.want).astype(case.dtype)
    np.testing.assert_allclose(array(job, "x", case.dtype), want, rtol=2e-7 if case.dtype == "float64" else 1e-6)


def test_states_of_random_numbers_are_a_buffer_of_two_words_each() -> None:
    text = HEAD + (
        "from numba.cuda.random import xoroshiro128p_uniform_float64\n\n"
        "@cuda.jit\ndef k(states, x):\n    i = cuda.grid(1)\n    x[i] = xoroshiro128p_uniform_float64(states, i)\n"
    )
    seeds = array_of("states", "uint64", 32, 2, kind="integers", high="9223372036854775807", seed=7)
    run = run_of(text, seeds, array_of("x", "float64"))
    code = compiled(run)
    (states, _) = kernel(code).entries[0].parameters
    assert (states.kind, states.dtype, states.dimensions, states.components) == ("pointer", "uint64", 1, 2)
    first = np.random.default_rng(7).integers(0, 9223372036854775807, (32, 2)).astype(np.uint64)
    want = ((first[:, 0] + first[:, 1]) >> np.uint64(11)) / 2.0**53
    np.testing.assert_array_equal(array(launched(run, code), "x", "float64"), want)
    flat = run_of(text, array_of("states", "uint64", 64), array_of("x", "float64"))
    assert compiled(flat).messages() == [
        "states holds states of random numbers: give a buffer of uint64 with the shape n × 2"
    ]
    wide = run_of(text, array_of("states", "uint64", 16, 4), array_of("x", "float64"))
    assert "but states, uint64[16, 4], is given" in compiled(wide).messages()[0]


def test_a_cooperative_launch_meets_at_the_grid() -> None:
    text = HEAD + (
        "@cuda.jit\ndef k(x):\n    grid = cuda.cg.this_grid()\n    x[cuda.grid(1)] = 1\n    grid.sync()\n"
        "    y = x[63 - cuda.grid(1)]\n    grid.sync()\n    x[cuda.grid(1)] += y\n"
    )
    run = run_of(text, array_of("x", "float32", 64), grid=(2,))
    assert kernel(compiled(run)).entries[0].synchronises_grid
    step = run.steps[0]
    together = step.model_copy(update={"config": step.config.model_copy(update={"cooperative": True})})
    job = ran(run.model_copy(update={"steps": (together,)}))
    assert array(job, "x", "float32").tolist() == [2.0] * 64


ADD = HEAD + (
    "@cuda.jit\ndef add(x, y, n):\n    i = cuda.grid(1)\n    if i < n:\n        y[i] += x[i]\n        if i == 1:\n"
    '            print("thread", i, y[i], True)\n'
)


def add(n: int = 32, dtype: str = "float32") -> Any:
    arrays = array_of("x", dtype, kind="arange"), array_of("y", dtype)
    return run_of(ADD, *arrays, number("n", n), grid=(2,))


def test_what_the_form_learns() -> None:
    (entry,) = kernel(compiled(add())).entries
    x, y, n = entry.parameters
    assert (entry.display, entry.line, entry.compiled) == ("add", 4, True)
    assert (x.kind, x.dtype, x.type, x.const, x.dimensions) == ("pointer", "float32", "float32[:]", True, 1)
    assert (y.const, y.offset, y.bytes) == (False, 56, 56)
    assert (n.kind, n.dtype, n.offset, n.bytes) == ("scalar", "int64", 112, 8)
    assert 0 < entry.resources.registers < 64
    assert entry.resources.max_threads_per_block == 1024


def test_print_and_faults_tell_lines_of_the_source() -> None:
    job = ran(add())
    assert "".join(event["text"] for event in job.kind("printed")) == "thread 1 1.000000 True\n"
    run = add(40)
    (found,) = launched(run, compiled(run)).kind("found")
    assert (found["buffer"], found["index"], found["span"]["line"], found["thread"]) == ("x", 32, 8, [0, 0, 0])


def test_a_fault_in_a_device_function_stands_at_its_own_line() -> None:
    text = (
        HEAD
        + "@cuda.jit(device=True)\ndef f(x, i):\n    return x[i + 32]\n\n"
        + "@cuda.jit\ndef k(x):\n    x[0] = f(x, cuda.grid(1))\n"
    )
    run = run_of(text, array_of("x"))
    (found,) = launched(run, compiled(run)).kind("found")
    assert found["span"]["line"] == 6


def test_kernels_are_listed_before_a_launch_gives_types() -> None:
    run = add()
    job = compiled(run.model_copy(update={"steps": run.steps}))
    assert kernel(job).entries[0].types is not None
    blank = compile_request(run).model_copy(update={"specialisations": ()})
    assert [item.display for item in listed(blank)] == ["add"]
    (entry,) = listed(blank)
    assert [(item.name, item.kind) for item in entry.parameters] == [(name, "unknown") for name in ("x", "y", "n")]
    assert not entry.compiled


def listed(request: Any) -> Any:
    from engine import child_entry
    from engine.translate import job as translating
    from protocol.run import CompileJob, TranslateJob
    from protocol.translation import Translation
    from tests.engine.child_jobs import Job

    job = Job()
    translating.translate_job(TranslateJob(request=request).model_dump_json().encode(), {}, job)
    made = Translation.model_validate_json(job.artifacts["translation"])
    child_entry.compile_job(CompileJob(request=request, translation=made).model_dump_json().encode(), {}, job)
    return kernel(job).entries


def test_one_kernel_for_several_types_and_several_kernels_in_one_module() -> None:
    """Each with a shared array and a text, which have one name in every module that Numba makes."""
    text = HEAD + (
        "@cuda.jit\ndef put(x, v):\n    s = cuda.shared.array(32, np.float64)\n    s[cuda.grid(1)] = v\n"
        '    x[cuda.grid(1)] = s[cuda.grid(1)]\n    if cuda.grid(1) == 0: print("put")\n\n'
        "@cuda.jit\ndef twice(x):\n    s = cuda.shared.array(32, np.float64)\n    s[cuda.grid(1)] = x[cuda.grid(1)]\n"
        '    x[cuda.grid(1)] = 2 * s[cuda.grid(1)]\n    if cuda.grid(1) == 0: print("twice")\n'
    )
    a, b = array_of("a"), array_of("b", "int32")
    steps = [
        launch({**a, "name": "a"}, number("v", 1.5), entry="put"),
        launch({**b, "name": "b"}, number("v", 4), entry="put"),
        launch({**a, "name": "a"}, entry="twice"),
    ]
    for step in steps:
        for argument in step["arguments"]:
            argument["name"] = None
    run = run_of_steps(text, steps, [a, b])
    code = compiled(run)
    shown = [(item.display, item.name) for item in kernel(code).entries]
    assert [display for display, _ in shown] == ["put(float32[:], float64)", "put(int32[:], int64)", "twice"]
    assert len({name for _, name in shown}) == 3
    job = launched(run, code)
    assert array(job, "a", "float32").tolist() == [3.0] * 32
    assert array(job, "b", "int32").tolist() == [4] * 32
    assert "".join(event["text"] for event in job.kind("printed")) == "put\nput\ntwice\n"


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float64", "complex128", "bool"])
def test_arrays_of_every_type(dtype: str) -> None:
    text = HEAD + "@cuda.jit\ndef k(x, y):\n    y[cuda.grid(1)] = x[31 - cuda.grid(1)]\n"
    init = {"kind": "full", "value": True} if dtype == "bool" else {"kind": "arange"}
    job = ran(run_of(text, array_of("x", dtype, **init), array_of("y", dtype)))
    np.testing.assert_array_equal(array(job, "y", dtype), array(job, "x", dtype)[::-1])


def test_fmad_and_fast_math_of_the_options_reach_the_compiler() -> None:
    text = HEAD + "@cuda.jit\ndef k(x, a, b):\n    x[cuda.grid(1)] = a * x[cuda.grid(1)] + math.sin(b)\n"
    numbers = number("a", 2.5, "float32"), number("b", 0.5, "float32")

    def ptx(**options: bool) -> str:
        run = run_of(text, array_of("x"), *numbers, options=options)
        return kernel(compiled(run)).ptx

    assert "fma.rn.f32" in ptx()
    assert "sin.approx.ftz.f32" in ptx(fast_math=True)
    plain = ptx(fmad=False)
    assert plain.count("fma.rn.f32") < ptx().count("fma.rn.f32")


def test_arguments_that_do_not_fit_are_faults_of_the_launch() -> None:
    text = HEAD + "@cuda.jit\ndef k(x, n):\n    x[0] = n\n"
    cases = {
        "1 argument is given, but k(x, n) takes 2": [array_of("x")],
        "m is no parameter of k(x, n)": [array_of("x"), number("m", 1)],
        "x: Numba's arrays have no bfloat16": [array_of("x", "bfloat16"), number("n", 1)],
    }
    for message, arguments in cases.items():
        run = run_of(text, *arguments)
        if "m" not in [item["name"] for item in arguments]:
            run = _unnamed(run)
        job = translated(run)
        (told,) = [event["diagnostic"] for event in job.kind("diagnosed")]
        assert told["message"] == message
        assert told["field"] == "specialisations.0.arguments"
    run = run_of(HEAD + '@cuda.jit("void(float32[:,:])")\ndef k(x):\n    x[0, 0] = 1\n', array_of("x"))
    assert compiled(run).messages() == ["x is an array float32[:, :], but x, float32[32], is given"]


def _unnamed(run: Any) -> Any:
    step = run.steps[0]
    arguments = tuple(item.model_copy(update={"name": None}) for item in step.arguments)
    return run.model_copy(update={"steps": (step.model_copy(update={"arguments": arguments}),)})
