"""What the parameters of a PTX entry are: .param declarations say sizes, and the code what it makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emulator.syntax import (
    AddressOperand,
    Function,
    Instruction,
    Operand,
    PairOperand,
    Parameter,
    RegisterOperand,
    SymbolOperand,
    VectorOperand,
)
from engine.languages.cubin import CubinEntry
from protocol.dtypes import ITEM_BYTES, DType
from protocol.kernel import Parameter as Described
from protocol.kernel import ParameterKind

_DTYPES: dict[str, DType] = {
    "u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "u32": "uint32", "s32": "int32",
    "u64": "uint64", "s64": "int64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip
_UNTYPED: dict[str, DType] = {"b8": "uint8", "b16": "uint16", "b32": "uint32", "b64": "uint64"}
_PACKED: dict[str, DType] = {"f16x2": "float16", "bf16x2": "bfloat16"}
_VAGUE = (*_UNTYPED, "u8", "u16", "u32", "u64")
"""Types that say little: compilers declare signed integers unsigned."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MEMORY = ("ld", "ldu", "st", "atom", "red", "cp", "prefetch")
_WRITES = ("st", "atom", "red")
_CARRIERS = ("mov", "add", "sub", "mad", "cvta", "selp")
"""What makes an address of another; of mad it is the last operand that is carried on."""
_ELSEWHERE = ("shared", "local", "param", "const")


@dataclass(slots=True)
class _Use:
    """What the code does through one parameter."""

    addresses: bool = False
    writes: bool = False
    escapes: bool = False
    dtype: DType | None = None
    components: int = 1
    value: DType | None = None
    """The type of the first instruction that computes with it."""


_Owners = dict[str, set[str]]
"""Register -> the parameters that what it holds was made of."""


def describe(entry: Function, layout: CubinEntry) -> tuple[Described, ...] | None:
    """The entry's parameters, whose (offset, bytes) the object code gives; None where the two do not agree."""
    if len(entry.parameters) != len(layout.parameters):
        return None
    uses = _uses(entry)
    names = _names(entry)
    return tuple(
        _described(name, parameter, uses[parameter.name], offset, size)
        for name, parameter, (offset, size) in zip(names, entry.parameters, layout.parameters, strict=True)
    )


def read_only(entry: Function) -> tuple[bool, ...]:
    """For each parameter whether the code never writes through it."""
    uses = _uses(entry)
    return tuple(not uses[item.name].writes and not uses[item.name].escapes for item in entry.parameters)


def _names(entry: Function) -> list[str]:
    """As written, without the name of the kernel that compilers put before; names that no request can hold go."""
    names: list[str] = []
    for index, parameter in enumerate(entry.parameters):
        name = parameter.name.removeprefix(f"{entry.name}_").lstrip("%$")
        names.append(name if _NAME.fullmatch(name) and name not in names else f"parameter_{index}")
    return names


def _described(name: str, parameter: Parameter, use: _Use, offset: int, size: int) -> Described:
    declared = _DTYPES.get(parameter.type) or _UNTYPED.get(parameter.type)
    item = _bytes(parameter.type)
    kind: ParameterKind = "scalar"
    dtype, components, const = declared, 1, False
    text = f".{parameter.type}"
    if parameter.pointee is not None:
        text += f" .ptr .{parameter.pointee}" if parameter.pointee else " .ptr"
    if size != item:
        kind, dtype = "struct", None
        text += f"[{size // item}]" if item else "[]"
        if use.value is not None and use.components > 1 and _bytes_of(use.value) * use.components == size:
            kind, dtype, components = "vector", use.value, use.components
    elif parameter.pointee is not None or (size == 8 and use.addresses):
        kind, dtype, components = "pointer", use.dtype, use.components
        const = not use.writes and not use.escapes
    elif use.value is not None and _bytes_of(use.value) == size and parameter.type in _VAGUE:
        dtype = use.value
    return Described(
        name=name, type=text, kind=kind, dtype=dtype, components=components, const=const,
        bytes=size, offset=offset,
    )  # fmt: skip


def _uses(entry: Function) -> dict[str, _Use]:
    uses = {parameter.name: _Use() for parameter in entry.parameters}
    owners: _Owners = {}
    body = [item for item in entry.body or () if isinstance(item, Instruction)]
    for item in body:
        if item.opcode == "ld" and "param" in item.modifiers and len(item.operands) == 2:
            target, source = item.operands
            name = source.base if isinstance(source, AddressOperand) else None
            if name is not None and name in uses:
                _loaded(uses[name], item, target, body)
                for register in _registers(target):
                    owners.setdefault(register, set()).add(name)
    # An address may be carried over the back edge of a loop: once more until nothing is added.
    known = -1
    while known != (count := sum(map(len, owners.values()))):
        known = count
        for item in body:
            _follow(item, owners, uses, body)
    return uses


def _loaded(use: _Use, item: Instruction, target: Operand, body: Sequence[Instruction]) -> None:
    names = list(_registers(target))
    use.components = max(use.components, len(names))
    if use.value is None and names and item.types:
        use.value = _signed(names[0], item.types[-1], body) or _meaning(item.types[-1], names[0], body, reads=True)


def _signed(register: str, type_name: str, body: Sequence[Instruction]) -> DType | None:
    """int32 for a .u32 that some instruction takes as signed, and so on; None otherwise."""
    signed = f"s{type_name[1:]}"
    if type_name[:1] != "u":
        return None
    for item in body:
        # Additions of addresses are written as signed whatever they add.
        if item.opcode in ("setp", "cvt", "mul", "mad", "div", "rem", "min", "max", "abs", "neg", "shr") and (
            item.types[-1:] == (signed,) and any(register in _registers(operand) for operand in item.operands[1:])
        ):
            return _DTYPES[signed]
    return None


def _follow(item: Instruction, owners: _Owners, uses: dict[str, _Use], body: Sequence[Instruction]) -> None:
    def own(operands: Sequence[Operand]) -> set[str]:
        return set().union(*(owners.get(name, ()) for operand in operands for name in _registers(operand)))

    if item.call is not None:
        for name in own(item.call.arguments):
            uses[name].escapes = True
    elif item.opcode in _MEMORY:
        _through(item, owners, uses, body)
    elif item.opcode in _CARRIERS and item.operands:
        target, *sources = item.operands
        carried = own(sources[2:] if item.opcode == "mad" else sources)
        for name in carried:
            uses[name].addresses |= item.opcode == "cvta" and "to" in item.modifiers
        if carried and item.types[-1:] and _bytes(item.types[-1]) == 8:
            for register in _registers(target):
                owners.setdefault(register, set()).update(carried)


def _through(item: Instruction, owners: _Owners, uses: dict[str, _Use], body: Sequence[Instruction]) -> None:
    """An access whose address, or whose value, comes from a parameter."""
    if any(space in item.modifiers for space in _ELSEWHERE):
        return
    for index, operand in enumerate(item.operands):
        if not isinstance(operand, AddressOperand):
            if item.opcode in _WRITES:
                for register in _registers(operand):
                    for name in owners.get(register, ()):
                        uses[name].escapes = True
            continue
        for name in owners.get(operand.base or "", ()):
            use = uses[name]
            use.addresses = True
            use.writes |= item.opcode in _WRITES or (item.opcode == "cp" and index == 0)
            values = [one for other in item.operands if other is not operand for one in _registers(other)]
            if use.dtype is None and item.types:
                reads = item.opcode not in ("st", "red")
                use.dtype = _meaning(item.types[-1], values[0] if values else "", body, reads=reads)
                use.components = 2 if item.types[-1] in _PACKED else 1
            vector = next((part for part in item.modifiers if part in ("v2", "v4")), None)
            if vector:
                use.components = max(use.components, int(vector[1]))


def _meaning(type_name: str, register: str, body: Sequence[Instruction], reads: bool) -> DType | None:
    """The dtype of an access; of an untyped one, by the instructions that use (or make) its register."""
    if type_name in _DTYPES:
        return _DTYPES[type_name]
    if type_name in _PACKED:
        return _PACKED[type_name]
    width = _bytes(type_name)
    for item in body:
        if item.opcode in _MEMORY or not item.operands or not item.types:
            continue
        target, *sources = item.operands
        touched = [target] if not reads else sources
        # cvt has the type of its source last, and that of its result before.
        own = item.types[0] if not reads else item.types[-1]
        if any(register in _registers(operand) for operand in touched) and own in _DTYPES and _bytes(own) == width:
            return _DTYPES[own]
    return _UNTYPED.get(type_name)


def _registers(operand: Operand) -> Iterator[str]:
    match operand:
        case RegisterOperand():
            yield operand.name
        case SymbolOperand():
            yield operand.name
        case VectorOperand():
            for element in operand.elements:
                yield from _registers(element)
        case PairOperand():
            yield from _registers(operand.first)
            yield from _registers(operand.second)


def _bytes(type_name: str) -> int:
    digits = type_name.lstrip("busfe").partition("x")[0]
    return int(digits) // 8 if digits.isdigit() else 0


def _bytes_of(dtype: DType) -> int:
    return ITEM_BYTES[dtype]
