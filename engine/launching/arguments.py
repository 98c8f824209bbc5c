"""Matches a launch's arguments to the kernel's parameters, and makes the bytes that the kernel receives."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.values.dtypes import cast, numpy_dtype
from protocol.arguments import (
    Argument,
    Buffer,
    BufferArgument,
    NullArgument,
    ScalarArgument,
    StructArgument,
    VectorArgument,
)
from protocol.diagnostics import Diagnostic, Severity
from protocol.dtypes import INTEGER_BITS, ITEM_BYTES, read_number
from protocol.kernel import Entry, Parameter

_LONGEST_SIGNATURE = 500
_GIVEN = {
    "buffer": "a buffer",
    "scalar": "a number",
    "vector": "a vector",
    "struct": "the bytes of a struct",
    "null": "a null pointer",
}


@dataclass(frozen=True, slots=True)
class Match:
    """A parameter with its argument and the argument's place in the launch."""

    parameter: Parameter
    argument: Argument
    position: int
    buffer: Buffer | None = None
    """As declared, where the argument is one."""


def match_arguments(
    entry: Entry, arguments: Sequence[Argument], buffers: Mapping[str, Buffer], step: str
) -> tuple[tuple[Match, ...], list[Diagnostic]]:
    """One argument a parameter, by name where all are named, and what is wrong with them."""
    paired, found = _paired(entry, arguments, step)
    matches = tuple(
        replace(match, buffer=buffers[match.argument.buffer]) if isinstance(match.argument, BufferArgument) else match
        for match in paired
    )
    for match in matches:
        found += _checked(match, buffers, f"{step}.arguments.{match.position}")
    return matches, found


def _paired(entry: Entry, arguments: Sequence[Argument], step: str) -> tuple[tuple[Match, ...], list[Diagnostic]]:
    parameters = entry.parameters
    field = f"{step}.arguments"
    signature = f"{entry.display}({', '.join(f'{item.type} {item.name}' for item in parameters)})"
    if len(signature) > _LONGEST_SIGNATURE:
        signature = f"{signature[:_LONGEST_SIGNATURE]} …"
    if arguments and all(argument.name is not None for argument in arguments):
        return _by_name(parameters, arguments, signature, field)
    if len(arguments) != len(parameters):
        message = f"{_count(len(arguments))} given, but {entry.display} takes {len(parameters)}"
        missing = [item.name for item in parameters[len(arguments) :]]
        help_text = f"Give {', '.join(missing)} too: {signature}." if missing else f"The kernel is {signature}."
        return (), [_message("error", "argument-count", message, field, help_text)]
    pairs = zip(parameters, arguments, strict=True)
    return tuple(Match(item, argument, index) for index, (item, argument) in enumerate(pairs)), []


def _by_name(
    parameters: Sequence[Parameter], arguments: Sequence[Argument], signature: str, field: str
) -> tuple[tuple[Match, ...], list[Diagnostic]]:
    found: list[Diagnostic] = []
    given: dict[str | None, int] = {}
    known = {item.name for item in parameters}
    for index, argument in enumerate(arguments):
        if argument.name not in known:
            message = f"{argument.name} is no parameter of the kernel"
            found.append(_message("error", "argument-name", message, f"{field}.{index}", f"It is {signature}."))
        elif argument.name in given:
            message = f"{argument.name} is given twice"
            found.append(_message("error", "argument-name", message, f"{field}.{index}", None))
        given.setdefault(argument.name, index)
    missing = [item.name for item in parameters if item.name not in given]
    # A wrong name leaves a parameter without argument; saying it twice helps nobody.
    if missing and not found:
        message = f"{', '.join(missing)} {'has' if len(missing) == 1 else 'have'} no argument"
        found.append(_message("error", "argument-count", message, field, f"The kernel is {signature}."))
    if found:
        return (), found
    return tuple(Match(item, arguments[given[item.name]], given[item.name]) for item in parameters), []


def _checked(match: Match, buffers: Mapping[str, Buffer], field: str) -> list[Diagnostic]:
    parameter, argument = match.parameter, match.argument
    if parameter.dimensions:
        return _array(match, field)
    if isinstance(argument, BufferArgument | NullArgument):
        if parameter.kind == "pointer" or (parameter.kind == "unknown" and parameter.bytes == 8):
            return _pointer(parameter, buffers[argument.buffer], field) if isinstance(argument, BufferArgument) else []
    elif parameter.kind == "unknown":
        if _size(argument) == parameter.bytes:
            return []
        message = f"{parameter.name} takes {parameter.bytes} bytes of a type that is not known"
        return [_message("error", "argument-type", message, field, "Give a number with its dtype, or the bytes.")]
    elif parameter.kind == "scalar" and isinstance(argument, ScalarArgument):
        return _scalar(parameter, argument, field)
    elif parameter.kind == "vector" and isinstance(argument, VectorArgument):
        return _vector(parameter, argument, field)
    elif parameter.kind == "struct" and isinstance(argument, StructArgument):
        size = len(argument.hex) // 2
        if size == parameter.bytes:
            return []
        message = f"{parameter.name} is a {parameter.type} of {parameter.bytes} bytes, but {size} are given"
        return [_message("error", "struct-size", message, field, "Give every byte, padding included, as two digits.")]
    message = f"{parameter.name} is {_described(parameter)}, but {_GIVEN[argument.kind]} is given"
    return [_message("error", "argument-type", message, field, _wanted(parameter))]


def _array(match: Match, field: str) -> list[Diagnostic]:
    """An array with its shape: compiled for one element type and number of axes."""
    parameter, buffer = match.parameter, match.buffer
    axes = parameter.dimensions + (parameter.components > 1)
    same = buffer is not None and (buffer.dtype, len(buffer.shape)) == (parameter.dtype, axes)
    if same and buffer is not None and parameter.components in (1, buffer.shape[-1]):
        return []
    given = _GIVEN[match.argument.kind]
    if buffer is not None:
        given = f"{buffer.name}, {buffer.dtype}[{', '.join(map(str, buffer.shape))}],"
    message = f"{parameter.name} is {_described(parameter)}, but {given} is given"
    return [_message("error", "argument-type", message, field, _wanted(parameter))]


def _pointer(parameter: Parameter, buffer: Buffer, field: str) -> list[Diagnostic]:
    found = []
    if parameter.dtype is not None and parameter.dtype != buffer.dtype:
        element = ITEM_BYTES[parameter.dtype] * parameter.components
        if buffer.bytes % element:
            message = (
                f"{parameter.name} points to {parameter.type.removesuffix('*').strip()} ({element} bytes), but "
                f"{buffer.name} has {buffer.bytes:,} bytes of {buffer.dtype}, which is no whole number of them"
            )
            found.append(_message("error", "buffer-dtype", message, field, f"Give a buffer of {parameter.dtype}."))
        else:
            message = (
                f"{parameter.name} points to {parameter.dtype}, and {buffer.name} is {buffer.dtype}: "
                f"the kernel reads its bytes as {buffer.bytes // ITEM_BYTES[parameter.dtype]:,} {parameter.dtype}"
            )
            found.append(_message("note", "buffer-dtype", message, field, None))
    elif parameter.components > 1 and buffer.elements % parameter.components:
        message = (
            f"{parameter.name} points to vectors of {parameter.components}, and {buffer.name} has "
            f"{buffer.elements:,} elements: the last vector is cut short"
        )
        found.append(_message("note", "buffer-vector", message, field, None))
    return found


def _scalar(parameter: Parameter, argument: ScalarArgument, field: str) -> list[Diagnostic]:
    assert parameter.dtype is not None
    if argument.dtype is not None and argument.dtype != parameter.dtype:
        message = f"{parameter.name} is {_described(parameter)}, but the number given is {argument.dtype}"
        return [_message("error", "argument-dtype", message, field, f"Give {parameter.dtype}, or leave the type out.")]
    try:
        _number_bytes(argument.value, parameter.dtype)
    except ValueError as error:
        return [_message("error", "argument-value", f"{parameter.name}: {error}", field, _wanted(parameter))]
    return []


def _vector(parameter: Parameter, argument: VectorArgument, field: str) -> list[Diagnostic]:
    if len(argument.values) != parameter.components:
        message = f"{parameter.name} is {_described(parameter)}, but {_count(len(argument.values), 'value')} given"
    elif argument.dtype != parameter.dtype:
        message = f"{parameter.name} is {_described(parameter)}, but {argument.dtype} is given"
    else:
        return []
    return [_message("error", "argument-dtype", message, field, _wanted(parameter))]


def argument_pieces(match: Match, address: Callable[[str], int]) -> Iterator[bytes]:
    """The bytes of an argument for each of the kernel's own parameters that carry it; usually one."""
    data, start = argument_bytes(match, address), 0
    for size in match.parameter.pieces or (len(data),):
        yield data[start : start + size]
        start += size


def argument_bytes(match: Match, address: Callable[[str], int]) -> bytes:
    """The bytes of one parameter; `address` gives a buffer's. Call it only where no error was found."""
    parameter, argument = match.parameter, match.argument
    match argument:
        case BufferArgument() if parameter.dimensions:
            assert match.buffer is not None
            return _array_words(match.buffer, parameter.components, address(argument.buffer))
        case BufferArgument():
            return address(argument.buffer).to_bytes(8, "little")
        case NullArgument():
            return bytes(8)
        case StructArgument():
            return bytes.fromhex(argument.hex)
        case ScalarArgument():
            dtype = argument.dtype or parameter.dtype
            assert dtype is not None
            return _number_bytes(argument.value, dtype)
        case VectorArgument():
            packed = b"".join(_number_bytes(value, argument.dtype) for value in argument.values)
            return packed.ljust(parameter.bytes, b"\0")


def _array_words(buffer: Buffer, components: int, address: int) -> bytes:
    """An array as Numba passes it: no owner, no parent, elements, their bytes, the address, shape and strides."""
    shape = buffer.shape if components == 1 else buffer.shape[:-1]
    item = ITEM_BYTES[buffer.dtype] * components
    strides = [item * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return struct.pack(f"<{5 + 2 * len(shape)}Q", 0, 0, math.prod(shape), item, address, *shape, *strides)


def _number_bytes(value: bool | int | float | str, dtype: str) -> bytes:
    number = read_number(value, dtype)
    if dtype == "bool" or dtype in INTEGER_BITS:
        return np.array([number], numpy_dtype(dtype)).tobytes()
    return cast(np.array([number], np.complex128 if dtype.startswith("complex") else np.float64), dtype).tobytes()


def _size(argument: Argument) -> int:
    match argument:
        case ScalarArgument():
            return ITEM_BYTES[argument.dtype] if argument.dtype else 0
        case VectorArgument():
            return ITEM_BYTES[argument.dtype] * len(argument.values)
        case StructArgument():
            return len(argument.hex) // 2
        case _:
            return 8


def _described(parameter: Parameter) -> str:
    if parameter.dimensions:
        return f"an array {parameter.type}"
    if parameter.kind == "pointer":
        return f"a pointer ({parameter.type})"
    if parameter.kind == "vector":
        return f"a {parameter.type} ({parameter.components} × {parameter.dtype})"
    if parameter.kind == "scalar":
        return (
            f"one {parameter.dtype} ({parameter.type})"
            if parameter.type != parameter.dtype
            else f"one {parameter.dtype}"
        )
    return f"a {parameter.type} of {parameter.bytes} bytes"


def _wanted(parameter: Parameter) -> str:
    if parameter.dimensions:
        if parameter.components > 1:
            return f"Give a buffer of {parameter.dtype} with the shape n × {parameter.components}."
        axes = "one axis" if parameter.dimensions == 1 else f"{parameter.dimensions} axes"
        return f"Give a buffer of {parameter.dtype} with {axes}."
    if parameter.kind == "pointer":
        return f"Give a buffer{f' of {parameter.dtype}' if parameter.dtype else ''}, or null."
    if parameter.kind == "vector":
        return f"Give {parameter.components} values of {parameter.dtype}."
    if parameter.kind == "scalar":
        return f"Give a number of type {parameter.dtype}."
    return f"Give its {parameter.bytes} bytes in hexadecimal."


def _count(number: int, noun: str = "argument") -> str:
    return f"{number} {noun}{' is' if number == 1 else 's are'}"


def _message(severity: Severity, code: str, message: str, field: str, help_text: str | None) -> Diagnostic:
    return Diagnostic(severity=severity, code=code, message=message, origin="launch", field=field, help=help_text)
