"""Calls of kernels in a Python text, as launches: grid, block, shared memory, buffers and arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.recognise.arrays import array, number
from engine.recognise.constants import Unknown, constant

# Calls that are written wrongly are as good as unknown.
_UNREADABLE = (Unknown, ArithmeticError, LookupError, TypeError, ValueError)
_NAME = re.compile(r"[A-Za-z_]\w{0,63}")


def config_of(
    grid: ast.expr | None, block: ast.expr | None, shared: ast.expr | None, names: Mapping[str, ast.expr]
) -> dict[str, Any]:
    """The fields of a launch's configuration, as far as they can be read."""
    found: dict[str, Any] = {}
    for field, node in (("grid", grid), ("block", block)):
        try:
            value = constant(node, names) if node is not None else None
        except Unknown:
            continue
        extents = value if isinstance(value, tuple) else (value,)
        if 1 <= len(extents) <= 3 and all(type(one) is int and 0 < one < 1 << 31 for one in extents):
            found[field] = list(extents)
    try:
        size = constant(shared, names) if shared is not None else None
    except Unknown:
        size = None
    if type(size) is int and size >= 0:
        found["dynamic_shared_bytes"] = size
    return found


def arguments_of(
    given: Sequence[ast.expr], names: Mapping[str, ast.expr]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(buffers, arguments by place) of a call whose arguments can all be read; both empty otherwise."""
    buffers: dict[str, dict[str, Any]] = {}
    arguments: list[dict[str, Any]] = []
    for index, node in enumerate(given):
        try:
            made = array(node, names)
        except _UNREADABLE:
            try:
                value, dtype = number(node, names)
            except _UNREADABLE:
                return [], []
            arguments.append({"kind": "scalar", "value": value, **({"dtype": dtype} if dtype else {})})
            continue
        name = node.id if isinstance(node, ast.Name) and _NAME.fullmatch(node.id) else f"buffer_{index}"
        buffers[name] = {"name": name, "dtype": made.dtype, "shape": list(made.shape), "init": made.init}
        arguments.append({"kind": "buffer", "buffer": name})
    return list(buffers.values()), arguments
