"""What a row of the instruction table holds, and the form that an instruction of a program selects from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from emulator.isa.lanes import Lanes, Value
from emulator.isa.notation import Notation, parse_notation, types_of

Kind = Literal["alu", "warp", "memory", "atomic", "control", "barrier", "special", "call"]

# The element type in which a value of each PTX type is passed to and returned from a row.
LLVM_TYPES: dict[str, str] = {
    "pred": "i1", "cc": "i1",
    "b8": "i8", "u8": "i8", "s8": "i8", "e2m1x2": "i8",
    "b16": "i16", "u16": "i16", "s16": "i16", "f16": "i16", "bf16": "i16", "e4m3x2": "i16", "e5m2x2": "i16",
    "e2m3x2": "i16", "e3m2x2": "i16", "ue8m0x2": "i16",
    "b32": "i32", "u32": "i32", "s32": "i32", "f16x2": "i32", "bf16x2": "i32", "tf32": "i32",
    "u16x2": "i32", "s16x2": "i32",
    "b64": "i64", "u64": "i64", "s64": "i64", "f32x2": "i64", "b128": "i128",
    "f32": "float", "f64": "double",
}  # fmt: skip


Combine = Callable[[Lanes, Value, Sequence[Value]], Value]


@dataclass(frozen=True, slots=True)
class Atomic:
    """How an atomic operation makes the new value from the old one and the operands behind the address.

    Values are scalars of `LLVM_TYPES` of the access. `rmw` names LLVM's `atomicrmw` operation where it has one with
    exactly this meaning. `combine_global` is set where global memory combines differently from shared memory.
    """

    combine: Combine
    rmw: str | None
    combine_global: Combine | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a form in the manual's notation, what it does, and how it is lowered.

    `lower(lanes, form, *sources)` returns the destinations' values (one value or a tuple). A warp row has
    `lower(lanes, form, active, *sources)`. Rows of other kinds have none: their code depends on control flow
    or memory, and the table says only that they are legal.
    """

    notation: Notation
    meaning: str
    kind: Kind
    lower: Callable[..., Value | tuple[Value, ...]] | None
    # What a caller needs to decide when NaNs must be made canonical (see FloatLanes.lazy_nan).
    canonical: bool = False
    carry_in: bool = False
    carry_out: bool = False


def row(
    form: str,
    meaning: str,
    lower: Callable[..., Value | tuple[Value, ...]] | None = None,
    *,
    kind: Kind = "alu",
    canonical: bool = False,
    carry_in: bool = False,
    carry_out: bool = False,
) -> Row:
    return Row(parse_notation(form), meaning, kind, lower, canonical, carry_in, carry_out)


@dataclass(frozen=True, slots=True)
class Form:
    """A legal instruction: its row with the modifiers and operands of one occurrence.

    `destinations` and `sources` are PTX types in operand order, vector operands flattened, sinks and optional
    operands that are absent included or left out as the instruction has them. Type 'cc' is the carry flag (i1),
    which the caller keeps per lane: it stands last in `sources` where it is read, last in `destinations` where set.
    """

    name: str
    row: Row
    modifiers: tuple[str, ...]
    destinations: tuple[str, ...]
    sources: tuple[str, ...]
    atomic: Atomic | None = field(default=None, compare=False)

    @property
    def opcode(self) -> str:
        return self.row.notation.opcode

    @property
    def kind(self) -> Kind:
        return self.row.kind

    @property
    def pure(self) -> bool:
        """Whether the result depends on the sources of the same lane alone, so that it may be shared or dropped."""
        return self.row.kind == "alu"

    @property
    def canonical_nan(self) -> bool:
        """Whether NaN results are the hardware's NaN and NaN payloads of sources never matter."""
        return self.row.canonical

    @property
    def types(self) -> tuple[str, ...]:
        return types_of(self.modifiers)

    @property
    def type(self) -> str:
        """The last type: that of the sources unless an operand says otherwise."""
        return self.types[-1]

    def has(self, modifier: str) -> bool:
        return modifier in self.modifiers

    def pick(self, *choices: str, default: str = "") -> str:
        """The one of the choices that the instruction has."""
        return next((choice for choice in choices if choice in self.modifiers), default)

    def lower(self, lanes: Lanes, operands: Sequence[Value], active: Value | None = None) -> tuple[Value, ...]:
        """Emits the instruction; `operands` are the sources in order, each of `LLVM_TYPES` of its PTX type.

        `active` (i1, one a lane) is needed by warp rows only. Returns one value a destination.
        """
        function = self.row.lower
        if function is None:
            raise TypeError(f"{self.name} is a {self.kind} instruction: its caller lowers it")
        if self.row.kind == "warp":
            if active is None:
                raise TypeError(f"{self.name} needs the mask of active lanes")
            result = function(lanes, self, active, *operands)
        else:
            result = function(lanes, self, *operands)
        return result if isinstance(result, tuple) else (result,)
