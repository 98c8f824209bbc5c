"""Names of functions for people: the qualified name inside an Itanium-mangled one, and template expressions."""

from __future__ import annotations

import re

_LENGTH = re.compile(r"\d+")
_ANONYMOUS = ("_GLOBAL__N_", "_INTERNAL_")


def qualified_parts(mangled: str) -> list[str]:
    """The identifiers of a mangled function's name, outermost first, without anonymous namespaces.

    Template arguments and parameters are left out: `_ZN2ns5scaleIfEvPT_` is ['ns', 'scale']. A name that is not
    mangled is its own only part.
    """
    if not mangled.startswith("_Z"):
        return [mangled]
    position = 3 if mangled.startswith("_ZN") else 2
    if position == 2 and mangled.startswith("_ZL"):
        position = 3
    parts = []
    while match := _LENGTH.match(mangled, position):
        start, length = match.end(), int(match[0])
        if length > len(mangled) - start:
            break
        part = mangled[start : start + length]
        if not part.startswith(_ANONYMOUS):
            parts.append(part)
        position = start + length
        if not mangled.startswith("_ZN"):
            break
    return parts or [mangled]


def display_name(mangled: str, own: str) -> str:
    """The name as a user calls the function; `own` is the debug information's, with template arguments."""
    parts = qualified_parts(mangled)
    return "::".join([*parts[:-1], own or parts[-1]])


def same_expression(first: str, second: str) -> bool:
    """Whether two template expressions differ in blanks alone."""
    return _normal(first) == _normal(second)


def _normal(expression: str) -> str:
    words = re.sub(r"\s+", " ", expression.strip())
    return re.sub(r" ?([^\w ]) ?", r"\1", words).removeprefix("::")
