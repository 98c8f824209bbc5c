"""Kernels on the emulator beside C++, NumPy and Numba's simulator on the same processors, as ratios of one run."""

import functools
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy

from benchmarks.emulator import baseline
from benchmarks.emulator.cases import CASES, FOLDER, Array, Case
from cli import bench_latency
from cli.bench import percentile
from cli.local import Local, opened, perform
from cli.report import timed_total
from cli.usage import Refused
from protocol.reading import read
from protocol.result import RunResult
from protocol.run import RunRequest

PREVIOUS = FOLDER / "results.json"
"""What the last committed run measured."""
UNSIMULATED = ("matmul_register_tiled", "reduction", "softmax", "wmma_matmul")
"""Kernels that Numba's simulator lacks the features for: shuffles, tensor cores, register arrays of two dimensions."""
_SIMULATOR_SECONDS = 120
_PIECE = 1 << 16
"""Elements that are compared at once."""
_HEAD = ("kernel", "emulator", "code", "C++", "/ C++", "Numba sim", "/ sim", "NumPy", "/ NumPy", "G instr/s", "before")


@dataclass(frozen=True)
class Measured:
    """Seconds of one kernel: medians over rounds; None where there is nothing to compare with."""

    emulator: float
    jit: float
    cpp: float | None
    simulator: float | None
    numpy: float
    thread_instructions: int | None
    """None where they were not counted, in one round."""

    def as_json(self) -> dict[str, float | None]:
        return {
            "time_ratio_to_cpp": self.emulator / self.cpp if self.cpp else None,
            "time_ratio_to_numba_simulator": self.emulator / self.simulator if self.simulator else None,
            "time_ratio_to_numpy": self.emulator / self.numpy,
            "jit_ms": self.jit * 1000,
            "run_ms": self.emulator * 1000,
            "cpp_ms": self.cpp * 1000 if self.cpp else None,
            "thread_instructions_per_second": (
                self.thread_instructions / self.emulator if self.thread_instructions else None
            ),
        }


def measure(
    rounds: int, processors: int, only: Sequence[str] = (), report: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """All cases, or those named. Raises Refused where a kernel fails or gives a wrong result."""
    unknown = sorted(set(only) - {case.name for case in CASES})
    if unknown:
        raise Refused(f"no such kernel: {', '.join(unknown)}; there are {', '.join(case.name for case in CASES)}")
    with _pinned(processors) as names, tempfile.TemporaryDirectory() as folder:
        try:
            library = baseline.build(Path(folder))
        except baseline.NoCompiler as error:
            report(f"without C++: {error}")
            library = None
        chosen = [case for case in CASES if not only or case.name in only]
        simulated: dict[str, float] = {}
        if find_spec("numba") is None:
            report("without Numba's simulator: numba is not installed")
        else:
            simulated = _simulated([case.name for case in chosen])
        kernels = {}
        # A text that was never seen, so that the first run of each kernel makes its code.
        source = f"{(FOLDER / 'kernels.cu').read_text(encoding='utf-8')}// {time.time_ns()}\n"
        with opened() as local:
            for case in chosen:
                measured = _measure(local, case, source, rounds, library, simulated.get(case.name))
                kernels[case.name] = measured.as_json()
            latency = {} if only else bench_latency.measure(local, max(1, rounds // 2))
        speed = _memcpy(rounds)
        return {"processors": names, "memcpy_gigabytes_per_second": speed, "kernels": kernels, "latency": latency}


@contextmanager
def _pinned(count: int) -> Iterator[list[int]]:
    """This process, and what it starts, on the first `count` of its processors."""
    before = os.sched_getaffinity(0)
    if count > len(before):
        raise Refused(f"{count} processors are asked for, and there are {len(before)}")
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield sorted(before)[:count]
    finally:
        os.sched_setaffinity(0, before)


def _measure(local: Local, case: Case, source: str, rounds: int, library: Any, simulated: float | None) -> Measured:
    inputs = case.inputs()
    digests = {name: local.stores.blobs.put(_npy(array)) for name, array in inputs.items()}
    begin = time.perf_counter()
    expected = case.compute(**inputs)
    computed = [time.perf_counter() - begin]
    result = _run(local, _request(case, source, inputs, digests, 1))
    _compare(case, "the emulator", _output(local, case, result, expected), expected)
    instructions = None
    if rounds > 1:
        counted = _run(local, _request(case, source, inputs, digests, 1, counted=True)).counters[0].counters
        instructions = counted["thread_instructions"]
    runs, plain, scalars = [], [], list(case.scalars.values())
    if library is not None:
        buffers = _buffers(case, inputs)
        baseline.call(library, case.name, list(buffers.values()), scalars)
        _compare(case, "C++", buffers[case.output], expected)
    for _ in range(rounds):
        timed = [
            item.seconds
            for item in _run(local, _request(case, source, inputs, digests, 3)).timings
            if item.stage == "run"
        ]
        runs += timed[1:]
        if library is not None:
            buffers = _buffers(case, inputs)
            plain += [baseline.call(library, case.name, list(buffers.values()), scalars) for _ in range(3)][1:]
    local.forget()
    return Measured(
        percentile(runs, 0.5),
        timed_total(result.timings, "jit"),
        percentile(plain, 0.5) if plain else None,
        simulated,
        min(computed + [_timed(functools.partial(case.compute, **inputs)) for _ in range(min(rounds, 3) - 1)]),
        instructions,
    )


def _request(
    case: Case, source: str, inputs: dict[str, Array], digests: dict[str, str], launches: int, counted: bool = False
) -> RunRequest:
    buffers = [
        {
            "name": name, "dtype": array.dtype.name, "shape": array.shape,
            "role": "inout" if name == case.output else "in",
            "init": {"kind": "upload", "digest": digests[name]},
        }
        for name, array in inputs.items()
    ]  # fmt: skip
    buffers += [{"name": name, "dtype": kind, "shape": shape, "role": "out"} for name, shape, kind in case.fresh]
    step = {
        "kind": "launch", "entry": case.entry, "config": {"grid": case.grid, "block": case.block},
        "arguments": [
            *({"kind": "scalar", "name": name, "value": value} for name, value in case.scalars.items()),
            *({"kind": "buffer", "name": buffer["name"], "buffer": buffer["name"]} for buffer in buffers),
        ],
    }  # fmt: skip
    body = {
        "source": {"text": source}, "buffers": buffers, "steps": [step] * launches, "device": "emulator",
        "instruments": ["counters"] if counted else [],
    }  # fmt: skip
    return read(RunRequest, json.dumps(body))


def _run(local: Local, request: RunRequest) -> RunResult:
    result, ended = perform(local, request, "emulator", lambda event: None)
    # What runs next is the code that stays, without the making of it beside.
    local.improver.wait()
    if ended.verdict != "ok":
        raise Refused(f"{request.steps[0].entry} ended with {ended.verdict}: {ended.message}", code=1)  # type: ignore[union-attr]
    return result


def _output(local: Local, case: Case, result: RunResult, like: Array) -> Array:
    event = next(item for item in result.buffers if item.name == case.output)
    data = local.stores.blobs.get(event.digest)
    if data is None or hashlib.sha256(data).hexdigest() != event.digest:
        raise Refused(f"{case.name}: the result is not whole", code=1)
    return numpy.frombuffer(data, event.dtype).reshape(like.shape)


def _buffers(case: Case, inputs: dict[str, Array]) -> dict[str, Array]:
    fresh = {name: numpy.zeros(shape, kind) for name, shape, kind in case.fresh}
    return {name: array.copy() for name, array in inputs.items()} | fresh


def _compare(case: Case, who: str, got: Array, expected: Array) -> None:
    most = case.tolerance * max(abs(float(expected.max())), abs(float(expected.min())))
    wrong = 0
    # Piece by piece, so that doubles of all elements need no memory.
    for start in range(0, expected.size, _PIECE):
        piece = slice(start, start + _PIECE)
        difference = got.reshape(-1)[piece].astype(numpy.float64) - expected.reshape(-1)[piece]
        wrong += int((~(numpy.abs(difference) <= most)).sum())
    if wrong > case.share * expected.size:
        raise Refused(f"{case.name}: {wrong:,} of {expected.size:,} elements of {who} differ from NumPy's", code=1)


def _npy(array: Array) -> bytes:
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def _simulated(names: Sequence[str]) -> dict[str, float]:
    """Seconds of whole cases in Numba's simulator, scaled from a size that finishes; without those it cannot run."""
    able = [name for name in names if name not in UNSIMULATED]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "benchmarks.emulator.simulated", *able],
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(FOLDER.parents[1])},
        capture_output=True, text=True, timeout=_SIMULATOR_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Refused(f"the simulator failed: {done.stderr.strip().splitlines()[-1]}", code=1)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _memcpy(rounds: int) -> float:
    """Bytes copied a second by one memcpy of 64 MiB, in GB/s."""
    origin, to = numpy.ones(1 << 23), numpy.zeros(1 << 23)
    return origin.nbytes / min(_timed(lambda: numpy.copyto(to, origin)) for _ in range(max(3, rounds))) / 1e9


def table(results: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows for `show`: times, ratios, and the ratio to C++ of the run that is committed."""
    before = json.loads(PREVIOUS.read_text(encoding="utf-8"))["kernels"] if PREVIOUS.exists() else {}
    rows: list[tuple[str, ...]] = [_HEAD]
    for name, got in results["kernels"].items():
        of_cpp, of_simulator, of_numpy = (
            got[f"time_ratio_to_{other}"] for other in ("cpp", "numba_simulator", "numpy")
        )
        run = got["run_ms"] / 1000
        was = before.get(name, {}).get("time_ratio_to_cpp")
        simulated = (_time(run / of_simulator), f"1/{1 / of_simulator:,.0f}") if of_simulator else ("–", "–")
        cpp = _time(run / of_cpp) if of_cpp else "–"
        instructions = got["thread_instructions_per_second"]
        speed = f"{instructions / 1e9:.1f}" if instructions else "–"
        times = (_time(run), _time(got["jit_ms"] / 1000), cpp, _ratio(of_cpp))
        rows.append((name, *times, *simulated, _time(run / of_numpy), _ratio(of_numpy), speed, _ratio(was)))
    return rows


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms" if seconds < 1 else f"{seconds:,.1f} s"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
