"""What the emulator takes before a kernel runs: `python -m benchmarks.emulator.latency`, a job as JSON on its input.

The job: {"ptx": text, "kernels": [[name, entry, block], …], "rounds": n}. Prints milliseconds of CPU time, of each
kernel and of large ones, from PTX to code that can be called, and from cached code; and the memory that a launch adds.
"""

from __future__ import annotations

import json
import resource
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import emulator
from benchmarks.emulator import large

_ARENA = 64 << 20
Made = TypeVar("Made")


def main() -> None:
    job = json.load(sys.stdin)
    emulator.prewarm()
    rounds = range(job["rounds"])
    memory = _memory()
    ready, cached = {}, {}
    for name, entry, block in job["kernels"]:
        made = [_ready(job["ptx"], entry, tuple(block)) for _ in rounds]
        ready[name] = 1000 * min(seconds for seconds, _ in made)
        cached[name] = 1000 * min(_timed(partial(_load, made[0][1].to_bytes()))[0] for _ in rounds)
    huge = {name: 1000 * _ready(large.text(name), large.ENTRY, large.BLOCK)[0] for name in large.LARGE}
    print(json.dumps({"ready_ms": ready, "cached_ms": cached, "large_ms": huge, "memory_mb": memory}))


def _load(data: bytes) -> emulator.Loaded:
    return emulator.Loaded(emulator.CompiledEntry.from_bytes(data))


def _ready(text: str, entry: str, block: tuple[int, int, int]) -> tuple[float, emulator.CompiledEntry]:
    def work() -> emulator.CompiledEntry:
        module, problems = emulator.parse(text, None, {entry})
        assert not problems, problems[0]
        compiled = emulator.compile_entry(module, entry, block)
        emulator.Loaded(compiled)
        return compiled

    return _timed(work)


def _timed(work: Callable[[], Made]) -> tuple[float, Made]:
    begin = time.thread_time()
    result = work()
    return time.thread_time() - begin, result


def _memory() -> float:
    """MB that a launch of cached code keeps beside its arena, all of which is written before."""
    module, _ = emulator.parse(large.text("straight_64"))
    data = emulator.compile_entry(module, large.ENTRY, large.BLOCK).to_bytes()
    memory = emulator.Memory(_ARENA)
    array = memory.allocate("array", _ARENA - 4096, fill=b"\1")
    before = _resident()
    with emulator.Team() as team:
        loaded = emulator.Loaded(emulator.CompiledEntry.from_bytes(data))
        prepared = emulator.prepare(loaded, memory, (1024, 1, 1), team)
        outcome = prepared.run([struct.pack("<Q", array.address)] * 2, 10)
        assert outcome.finished, outcome.fault
        return (_resident() - before) / 1e6


def _resident() -> int:
    """Bytes of memory that the process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
