"""Writes an export in the format asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, get_args

from protocol.arguments import Upload
from protocol.kernel import Entry
from protocol.run import RunRequest
from takeaway.cuda_program import cuda_program
from takeaway.cupy_script import cupy_script
from takeaway.kernel_tuner import kernel_tuner_script
from takeaway.program import NotExportable, resolve

Format = Literal["cupy", "cu", "kernel-tuner"]
FORMATS: tuple[Format, ...] = get_args(Format)
_ENDINGS = {"cupy": "cupy.py", "cu": "main.cu", "kernel-tuner": "tune.py"}
_WRITERS = {"cupy": cupy_script, "cu": cuda_program, "kernel-tuner": kernel_tuner_script}


@dataclass(frozen=True, slots=True)
class Export:
    """A text to save as `file_name`. `uploads` are the digests of the .npy files that it reads, by file name."""

    file_name: str
    text: str
    uploads: dict[str, str]


def export(request: RunRequest, entries: Sequence[Entry], form: Format, title: str = "", file_name: str = "") -> Export:
    """The run as a program of one file; `entries` are the compiled kernels'. Raises NotExportable.

    `title` and `file_name` are what the program's head calls it; both follow the source's name by default.
    """
    if request.source.language != "cuda-c++":
        raise NotExportable(
            "source.language", f"only CUDA C++ is exported, and the source is {request.source.language}"
        )
    stem = PurePath(request.source.file_name).stem or "kernel"
    name = file_name or f"{stem}_{_ENDINGS[form]}"
    program = resolve(request, entries, title or request.source.file_name)
    try:
        text = _WRITERS[form](program, name)
    except NotExportable:
        raise
    except ValueError as error:
        raise NotExportable("buffers", str(error)) from None
    uploads = {f"{item.name}.npy": item.init.digest for item in request.buffers if isinstance(item.init, Upload)}
    return Export(name, text, uploads)
