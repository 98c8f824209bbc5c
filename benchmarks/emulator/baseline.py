"""baseline.cpp, compiled for this processor, and one timed call of a function in it."""

import ctypes
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from benchmarks.emulator.cases import FOLDER, Array

FLAGS = ("-O3", "-march=native", "-shared", "-fPIC", "-std=c++17")


class NoCompiler(RuntimeError):
    """There is no g++ here, or it refuses the baseline."""


def build(folder: Path) -> ctypes.CDLL:
    """The library, built in `folder`. Raises NoCompiler."""
    compiler = which("g++")
    if compiler is None:
        raise NoCompiler("g++ is not installed")
    library = folder / "baseline.so"
    done = subprocess.run(
        [compiler, *FLAGS, "-o", str(library), str(FOLDER / "baseline.cpp")],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NoCompiler(f"g++ refuses baseline.cpp:\n{done.stderr[-2000:]}")
    return ctypes.CDLL(str(library))


def call(library: ctypes.CDLL, name: str, buffers: Sequence[Array], scalars: Sequence[float]) -> float:
    """Runs one function on the arrays and returns its seconds."""
    addresses = (ctypes.c_void_p * len(buffers))(*(array.ctypes.data for array in buffers))
    values = (ctypes.c_double * max(1, len(scalars)))(*scalars)
    function = library[name]
    function.restype = None
    begin = time.perf_counter()
    function(addresses, values)
    return time.perf_counter() - begin
