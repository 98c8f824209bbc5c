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


_TEMPLATE = re.compile(
    r"\btemplate\s*<(?P<parameters>(?:[^<>]|<[^<>]*>)*)>\s*(?:static\s+|inline\s+)*__global__\b"
    r"(?:\s|static\b|inline\b|void\b|__launch_bounds__\s*\([^()]*\))*(?P<name>[A-Za-z_]\w*)\s*\("
)
_STARTS = {"typename": "float", "class": "float", "bool": "true"}


def instantiation(source: str) -> str:
    """How the first kernel template of a source may be instantiated, such as 'gemm<float, 16>'.

    Types are float, whole numbers 16, defaults as written; 'scale<float>' where the template cannot be read so.
    """
    found = _TEMPLATE.search(source)
    if found is None:
        return "scale<float>"
    arguments = []
    for parameter in re.split(r",(?![^<]*>)", found["parameters"]):
        declared, _, default = (part.strip() for part in parameter.partition("="))
        arguments.append(default or _STARTS.get(declared.split(" ")[0], "16"))
    return f"{found['name']}<{', '.join(arguments)}>"
