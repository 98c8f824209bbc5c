"""Reads the DWARF that the compiler writes into PTX as text (version 2 and 3, one compilation unit)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

# DWARF 2, section 7.5: tags and attributes that parameters are described with.
ARRAY_TYPE, CLASS_TYPE, ENUMERATION_TYPE, FORMAL_PARAMETER, MEMBER = 0x01, 0x02, 0x04, 0x05, 0x0D
POINTER_TYPE, REFERENCE_TYPE, STRUCTURE_TYPE, SUBROUTINE_TYPE, TYPEDEF, UNION_TYPE = 0x0F, 0x10, 0x13, 0x15, 0x16, 0x17
BASE_TYPE, CONST_TYPE, SUBPROGRAM, VOLATILE_TYPE, RESTRICT_TYPE, UNSPECIFIED_TYPE = 0x24, 0x26, 0x2E, 0x35, 0x37, 0x3B
RVALUE_REFERENCE_TYPE = 0x42
NAME, BYTE_SIZE, UPPER_BOUND, COUNT, DECL_FILE, DECL_LINE = 0x03, 0x0B, 0x2F, 0x37, 0x3A, 0x3B
ENCODING, TYPE, MIPS_LINKAGE_NAME, LINKAGE_NAME, SPECIFICATION, ABSTRACT_ORIGIN = 0x3E, 0x49, 0x2007, 0x6E, 0x47, 0x31

_MAX_BYTES = 64 << 20
_SECTION = re.compile(r"^[ \t]*\.section[ \t]+(\.debug_\w+)\s*\{(.*?)^[ \t]*\}", re.MULTILINE | re.DOTALL)
_WIDTH = {".b8": 1, ".b16": 2, ".b32": 4, ".b64": 8}
_FIXED = {0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x0E: 4, 0x10: 4, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8}
_FORM_STRING, _FORM_UNSIGNED, _FORM_SIGNED = 0x08, 0x0F, 0x0D
_BLOCKS = {0x03: 2, 0x04: 4, 0x0A: 1}
_LONGEST_NUMBER = 63
_HEADER = struct.Struct("<IHIB")


class BadDwarf(ValueError):
    """The debug information is not what the compiler writes."""


@dataclass(slots=True)
class Entry:
    """A debugging information entry: attribute -> number or text."""

    tag: int
    attributes: dict[int, int | str]
    children: list[Entry] = field(default_factory=list)

    def text(self, attribute: int) -> str:
        value = self.attributes.get(attribute, "")
        return value if isinstance(value, str) else ""

    def number(self, attribute: int) -> int:
        value = self.attributes.get(attribute, 0)
        return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True)
class DebugInfo:
    """All entries by their offset, which is what references hold."""

    entries: dict[int, Entry]

    def target(self, entry: Entry, attribute: int = TYPE) -> Entry | None:
        """The entry that a reference names."""
        value = entry.attributes.get(attribute)
        return self.entries.get(value) if isinstance(value, int) else None

    def functions(self) -> Iterator[Entry]:
        return (entry for entry in self.entries.values() if entry.tag == SUBPROGRAM)


def read_debug_info(ptx: str) -> DebugInfo:
    """The debug information of a PTX module compiled with -G. Raises BadDwarf."""
    sections = {match[1]: match[2] for match in _SECTION.finditer(ptx)}
    try:
        info = _section_bytes(sections[".debug_info"])
        abbreviations = _abbreviations(_section_bytes(sections[".debug_abbrev"]))
        return DebugInfo(_entries(info, abbreviations))
    except (KeyError, IndexError, ValueError, struct.error) as error:
        raise BadDwarf(f"the debug information cannot be read: {error}") from error


def _section_bytes(text: str) -> bytes:
    data = bytearray()
    for line in text.split("\n"):
        directive, _, values = line.strip().partition(" ")
        width = _WIDTH.get(directive)
        if width == 1:
            data += bytes(map(int, values.split(",")))
        elif width is not None:
            for value in values.split(","):
                # A label is an address, which nothing here needs.
                number = int(value) if value.strip().isdigit() else 0
                data += number.to_bytes(width, "little")
        if len(data) > _MAX_BYTES:
            raise BadDwarf("the debug information is too large")
    return bytes(data)


_Abbreviations = dict[int, tuple[int, bool, list[tuple[int, int]]]]


def _abbreviations(data: bytes) -> _Abbreviations:
    """Code -> tag, whether it has children, and its attributes with their forms."""
    table: _Abbreviations = {}
    position = 0
    while True:
        code, position = _unsigned(data, position)
        if code == 0:
            return table
        tag, position = _unsigned(data, position)
        children = bool(data[position])
        position += 1
        attributes = []
        while True:
            attribute, position = _unsigned(data, position)
            form, position = _unsigned(data, position)
            if attribute == 0 and form == 0:
                break
            attributes.append((attribute, form))
        table[code] = (tag, children, attributes)


def _entries(data: bytes, abbreviations: _Abbreviations) -> dict[int, Entry]:
    length, version, _, address_size = _HEADER.unpack_from(data)
    if version not in (2, 3) or address_size != 8:
        raise BadDwarf(f"version {version} with addresses of {address_size} bytes")
    end = min(length + 4, len(data))
    position = _HEADER.size
    entries: dict[int, Entry] = {}
    parents: list[Entry] = []
    while position < end:
        offset = position
        code, position = _unsigned(data, position)
        if code == 0:
            if parents:
                parents.pop()
            continue
        tag, children, attributes = abbreviations[code]
        values: dict[int, int | str] = {}
        for attribute, form in attributes:
            value, position = _value(data, position, form)
            values[attribute] = value
        entry = entries[offset] = Entry(tag, values)
        if parents:
            parents[-1].children.append(entry)
        if children:
            parents.append(entry)
    return entries


def _value(data: bytes, position: int, form: int) -> tuple[int | str, int]:
    if form == _FORM_STRING:
        end = data.index(0, position)
        return data[position:end].decode(errors="replace"), end + 1
    if form in _FIXED:
        size = _FIXED[form]
        return int.from_bytes(data[position : position + size], "little"), position + size
    if form in (_FORM_UNSIGNED, _FORM_SIGNED):
        return _unsigned(data, position)
    if form in _BLOCKS:
        size = _BLOCKS[form]
        length = int.from_bytes(data[position : position + size], "little")
        return 0, position + size + length
    raise BadDwarf(f"form {form:#x}")


def _unsigned(data: bytes, position: int) -> tuple[int, int]:
    """LEB128; a signed one is read as its bits, because no attribute used here is signed."""
    result = shift = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return result, position
        if shift > _LONGEST_NUMBER:
            raise BadDwarf("a number of more than 64 bits")
