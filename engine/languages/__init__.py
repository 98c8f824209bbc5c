"""The languages that kernels are written in: an explicit tuple."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.languages.compiled import Compiled
from engine.languages.cuda_cpp import CudaCpp
from protocol.source import Options, Source


class Language(Protocol):
    """Makes PTX, a CUBIN, entries and resources from one source."""

    name: str

    @property
    def toolchain(self) -> str:
        """Compiler and version, such as 'NVRTC 13.0'."""
        ...

    def prewarm(self) -> None: ...

    def compile(
        self, source: Source, options: Options, architecture: str, instantiations: Sequence[str]
    ) -> Compiled: ...


LANGUAGES: tuple[Language, ...] = (CudaCpp(),)


def language(name: str) -> Language:
    """The language of a source. KeyError where there is none of this name, which the protocol rules out."""
    for item in LANGUAGES:
        if item.name == name:
            return item
    raise KeyError(name)
