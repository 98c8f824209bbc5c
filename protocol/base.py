"""The model class and the constrained types that every part of the protocol is built from."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

SCHEMA_VERSION = 1
"""Version of every stored payload. Fields may be added with a default; none changes its meaning."""


class Model(BaseModel):
    """A frozen, strict record: unknown fields, non-finite numbers and type coercion are errors."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, serialize_by_alias=True
    )


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
"""A C identifier of at most 64 characters."""

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256 of a blob, in lower-case hexadecimal."""

Architecture = Annotated[
    str,
    StringConstraints(pattern=r"^sm_(75|80|86|87|89|90|100|103|110|120|121)$"),
    Field(description="A compute capability that the compiler targets, such as sm_90."),
]

Seconds = Annotated[float, Field(ge=0)]
Bytes = Annotated[int, Field(ge=0)]


class FieldError(ValueError):
    """A fault that only several fields together show; `field` is the path of the one to mend."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
