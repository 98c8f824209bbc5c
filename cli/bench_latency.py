"""What the emulator takes beside a kernel's own work: until it is ready, around each launch, and until one stops."""

import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

from benchmarks.emulator.cases import CASES, FOLDER
from cli.bench import percentile
from cli.local import Local, inspect
from cli.usage import Refused
from protocol.events import Event, Launched
from protocol.reading import read
from protocol.run import CompileRequest, RunRequest
from protocol.source import Source
from sandbox import pipeline

BARS = {
    "ready_p90_ms": 65.0, "cached_p90_ms": 2.0, "straight_5000_ms": 250.0, "straight_30000_ms": 250.0,
    "branchy_600_ms": 250.0, "launch_us": 15.0, "cancel_ms": 20.0, "memory_mb": 50.0,
}  # fmt: skip
"""The most that the design allows of each figure."""
_WORDS = {
    "ready_p50_ms": "PTX to ready, p50 (CPU)", "ready_p90_ms": "PTX to ready, p90 (CPU)",
    "cached_p90_ms": "cached to ready, p90 (CPU)", "straight_5000_ms": "5,000 instructions to ready (CPU)",
    "straight_30000_ms": "30,000 instructions to ready (CPU)", "branchy_600_ms": "600 blocks to ready (CPU)",
    "launch_us": "a launch in a loop, beyond its work", "cancel_ms": "cancelled to ended",
    "memory_mb": "memory of a launch beside its arena",
}  # fmt: skip
_SECONDS = 300
_MANY = 5_000
_TICK = """
__global__ void tick(int *count) { if (!blockIdx.x) count[threadIdx.x] += 1; }
__global__ void forever(volatile int *count) { while (!count[1]) count[0] = 1; }
"""


def measure(local: Local, rounds: int) -> dict[str, float]:
    """Figures by name, as in _WORDS; times of CPU are of one thread, the others of a clock. Raises Refused."""
    figures = _ready(local, rounds)
    figures["launch_us"] = 1e6 * min(_overhead(local) for _ in range(rounds))
    figures["cancel_ms"] = 1e3 * percentile([_cancel(local) for _ in range(rounds)], 0.5)
    return {name: figures[name] for name in _WORDS}


def table(figures: dict[str, float]) -> list[tuple[str, ...]]:
    """Rows for `show`: figure, value, bar, and whether the value keeps it."""
    rows: list[tuple[str, ...]] = [("latency", "value", "bar", "")]
    for name, words in _WORDS.items():
        unit, bar = name.rpartition("_")[2].replace("us", "µs").replace("mb", "MB"), BARS.get(name)
        kept = "" if bar is None else "kept" if figures[name] <= bar else "over"
        rows.append((words, f"{figures[name]:.2f} {unit}", "" if bar is None else f"{bar:g} {unit}", kept))
    return rows


def _ready(local: Local, rounds: int) -> dict[str, float]:
    """The benchmark's kernels and large ones, in a process that has nothing else to do."""
    text = (FOLDER / "kernels.cu").read_text(encoding="utf-8")
    report = inspect(local, CompileRequest(source=Source(text=text)))
    names = {entry.display.partition("(")[0]: entry.name for entry in report.entries}
    kernels = [(case.name, names[case.entry], (*case.block, 1, 1)[:3]) for case in CASES]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "benchmarks.emulator.latency"],
        input=json.dumps({"ptx": report.ptx, "kernels": kernels, "rounds": rounds}),
        env=os.environ | {"PYTHONPATH": str(FOLDER.parents[1])},
        capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Refused(f"the measurement of latencies failed: {done.stderr.strip().splitlines()[-1]}", code=1)
    said = json.loads(done.stdout)
    ready, cached = list(said["ready_ms"].values()), list(said["cached_ms"].values())
    return {
        "ready_p50_ms": percentile(ready, 0.5), "ready_p90_ms": percentile(ready, 0.9),
        "cached_p90_ms": percentile(cached, 0.9), "memory_mb": said["memory_mb"],
        **{f"{name}_ms": value for name, value in said["large_ms"].items()},
    }  # fmt: skip


def _overhead(local: Local) -> float:
    """Seconds of a launch in a loop but those of its kernel."""
    few, many = _loop(local, 1), _loop(local, _MANY)
    return max(0.0, many - few) / (_MANY - 1)


def _loop(local: Local, count: int) -> float:
    """Seconds from the first launch of so many to the end of the run, without those of the kernel."""
    launch = _launch("tick", 1)
    begin: list[float] = []
    kernel = 0.0

    def emit(event: Event) -> None:
        nonlocal kernel
        if isinstance(event, Launched):
            begin.append(time.perf_counter())
        if event.kind == "timed" and event.stage == "run":
            kernel += event.seconds

    run = _run({"kind": "repeat", "count": count, "steps": [launch]})
    ended = pipeline.perform(
        local.box, run, "emulator", local.stores, emit, threading.Event(), local.limits, local.improver
    )
    if ended.verdict != "ok":
        raise Refused(f"launches in a loop ended with {ended.verdict}: {ended.message}", code=1)
    return time.perf_counter() - begin[0] - kernel


def _cancel(local: Local) -> float:
    """Seconds from the cancellation of a kernel without an end to the end of its run."""
    cancelled, asked = threading.Event(), [0.0]

    def ask() -> None:
        asked[0] = time.perf_counter()
        cancelled.set()

    def emit(event: Event) -> None:
        if isinstance(event, Launched):
            threading.Timer(0.1, ask).start()

    run = _run(_launch("forever", 64))
    ended = pipeline.perform(local.box, run, "emulator", local.stores, emit, cancelled, local.limits)
    if ended.verdict != "cancelled":
        raise Refused(f"a cancelled run ended with {ended.verdict}: {ended.message}", code=1)
    return time.perf_counter() - asked[0]


def _launch(entry: str, blocks: int) -> dict[str, Any]:
    return {
        "kind": "launch", "entry": entry, "config": {"grid": [blocks], "block": [32]},
        "arguments": [{"kind": "buffer", "buffer": "count"}],
    }  # fmt: skip


def _run(step: dict[str, Any]) -> RunRequest:
    body = {
        "source": {"text": _TICK}, "steps": [step], "device": "emulator",
        "buffers": [{"name": "count", "dtype": "int32", "shape": [32], "init": {"kind": "zeros"}}],
    }  # fmt: skip
    return read(RunRequest, json.dumps(body))
