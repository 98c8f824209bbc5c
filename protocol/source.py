"""The user's program and how it is compiled."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from protocol.base import Model, Name

MAX_SOURCE_BYTES = 256 * 1024

Language = Literal["cuda-c++", "ptx", "numba"]
"""CUDA C++; PTX as the assembler takes it; Python with numba.cuda's @cuda.jit."""
_A_KERNEL = {"cuda-c++": "a __global__ function", "ptx": "an .entry", "numba": "a function with @cuda.jit"}
Standard = Literal["c++11", "c++14", "c++17", "c++20"]


class Source(Model):
    """One file of source code, at most 256 KiB of UTF-8 without NUL."""

    language: Language = "cuda-c++"
    text: str
    file_name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}$")] = "kernel.cu"

    @field_validator("text")
    @classmethod
    def _plain(cls, text: str, info: ValidationInfo) -> str:
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise ValueError(f"line {line} holds a lone surrogate, which is not valid Unicode") from None
        if size > MAX_SOURCE_BYTES:
            raise ValueError(f"the source has {size:,} bytes; the limit is {MAX_SOURCE_BYTES:,}")
        nul = text.find("\0")
        if nul >= 0:
            column = nul - text.rfind("\n", 0, nul)
            raise ValueError(f"line {text.count(chr(10), 0, nul) + 1}, column {column} holds a NUL character")
        if not text.strip():
            raise ValueError(f"the source is empty: write {_A_KERNEL[info.data.get('language', 'cuda-c++')]}")
        return text


class Define(Model):
    """A macro: -D name=value."""

    name: Name
    value: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = "1"


class Options(Model):
    """Every compiler option that a request may set; nothing else reaches a compiler's command line."""

    standard: Standard = "c++17"
    fast_math: bool = False
    fmad: bool = True
    max_registers: Annotated[int, Field(ge=16, le=255)] | None = None
    default_device: bool = False
    """Functions and variables without an execution space are for the device: NVRTC's -default-device."""
    defines: Annotated[tuple[Define, ...], Field(max_length=32)] = ()
