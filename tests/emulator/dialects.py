"""Compiles every CUDA source of the repository for every architecture, and asks the emulator to take what comes out:

    python -m tests.emulator.dialects [FOLDER…]

A folder holds the unpacked wheels of another version of the compiler (nvidia-cuda-nvrtc, -runtime, -cccl, and for 13.5
-crt); without one it is the installed version. Nothing is run: each kernel is checked and lowered to LLVM's text.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from emulator import CompileProblems, parse
from emulator.runtime.compile import lower_entry
from engine.languages.headers import HEADERS
from engine.languages.nvrtc import Nvrtc, include_folders
from engine.languages.nvrtc_options import ptx_options
from protocol.source import Options

ROOT = Path(__file__).parents[2]
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


@dataclass
class Taken:
    """`kernels` were lowered; `refused` and `foreign` say what was not, and which files the compiler did not take."""

    kernels: int = 0
    refused: list[str] = field(default_factory=list)
    foreign: dict[str, str] = field(default_factory=dict)


def sources() -> list[Path]:
    """The sources that are meant to compile."""
    return [
        *sorted((ROOT / "tests" / "data" / "ptx").glob("*.cu")),
        *sorted((ROOT / "tests" / "data" / "truth" / "kernels").glob("*.cu")),
        *sorted((ROOT / "examples").glob("*.cu")),
        *sorted((ROOT / "benchmarks" / "emulator").glob("*.cu")),
    ]


def take(compiler: Nvrtc, includes: tuple[str, ...], architecture: str, files: list[Path]) -> Taken:
    """Compiles and lowers the files for one architecture."""
    taken = Taken()
    # Libraries of the host's name are needed, and functions without __device__ occur.
    options = ptx_options(Options(default_device=True), architecture, includes)
    for path in files:
        made = compiler.compile(path.read_bytes(), path.name, options, HEADERS)
        if made.ok:
            _lower(path.name, made.ptx, taken)
        else:
            taken.foreign[path.name] = next((line for line in made.log.splitlines() if "error" in line), made.log)
    return taken


def _lower(name: str, text: str, taken: Taken) -> None:
    module, problems = parse(text)
    taken.refused += [f"{name}: {problem.message}" for problem in problems]
    for entry, function in module.functions.items():
        if not function.is_entry:
            continue
        x, y, z = (*(function.directives.get("reqntid") or (64,)), 1, 1)[:3]
        try:
            lower_entry(module, entry, (x, y, z))
            taken.kernels += 1
        except CompileProblems as refused:
            taken.refused += [f"{name} {entry}: {problem.message}" for problem in refused.problems]


def _toolkit(folder: Path) -> tuple[Nvrtc, tuple[str, ...]]:
    """The compiler in unpacked wheels, of version 12 (a folder a wheel) or 13 (one folder for all)."""
    root = folder / "nvidia"
    library = next(root.glob("*/lib/libnvrtc.so.*")).parent
    includes = [path for path in root.glob("*/include") if path.is_dir()]
    includes += [path for path in root.glob("*/include/cccl") if path.is_dir()]
    return Nvrtc(library), tuple(map(str, includes))


def main() -> None:
    toolkits = [_toolkit(Path(name)) for name in sys.argv[1:]] or [(Nvrtc(), include_folders())]
    for compiler, includes in toolkits:
        for architecture in ARCHITECTURES:
            taken = take(compiler, includes, architecture, sources())
            version = ".".join(map(str, compiler.version))
            print(f"NVRTC {version} {architecture}: {taken.kernels} kernels, {len(taken.refused)} problems")
            for line in [*taken.refused, *(f"not compiled: {log}" for log in taken.foreign.values())]:
                print("   ", line[:180], flush=True)


if __name__ == "__main__":
    main()
