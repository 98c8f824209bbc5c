"""The tree of a PTX module: frozen dataclasses, one a construct of the language."""

from __future__ import annotations

from dataclasses import dataclass, field

# Bytes of one element of each fundamental type; a predicate has no size in memory.
TYPE_SIZES: dict[str, int] = {
    "b8": 1, "u8": 1, "s8": 1, "e4m3": 1, "e5m2": 1, "e2m1x2": 1,
    "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "e4m3x2": 2, "e5m2x2": 2, "e2m3x2": 2,
    "e3m2x2": 2, "ue8m0x2": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "tf32": 4,
    "u16x2": 4, "s16x2": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "f32x2": 8,
    "b128": 16, "pred": 0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in the user's own source; `inlined_at` is the place of the call it was inlined into."""

    file: str
    line: int
    column: int = 0
    inlined_at: SourceLocation | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a module, or what this emulator cannot run, and where.

    `form` is the instruction form in PTX's own notation, `help` what is supported or can be done.
    """

    message: str
    ptx_line: int
    source: SourceLocation | None = None
    form: str | None = None
    help: str | None = None


@dataclass(frozen=True, slots=True)
class RegisterOperand:
    """A register: `%r1`, `%tid.x`, or a name from inline assembly. `negated` is PTX's `!p`."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ImmediateOperand:
    """A constant. Integers are Python ints; floats keep their bits and the width that was written."""

    value: int
    float_bits: int | None = None  # width of a 0f (32) or 0d (64) constant, else None


@dataclass(frozen=True, slots=True)
class AddressOperand:
    """`[base + offset]`; the base is a register, a variable's name, or None for an absolute address."""

    base: str | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class SymbolOperand:
    """The name of a variable, function, label or parameter list entry, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class VectorOperand:
    """`{a, b, …}`; an element may be the sink `_` (SymbolOperand('_'))."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class PairOperand:
    """`p|q`: a destination with a second, optional predicate destination."""

    first: Operand
    second: Operand


Operand = RegisterOperand | ImmediateOperand | AddressOperand | SymbolOperand | VectorOperand | PairOperand


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p` before an instruction."""

    register: str
    negated: bool


Traffic = tuple[int, tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `modifiers` are all dot-separated parts after the opcode, types included.

    `types` are the trailing parts that name types, so `cvt.rn.f32.s32` has ('f32', 's32').
    A call keeps its results, callee and arguments in `call`.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    guard: Guard | None = None
    location: SourceLocation | None = None
    call: Call | None = None
    traffic: Traffic | None = field(default=None, init=False, compare=False, repr=False)
    """What `analysis.operands` found out of it, so that it is found out once."""

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(part for part in self.modifiers if part in TYPE_SIZES)

    @property
    def form(self) -> str:
        """The instruction's form in PTX's notation, such as `ld.global.v2.f32`."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Call:
    """The parts of `call (results), callee, (arguments), prototype`."""

    results: tuple[str, ...]
    callee: str  # a function's name, or a register that holds its address
    arguments: tuple[Operand, ...]
    prototype: str | None = None


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class BranchTable:
    """`name: .branchtargets a, b, …` for brx.idx, or `.calltargets` for an indirect call."""

    name: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of any state space. `initial` has the bytes; `addresses` are (offset, size, symbol, addend)."""

    name: str
    space: str  # global const shared local param
    type: str
    alignment: int
    size: int  # bytes; 0 for an unsized extern array
    initial: bytes | None = None
    addresses: tuple[tuple[int, int, str, int], ...] = ()
    extern: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A formal parameter: of an entry its offset in the parameter block is `offset`."""

    name: str
    type: str
    alignment: int
    size: int
    offset: int = 0
    is_register: bool = False  # `.reg` parameters of device functions
    pointee: str | None = None  # after .ptr: the space pointed to, "" where none is named


@dataclass(frozen=True, slots=True)
class Prototype:
    name: str
    results: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """An entry or a device function. A declaration has `body` None.

    Registers and variables of nested scopes are renamed apart, so that the body is flat.
    """

    name: str
    is_entry: bool
    results: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    registers: dict[str, str] = field(default_factory=dict)  # name -> type without the dot
    variables: tuple[Variable, ...] = ()
    body: tuple[Label | Instruction, ...] | None = None
    tables: dict[str, BranchTable] = field(default_factory=dict)
    prototypes: dict[str, Prototype] = field(default_factory=dict)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)  # maxntid, reqntid, …
    line: int = 0


@dataclass(frozen=True, slots=True)
class Module:
    version: str
    target: str
    address_size: int
    functions: dict[str, Function]
    variables: dict[str, Variable]
    files: dict[int, str]

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.functions.values() if f.is_entry and f.body is not None)
