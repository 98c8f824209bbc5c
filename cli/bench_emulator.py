"""Kernels on the emulator beside NumPy on one thread: a ratio of two times of one run on one processor."""

import functools
import time
from collections.abc import Callable

import numpy

from cli.bench import percentile
from cli.local import examples, opened, perform
from cli.report import milliseconds, timed_total
from cli.usage import Refused
from store.examples import Example


@functools.cache
def _example(name: str) -> Example:
    return next(example for example in examples() if example.id == name)


def _saxpy() -> Callable[[], object]:
    x, y = (numpy.random.default_rng(seed).random(1 << 20, dtype=numpy.float32) for seed in (1, 2))
    return lambda: numpy.add(numpy.float32(2.5) * x, y)


def _matmul() -> Callable[[], object]:
    a, b = (numpy.random.default_rng(seed).random((256, 256), dtype=numpy.float32) for seed in (1, 2))
    return lambda: numpy.einsum("ik,kj->ij", a, b)


def _mandelbrot() -> Callable[[], object]:
    code = compile(_example("mandelbrot").reference, "mandelbrot", "exec")
    return lambda: exec(code, {"np": numpy})


def _sum() -> Callable[[], object]:
    values = numpy.random.default_rng(1).random(1 << 20, dtype=numpy.float32)
    return lambda: values.sum()


def _histogram() -> Callable[[], object]:
    data = numpy.random.default_rng(5).integers(0, 256, size=1 << 20).astype(numpy.uint8)
    return lambda: numpy.bincount(data, minlength=256)


BESIDE: dict[str, tuple[str, Callable[[], Callable[[], object]]]] = {
    "saxpy": ("2.5 * x + y", _saxpy),
    "matmul-naive": ("einsum without BLAS", _matmul),
    "matmul-tiled": ("einsum without BLAS", _matmul),
    "mandelbrot": ("256 rounds over arrays", _mandelbrot),
    "reduction": ("sum", _sum),
    "histogram": ("bincount", _histogram),
}
"""Example -> what NumPy does, and how it is made ready."""


def measure(rounds: int) -> list[tuple[str, ...]]:
    """Rows of example, emulator's run, its code generation, NumPy's time, ratio. Raises Refused where a run fails."""
    rows: list[tuple[str, ...]] = [("example", "emulator", "code", "NumPy", "NumPy / emulator", "NumPy does")]
    with opened() as local:
        for name, (beside, prepare) in BESIDE.items():
            request = _example(name).payload.request
            runs, code = [], 0.0
            for _ in range(rounds):
                result, ended = perform(local, request, "emulator", lambda event: None)
                if ended.verdict != "ok":
                    raise Refused(f"{name} ended with {ended.verdict}: {ended.message}", code=1)
                runs.append(timed_total(result.timings, "run"))
                code = max(code, timed_total(result.timings, "jit"))
                local.forget()
            emulated, plain = percentile(runs, 0.5), percentile(_time(prepare(), rounds), 0.5)
            generated = milliseconds(code) if code else "cached"
            rows.append(
                (name, milliseconds(emulated), generated, milliseconds(plain), f"{plain / emulated:.2f}", beside)
            )
    return rows


def _time(work: Callable[[], object], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return times[1:]
