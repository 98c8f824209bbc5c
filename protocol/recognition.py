"""Kernels found in pasted Python: CuPy's are turned into CUDA C++ and a launch, without executing anything."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Model
from protocol.diagnostics import Diagnostic
from protocol.run import RunRequest
from protocol.source import Source

RecognisedKind = Literal["RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel", "numba"]


class RecogniseRequest(Model):
    """A Python text that is read, never run."""

    source: Source
    """Its language has no say."""


class RecognisedKernel(Model):
    """One kernel of the text, ready to run. Raw kernels, and those of Numba, have arguments where a launch in the text
    can be read; else they follow once the source is compiled."""

    kind: RecognisedKind
    name: str
    line: Annotated[int, Field(ge=1)]
    """Where the text makes it."""
    request: RunRequest


class Recognised(Model):
    """What the text holds; `verdict` as of InspectReport. Diagnostics point into the Python text."""

    verdict: str = "ok"
    message: str = ""
    kernels: Annotated[tuple[RecognisedKernel, ...], Field(max_length=32)] = ()
    numba: bool = False
    """It has kernels of Numba: choose that as the source's language."""
    diagnostics: tuple[Diagnostic, ...] = ()
