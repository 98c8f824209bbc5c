"""What a buffer must hold after the last step: given values, or those that a NumPy reference computes."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator

from protocol.arguments import Initialiser
from protocol.base import Model, Name

MAX_REFERENCE_BYTES = 16 * 1024
MAX_REFERENCE_BUFFERS = 32


def plain_text(text: str, what: str, advice: str) -> str:
    """Python text of a bounded size, valid Unicode without NUL. ValueError, in words for the user."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ValueError(f"line {line} of the {what} holds a lone surrogate, no valid Unicode") from None
    if size > MAX_REFERENCE_BYTES:
        raise ValueError(f"the {what} has {size:,} bytes; the limit is {MAX_REFERENCE_BYTES:,}")
    nul = text.find("\0")
    if nul >= 0:
        raise ValueError(f"line {text.count(chr(10), 0, nul) + 1} of the {what} holds a NUL character")
    if not text.strip():
        raise ValueError(f"the {what} is empty: {advice}")
    return text


class Equals(Model):
    """After the last step a buffer must equal `expected`: |got − want| ≤ relative·|want| + absolute, NaN equals NaN."""

    kind: Literal["equals"] = "equals"
    buffer: Name
    expected: Initialiser
    relative: Annotated[float, Field(ge=0)] = 0.0
    absolute: Annotated[float, Field(ge=0)] = 0.0


class NumpyReference(Model):
    """After the last step each of `buffers` must hold what `text`, Python code, assigns to its name.

    The code sees every buffer as a NumPy array of its dtype (bfloat16 by ml_dtypes) and shape with its values before
    the run, named as in the request; a buffer that starts uninitialised has no name until the code assigns it. It
    sees the scalars of the launches as NumPy scalars, and vectors as arrays, under the names of the kernel's
    parameters (of two launches that differ the first one counts), and `np`, `numpy` and `ml_dtypes`. To every buffer
    that it is to check it assigns an array, or changes it in place: of the buffer's shape, and of a dtype whose
    numbers the buffer's can hold (float64 and int64 for float32, int64 for uint8, not float for int).

    |got − want| ≤ relative·|want| + absolute, as in numpy.allclose, NaN equals NaN; integers and bool must be equal.
    """

    kind: Literal["numpy"] = "numpy"
    text: str
    buffers: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_REFERENCE_BUFFERS)]
    relative: Annotated[float, Field(ge=0)] = 1e-5
    absolute: Annotated[float, Field(ge=0)] = 1e-8

    @field_validator("text")
    @classmethod
    def _plain(cls, text: str) -> str:
        return plain_text(text, "reference", "assign an array to the name of a buffer")

    @field_validator("buffers")
    @classmethod
    def _distinct(cls, buffers: tuple[str, ...]) -> tuple[str, ...]:
        twice = next((name for index, name in enumerate(buffers) if name in buffers[:index]), None)
        if twice is not None:
            raise ValueError(f"{twice} is there twice")
        return buffers


def _kind(check: Any) -> Any:
    """Checks were all of one kind once, and said so or not."""
    return check.get("kind", "equals") if isinstance(check, dict) else getattr(check, "kind", None)


Check = Annotated[
    Annotated[Equals, Tag("equals")] | Annotated[NumpyReference, Tag("numpy")],
    Discriminator(
        _kind,
        custom_error_type="check_kind",
        custom_error_message="a check is an object whose kind is equals or numpy",
    ),
]


def checked_buffers(check: Check) -> tuple[str, ...]:
    """Names of the buffers that a check compares."""
    return (check.buffer,) if isinstance(check, Equals) else check.buffers
