"""The languages that kernels are written in: an explicit tuple."""

from __future__ import annotations

from typing import Protocol

from engine.languages.compiled import Compiled
from engine.languages.cuda_cpp import CudaCpp
from engine.languages.numba import Numba
from engine.languages.ptx import Ptx
from protocol.run import CompileRequest
from protocol.translation import Translation


class Language(Protocol):
    """Makes PTX, a CUBIN, entries and resources from one source."""

    name: str

    @property
    def toolchain(self) -> str:
        """Compiler and version, such as 'NVRTC 13.0'."""
        ...

    def prewarm(self) -> None: ...

    def compile(self, request: CompileRequest, translation: Translation | None = None) -> Compiled:
        """For one architecture. A fault of the source is a diagnostic, never an exception.

        `translation`: of a source whose text was executed before, in a child of its own (engine/translate).
        """
        ...


LANGUAGES: tuple[Language, ...] = (CudaCpp(), Ptx(), Numba())


def language(name: str) -> Language:
    """The language of a source. KeyError where this installation has none of this name."""
    for item in LANGUAGES:
        if item.name == name:
            return item
    raise KeyError(name)
