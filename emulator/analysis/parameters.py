"""Turns the parameter variables of inlined calls into registers, or into local memory where they need it."""

from __future__ import annotations

from dataclasses import replace

from emulator.analysis.flat import FlatKernel, align
from emulator.syntax.nodes import (
    TYPE_SIZES,
    AddressOperand,
    Instruction,
    Label,
    Operand,
    RegisterOperand,
    SymbolOperand,
    Variable,
    VectorOperand,
)

_BITS = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}


def settle_parameters(flat: FlatKernel, variables: dict[str, Variable]) -> None:
    """Rewrites `st.param`/`ld.param` of call parameters in place.

    A variable all of whose accesses are at fixed offsets and never overlap in part becomes one register an access
    offset; any other (its address is taken, or the pieces differ) becomes a slot of local memory.
    """
    pieces: dict[str, dict[int, int]] = {name: {} for name in variables}
    in_memory: set[str] = set()
    for item in flat.body:
        if isinstance(item, Label):
            continue
        for position, operand in enumerate(item.operands):
            if isinstance(operand, SymbolOperand) and operand.name in pieces:
                in_memory.add(operand.name)
            if not isinstance(operand, AddressOperand) or operand.base not in pieces:
                continue
            if item.opcode not in ("ld", "st") or not item.types or not names_param_space(item):
                in_memory.add(operand.base)
                continue
            size = TYPE_SIZES[item.types[-1]]
            for index in range(len(_elements(item, position))):
                offset = operand.offset + index * size
                if pieces[operand.base].setdefault(offset, size) != size:
                    in_memory.add(operand.base)
    for name, offsets in pieces.items():
        end = -1
        for offset in sorted(offsets):
            if offset < end:
                in_memory.add(name)
            end = offset + offsets[offset]
        if name in in_memory:
            flat.local[name] = align(flat.local_bytes, max(variables[name].alignment, 8))
            flat.local_bytes = flat.local[name] + variables[name].size
        else:
            for offset, size in offsets.items():
                flat.registers[_register(name, offset)] = _BITS.get(size, "b64")
    flat.body[:] = [new for item in flat.body for new in _rewrite(item, pieces, in_memory)]


def names_param_space(item: Instruction) -> bool:
    """Whether an access says .param, with or without ::entry or ::func."""
    return any(modifier.split("::")[0] == "param" for modifier in item.modifiers)


def _register(name: str, offset: int) -> str:
    return f"%{name}+{offset}"


def _elements(item: Instruction, address_position: int) -> tuple[Operand, ...]:
    value = item.operands[1 - address_position]
    return value.elements if isinstance(value, VectorOperand) else (value,)


def _rewrite(
    item: Label | Instruction, pieces: dict[str, dict[int, int]], in_memory: set[str]
) -> list[Label | Instruction]:
    if isinstance(item, Label):
        return [item]
    if item.call is not None:
        # A function of the device runtime: its arguments are the registers of its parameters.
        arguments = tuple(
            RegisterOperand(_register(a.name, 0))
            if isinstance(a, SymbolOperand) and a.name in pieces and a.name not in in_memory
            else a
            for a in item.call.arguments
        )
        results = tuple(_register(r, 0) if pieces.get(r) and r not in in_memory else r for r in item.call.results)
        results = tuple(r for r in results if r[:1] == "%")
        return [replace(item, call=replace(item.call, arguments=arguments, results=results))]
    position = next(
        (i for i, o in enumerate(item.operands) if isinstance(o, AddressOperand) and o.base in pieces), None
    )
    if position is None:
        return [item]
    address = item.operands[position]
    assert isinstance(address, AddressOperand) and address.base is not None
    if address.base in in_memory:
        modifiers = tuple("local" if m.split("::")[0] == "param" else m for m in item.modifiers)
        return [replace(item, modifiers=modifiers)]
    type_name = item.types[-1]
    moves: list[Label | Instruction] = []
    for index, value in enumerate(_elements(item, position)):
        register = RegisterOperand(_register(address.base, address.offset + index * TYPE_SIZES[type_name]))
        pair = (value, register) if item.opcode == "ld" else (register, value)
        moves.append(replace(item, opcode="copy", modifiers=(type_name,), operands=pair))
    return moves
