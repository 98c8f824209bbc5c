"""Parses variables with their initialisers, at module level and inside bodies."""

from __future__ import annotations

import struct

from emulator.syntax.lexer import END, is_number
from emulator.syntax.nodes import TYPE_SIZES, Variable
from emulator.syntax.reader import Reader

_LARGEST = 1 << 40  # bytes of one variable that the parser accepts; devices refuse far less


def parse_variables(reader: Reader, extern: bool) -> list[Variable]:
    """`.global .align 4 .b8 a[16] = {…}, b;` with the cursor on the space."""
    space = reader.take()[1:].split("[")[0]
    if reader.peek() == "[":  # .const[2]
        reader.take()
        reader.integer()
        reader.expect("]")
    alignment, type_name, width = 0, "", 1
    while reader.peek()[:1] == ".":
        token = reader.take()
        if token == ".align":
            alignment = reader.integer()
        elif token in (".v2", ".v4", ".v8"):
            width = int(token[2:])
        elif token == ".attribute":
            reader.expect("(")
            while reader.peek() not in (")", END):
                reader.take()
            reader.expect(")")
        elif token[1:] in TYPE_SIZES or token in (".texref", ".samplerref", ".surfref"):
            type_name = token[1:]
    if not type_name:
        raise reader.problem("a variable without a type")
    element = TYPE_SIZES.get(type_name, 8) * width
    alignment = alignment or max(element, 1)
    if alignment & (alignment - 1) or alignment <= 0 or alignment > 1 << 20:
        raise reader.problem("an alignment that is no power of two")
    found = [_declarator(reader, space, type_name, alignment, element, extern)]
    while reader.accept(","):
        found.append(_declarator(reader, space, type_name, alignment, element, extern))
    reader.expect(";")
    return found


def _declarator(reader: Reader, space: str, type_name: str, alignment: int, element: int, extern: bool) -> Variable:
    line = reader.line
    name = reader.name()
    count, unsized = 1, False
    while reader.accept("["):
        if reader.peek() == "]":
            unsized = True
        else:
            count *= reader.integer()
        reader.expect("]")
    if count < 0 or count * element > _LARGEST:
        raise reader.problem(f"the size of '{name}' is out of range")
    initial: bytes | None = None
    addresses: list[tuple[int, int, str, int]] = []
    if reader.accept("="):
        size = TYPE_SIZES.get(type_name, 8)
        data = bytearray()
        _initialiser(reader, type_name, size, data, addresses)
        initial = bytes(data)
        if unsized:
            count, unsized = -(-len(data) // element), False
        if len(data) > count * element:
            raise reader.problem(f"'{name}' has more initial values than elements")
    size = 0 if unsized else count * element
    return Variable(name, space, type_name, alignment, size, initial, tuple(addresses), extern, line)


def _initialiser(
    reader: Reader, type_name: str, size: int, data: bytearray, addresses: list[tuple[int, int, str, int]]
) -> None:
    depth = 0
    while True:
        token = reader.peek()
        if token == "{":
            depth += 1
            reader.take()
            continue
        if token == "}":
            depth -= 1
            reader.take()
        elif token in ("-", "+", "~") or (is_number(token) and reader.peek(1) != "("):
            data += _constant(reader, type_name, size)
        elif token and token not in (",", ";"):
            _address(reader, size, data, addresses)
        else:
            raise reader.problem(f"expected a value before '{token or 'the end'}'")
        if depth <= 0:
            return
        while reader.accept("}"):
            depth -= 1
        if depth <= 0:
            return
        reader.accept(",")


def _constant(reader: Reader, type_name: str, size: int) -> bytes:
    value = reader.immediate()
    bits = value.value
    if value.float_bits == 64 and type_name == "f32":
        bits = int.from_bytes(struct.pack("<f", struct.unpack("<d", bits.to_bytes(8, "little"))[0]), "little")
    elif value.float_bits is None and type_name in ("f32", "f64"):
        packed = struct.pack("<f" if type_name == "f32" else "<d", float(bits))
        bits = int.from_bytes(packed, "little")
    return (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _address(reader: Reader, size: int, data: bytearray, addresses: list[tuple[int, int, str, int]]) -> None:
    """`symbol`, `symbol+4`, `generic(symbol)+4`, and one byte of an address: `0xFF00(symbol)`."""
    if is_number(reader.peek()):
        raise reader.problem("single bytes of an address are not supported in an initialiser")
    name = reader.name()
    if name == "generic" and reader.accept("("):
        name = reader.name()
        reader.expect(")")
    addresses.append((len(data), size, name, reader.offset()))
    data += bytes(size)
