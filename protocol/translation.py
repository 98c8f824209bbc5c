"""What a child that executes a source's Python text hands on: PTX, which is compiled where no such text ever ran."""

from typing import Annotated

from pydantic import Field

from protocol.base import Model
from protocol.kernel import ArgumentType, Parameter


class TranslatedEntry(Model):
    """A kernel of the source; one that no launch has given types for has no name in the PTX yet."""

    name: str = ""
    """In the PTX."""
    display: str
    parameters: tuple[Parameter, ...] = ()
    """Offsets are not known yet."""
    types: tuple[ArgumentType, ...] | None = None
    """What it is compiled for, where the source gives no signature of its own."""
    line: int | None = None


class Translation(Model):
    """PTX with lines of the source, and the kernels in it. Its text is as free to lie as the source is."""

    toolchain: str
    ptx: str
    entries: Annotated[tuple[TranslatedEntry, ...], Field(max_length=256)]
