"""Keys of the compile cache: everything that decides what a compilation yields, hashed from the inputs on the host."""

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Sequence
from pathlib import Path

from protocol.cells import cells
from protocol.frames import object_key
from protocol.launch import Launch, dim3, walk
from protocol.run import CompileRequest, RunRequest
from protocol.sweep import swept_step

_ROOT = Path(__file__).resolve().parent.parent
_COMPILERS = (
    *("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl", "llvmlite"),
    *("numba", "numba-cuda", "nvidia-nvvm", "numpy"),
)


def compile_key(request: CompileRequest) -> str:
    """Of the PTX, CUBIN, parameters and resources."""
    return _digest("kernel", toolchain_key(), request.model_dump_json())


def code_key(compiled: str, run: RunRequest, combination: int = 0) -> str:
    """Of the list of emulator objects that a run's launches need, for this processor."""
    wanted = {
        object_key(step.entry, dim3(block))
        for path, step in walk(run.steps)
        if isinstance(step, Launch)
        for block in _blocks(run, path, step, combination)
    }
    estimated = ["estimate"] if run.estimate is not None else []
    if run.trace is not None:
        estimated.append(f"trace {run.trace.step or ''}")
    return _digest("code", compiled, processor_key(), *sorted(set(run.instruments)), *estimated, *sorted(wanted))


def _blocks(run: RunRequest, path: str, launch: Launch, combination: int) -> Sequence[Sequence[int]]:
    """Block shapes that a launch is to run with."""
    if run.sweep is not None and swept_step(run.steps, run.sweep) == path:
        tried = (cell for cell in cells(run) if cell.chosen and not cell.excluded)
        return [cell.block for cell in tried if cell.combination == combination]
    return (launch.config.block,)


@functools.cache
def toolchain_key() -> str:
    """Versions of the compilers, and the text of our own part of the toolchain."""
    parts = []
    for name in _COMPILERS:
        try:
            parts.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            parts.append(f"{name} is not installed")
    for folder in ("protocol", "engine", "emulator"):
        for path in sorted((_ROOT / folder).rglob("*.py")):
            parts.append(hashlib.sha256(path.read_bytes()).hexdigest())
    return _digest("toolchain", *parts)


@functools.cache
def processor_key() -> str:
    """Model and features of the processor that emulator code is made for."""
    lines = []
    try:
        with Path("/proc/cpuinfo").open() as file:
            for line in file:
                if line.startswith(("model name", "flags", "Features", "CPU part")):
                    lines.append(line.strip())
                if not line.strip():
                    break
    except OSError:
        lines.append(platform.processor())
    return _digest("processor", platform.machine(), *lines)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
