"""Named device buffers, how they start, and the arguments of a launch."""

import math
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from protocol.base import Digest, Model, Name
from protocol.dtypes import INTEGER_BITS, ITEM_BYTES, DType, Number, integer_range, read_number, whole_number

MAX_LITERAL_VALUES = 65_536
MAX_BUFFER_BYTES = 1 << 30
MAX_DIMENSIONS = 4

Role = Literal["in", "out", "inout"]
Seed = Annotated[int, Field(ge=0, lt=1 << 53)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Zeros(Model):
    kind: Literal["zeros"] = "zeros"


class Full(Model):
    """Every element has one value."""

    kind: Literal["full"] = "full"
    value: Number


class Arange(Model):
    """start, start + step, … in row-major order."""

    kind: Literal["arange"] = "arange"
    start: Number = 0
    step: Number = 1


class Linspace(Model):
    """Evenly spaced from start to stop, both included, in row-major order."""

    kind: Literal["linspace"] = "linspace"
    start: Number = 0
    stop: Number = 1


class Uniform(Model):
    """numpy.random.default_rng(seed).random, scaled to [low, high)."""

    kind: Literal["uniform"] = "uniform"
    low: float = 0.0
    high: float = 1.0
    seed: Seed = 0


class Normal(Model):
    """numpy.random.default_rng(seed).standard_normal, times deviation plus mean."""

    kind: Literal["normal"] = "normal"
    mean: float = 0.0
    deviation: Annotated[float, Field(ge=0)] = 1.0
    seed: Seed = 0


class Integers(Model):
    """numpy.random.default_rng(seed).integers(low, high): high is excluded."""

    kind: Literal["integers"] = "integers"
    low: Number = 0
    high: Number
    seed: Seed = 0


class Formula(Model):
    """An arithmetic expression in the index variables i (flat), x, y, z, w (last axis first) and the shape nx, ny…"""

    kind: Literal["formula"] = "formula"
    text: Text


class Literals(Model):
    """All elements, written out in row-major order."""

    kind: Literal["literals"] = "literals"
    values: Annotated[tuple[Number, ...], Field(max_length=MAX_LITERAL_VALUES)]


class Uninitialised(Model):
    """Left as allocated; reading it before writing is a defect."""

    kind: Literal["uninitialised"] = "uninitialised"


class Upload(Model):
    """The contents of an uploaded .npy file, which must have the buffer's dtype and shape."""

    kind: Literal["upload"] = "upload"
    digest: Digest


Initialiser = Annotated[
    Zeros | Full | Arange | Linspace | Uniform | Normal | Integers | Formula | Literals | Uninitialised | Upload,
    Field(discriminator="kind"),
]


class Buffer(Model):
    """A named array in device memory, row-major. `out` and `inout` buffers are read back at the end."""

    name: Name
    dtype: DType
    shape: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, max_length=MAX_DIMENSIONS)]
    init: Initialiser = Zeros()
    role: Role = "inout"

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * ITEM_BYTES[self.dtype]

    @model_validator(mode="after")
    def _consistent(self) -> "Buffer":
        if self.bytes > MAX_BUFFER_BYTES:
            raise ValueError(f"{self.name} has {self.bytes:,} bytes; the limit is {MAX_BUFFER_BYTES:,}")
        init = self.init
        if isinstance(init, Literals):
            if len(init.values) != self.elements:
                raise ValueError(
                    f"{self.name} has {self.elements:,} elements, but {len(init.values):,} values are given"
                )
            for position, value in enumerate(init.values):
                try:
                    read_number(value, self.dtype)
                except ValueError as error:
                    raise ValueError(f"value {position} of {self.name}: {error}") from None
        if isinstance(init, Full):
            read_number(init.value, self.dtype)
        if isinstance(init, Integers) and self.dtype in INTEGER_BITS:
            lowest, largest = integer_range(self.dtype)
            low, high = whole_number(init.low), whole_number(init.high)
            if not lowest <= low < high <= largest + 1:
                raise ValueError(
                    f"{self.name}: random integers of {self.dtype} need "
                    f"{lowest} ≤ low < high ≤ {largest + 1}; low is {low} and high is {high}"
                )
        return self


class BufferArgument(Model):
    """A pointer to a declared buffer."""

    kind: Literal["buffer"] = "buffer"
    name: Name | None = None
    buffer: Name


class ScalarArgument(Model):
    """A number by value. Without a dtype the kernel's parameter decides it."""

    kind: Literal["scalar"] = "scalar"
    name: Name | None = None
    dtype: DType | None = None
    value: Number

    @model_validator(mode="after")
    def _fits(self) -> "ScalarArgument":
        if self.dtype is not None:
            read_number(self.value, self.dtype)
        return self


class VectorArgument(Model):
    """A CUDA vector type by value, such as float4: its components in order."""

    kind: Literal["vector"] = "vector"
    name: Name | None = None
    dtype: DType
    values: Annotated[tuple[Number, ...], Field(min_length=1, max_length=4)]

    @model_validator(mode="after")
    def _fits(self) -> "VectorArgument":
        for value in self.values:
            read_number(value, self.dtype)
        return self


class StructArgument(Model):
    """A struct by value: its bytes, in hexadecimal."""

    kind: Literal["struct"] = "struct"
    name: Name | None = None
    hex: Annotated[str, StringConstraints(max_length=8192, pattern=r"^([0-9a-fA-F]{2})*$")]


class NullArgument(Model):
    """A null pointer."""

    kind: Literal["null"] = "null"
    name: Name | None = None


Argument = Annotated[
    BufferArgument | ScalarArgument | VectorArgument | StructArgument | NullArgument,
    Field(discriminator="kind"),
]
