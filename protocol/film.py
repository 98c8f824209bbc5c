"""A film of a run: what one buffer holds between the rounds of a repeat."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from protocol.arguments import Buffer
from protocol.base import Bytes, Digest, FieldError, Model, Name
from protocol.dtypes import DType, Number
from protocol.launch import MAX_LAUNCHES, Repeat, Step

MAX_FRAMES = 240
MAX_FILM_BYTES = 64 << 20
"""Of all frames together."""


class Film(Model):
    """Frames of one buffer: before the first round of a repeat, and after every `every`-th one.

    A frame is the whole buffer that the name denotes at that moment, after the swaps of the round.
    """

    buffer: Name
    every: Annotated[int, Field(ge=1, le=MAX_LAUNCHES)] = 1
    step: str | None = None
    """Path of a repeat that lies in no other, such as steps.0; may be left out where there is only one."""


class Filmed(Model):
    """A frame of the film, in the order of its rounds; its bytes are a blob, row-major."""

    kind: Literal["filmed"] = "filmed"
    buffer: str
    round: Annotated[int, Field(ge=0)]
    """Rounds of the repeat that had ended: 0 in the first frame."""
    dtype: DType
    shape: tuple[int, ...]
    digest: Digest
    bytes: Bytes
    minimum: Number | None = None
    """Smallest finite element, None where there is none or the dtype is complex."""
    maximum: Number | None = None
    not_finite: Annotated[int, Field(ge=0)] = 0


def filmed_repeat(steps: Sequence[Step], film: Film) -> tuple[str, Repeat]:
    """The repeat that the film is of, with its path. FieldError."""
    repeats = {f"steps.{index}": step for index, step in enumerate(steps) if isinstance(step, Repeat)}
    if not repeats:
        raise FieldError("film", "nothing is repeated, so there is no film: put the launch into a repeat")
    known = ", ".join(list(repeats)[:8])
    if film.step is None:
        if len(repeats) > 1:
            raise FieldError("film.step", f"there are {len(repeats)} repeats: name the one to film ({known})")
        return next(iter(repeats.items()))
    if film.step not in repeats:
        raise FieldError("film.step", f"{film.step} is no repeat that lies in no other (there are: {known})")
    return film.step, repeats[film.step]


def frame_count(rounds: int, every: int) -> int:
    """Frames of a repeat of so many rounds."""
    return 1 + rounds // every


def check_film(steps: Sequence[Step], buffers: Sequence[Buffer], film: Film) -> None:
    """Raises FieldError, which says what to change, where the film is of nothing or has too much."""
    buffer = next((item for item in buffers if item.name == film.buffer), None)
    if buffer is None:
        raise FieldError("film.buffer", f"no buffer is called {film.buffer}")
    _, repeat = filmed_repeat(steps, film)
    if film.every > repeat.count:
        raise FieldError("film.every", f"the repeat has {repeat.count:,} rounds: film every {repeat.count:,} or fewer")
    frames = frame_count(repeat.count, film.every)
    room = MAX_FILM_BYTES // buffer.bytes
    if room < 2:
        raise FieldError(
            "film.buffer",
            f"a frame of {buffer.name} has {buffer.bytes:,} bytes, and two are the least; "
            f"a film has at most {MAX_FILM_BYTES:,}: make {buffer.name} smaller",
        )
    most = min(MAX_FRAMES, room)
    if frames > most:
        why = "" if most == MAX_FRAMES else f", since a film of {buffer.name} has at most {MAX_FILM_BYTES:,} bytes"
        raise FieldError(
            "film.every",
            f"{repeat.count:,} rounds make {frames:,} frames, and at most {most:,} are kept{why}: "
            f"film every {least_every(repeat.count, most):,} rounds or more",
        )


def least_every(rounds: int, frames: int) -> int:
    """The smallest `every` with which a repeat has at most so many frames."""
    return rounds // frames + 1
