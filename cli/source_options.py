"""The source file and the compiler's options as typed, to a CompileRequest; shared by run and compile."""

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.usage import Refused, refusal

if TYPE_CHECKING:
    from protocol.run import CompileRequest

Arch = Annotated[str, typer.Option("--arch", help="Compute capability to compile for.", metavar="sm_NN")]
Std = Annotated[str, typer.Option("--std", help="c++11, c++14, c++17 or c++20.")]
FastMath = Annotated[bool, typer.Option("--fast-math", help="Approximate division, square root and intrinsics.")]
NoFmad = Annotated[bool, typer.Option("--no-fmad", help="Do not contract a*b+c into one rounding.")]
DefaultDevice = Annotated[
    bool, typer.Option("--default-device", help="Functions without __device__ are for the device too (NVRTC's own).")
]
MaxRegisters = Annotated[
    int | None, typer.Option("--maxrregcount", help="Registers a thread may take, 16 to 255.", show_default=False)
]
Defines = Annotated[
    list[str] | None, typer.Option("-D", "--define", help="A macro: NAME or NAME=VALUE.", metavar="NAME[=VALUE]")
]
Entry = Annotated[
    str, typer.Option("--entry", help="The kernel, or a template instantiation: 'scale<float>'.", show_default=False)
]

Cooperative = Annotated[bool, typer.Option("--cooperative", help="All blocks resident together, for grid.sync().")]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="BLOCKS", help="Blocks of a cluster: 4 or 2,2 (sm_90 on).", show_default=False),
]
Language = Annotated[
    str,
    typer.Option("--language", "-x", help="cuda-c++, ptx or numba (default: by the file's name).", show_default=False),
]

STANDARD_INPUT = "<stdin>"
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}")
OPTION_NAMES = (
    ("options.defines", "-D"),
    ("options.max_registers", "--maxrregcount"),
    ("options.standard", "--std"),
    ("architecture", "--arch"),
    ("instantiations", "--entry"),
    ("source.language", "--language"),
)


_ENDINGS = {".ptx": "ptx", ".py": "numba"}
_NAMES = {"cuda-c++": "kernel.cu", "ptx": "kernel.ptx", "numba": "kernel.py"}


def language_of(shown: str, wanted: str = "") -> str:
    """The language that is asked for, else the one that the file's ending names, else CUDA C++."""
    return wanted or _ENDINGS.get(Path(shown).suffix.lower(), "cuda-c++")


def read_source(file: Path) -> tuple[str, str]:
    """(text, name to show) of a file, or of standard input for -."""
    shown = STANDARD_INPUT if str(file) == "-" else str(file)
    try:
        data = sys.stdin.buffer.read() if shown == STANDARD_INPUT else file.read_bytes()
    except OSError as error:
        raise Refused(f"{shown}: {(error.strerror or str(error)).lower()}") from None
    try:
        return data.decode("utf-8-sig"), shown
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refused(f"{shown}:{line}: byte 0x{data[error.start]:02x} is not UTF-8") from None


def build_request(
    text: str,
    shown: str,
    *,
    arch: str,
    std: str,
    fast_math: bool,
    no_fmad: bool,
    maxrregcount: int | None,
    default_device: bool,
    define: list[str] | None,
    entry: str,
    language: str = "",
) -> "CompileRequest":
    """The compilation as typed. Raises Refused, naming the option or the line at fault."""
    from protocol.reading import Unreadable, read
    from protocol.run import CompileRequest

    name, chosen = Path(shown).name, language_of(shown, language)
    request = {
        "source": {
            "language": chosen,
            "text": text,
            "file_name": name if _FILE_NAME.fullmatch(name) else _NAMES.get(chosen, "kernel.cu"),
        },
        "options": {
            "standard": std,
            "fast_math": fast_math,
            "fmad": not no_fmad,
            "max_registers": maxrregcount,
            "default_device": default_device,
            "defines": [dict(zip(("name", "value"), macro.split("=", 1), strict=False)) for macro in define or ()],
        },
        "architecture": arch,
        "instantiations": [entry] if "<" in entry and chosen == "cuda-c++" else [],
    }
    try:
        return read(CompileRequest, json.dumps(request))
    except Unreadable as error:
        raise refusal(error, [*OPTION_NAMES, ("source", shown)]) from None
