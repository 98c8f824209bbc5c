"""Expressions of a sweep over its cells' numbers: a small part of Python's arithmetic, which is read and never run.

Names, whole numbers, + - * / // % **, comparisons, and, or, not, `a if c else b`, and min, max, abs, ceil_div, len.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

Value = int | float | bool | str
MOST_NODES = 100
MOST_BITS = 128
"""Of a whole number on the way."""

_BINARY: dict[type[ast.operator], Callable[[int | float, int | float], int | float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., int | float]] = {
    "min": min, "max": max, "abs": abs, "ceil_div": lambda a, b: -(-a // b),
}  # fmt: skip


class Unusable(ValueError):
    """Why a text is no expression, or has no value for some cell; in words for the user."""


def parse(text: str) -> ast.expr:
    """The tree of an expression. Raises Unusable."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        where = f" at column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise Unusable(f"{text[:60]!r} cannot be read{where}; it is written as in Python, with and, or, not") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise Unusable("the expression is too long")
    return tree


def evaluate(tree: ast.expr, names: Mapping[str, Value], lengths: Mapping[str, int]) -> Value:
    """The value where each name has that number; `lengths` are what len(name) is. Raises Unusable."""
    try:
        return _value(tree, names, lengths)
    except ZeroDivisionError:
        raise Unusable("it divides by 0") from None
    except (TypeError, OverflowError, RecursionError):
        raise Unusable("it mixes what cannot be calculated with") from None


def _value(node: ast.expr, names: Mapping[str, Value], lengths: Mapping[str, int]) -> Value:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as constant):
            return constant
        case ast.Name(id=name):
            if name not in names:
                raise Unusable(f"{name} is not known; there are {', '.join(sorted(names))}")
            return names[name]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names, lengths)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_value(operand, names, lengths))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _calculated(type(op), _number(_value(left, names, lengths)), _number(_value(right, names, lengths)))
        case ast.BoolOp(op=op, values=values):
            found: Value = True
            for item in values:
                found = _value(item, names, lengths)
                if bool(found) is isinstance(op, ast.Or):
                    return found
            return found
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _value(test, names, lengths) else other, names, lengths)
        case ast.Compare(left=left, ops=ops, comparators=others):
            before = _value(left, names, lengths)
            for compared, item in zip(ops, others, strict=True):
                after = _value(item, names, lengths)
                if type(compared) not in _COMPARED:
                    raise Unusable("only <, <=, >, >=, == and != compare")
                if not _COMPARED[type(compared)](before, after):
                    return False
                before = after
            return True
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            if name not in lengths:
                raise Unusable(f"no buffer is called {name}; there are {', '.join(sorted(lengths)) or 'none'}")
            return lengths[name]
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_number(_value(item, names, lengths)) for item in args))
    raise Unusable(f"{ast.unparse(node)[:40]} cannot stand here: numbers, names, arithmetic, comparisons, {_known()}")


def _known() -> str:
    return f"{', '.join(_FUNCTIONS)} and len(buffer) can"


def _number(value: Value) -> int | float:
    if isinstance(value, str):
        raise Unusable(f"{value!r} is no number")
    return int(value) if isinstance(value, bool) else value


def _calculated(kind: type[ast.operator], left: int | float, right: int | float) -> int | float:
    if kind is ast.Pow and (abs(right) > MOST_BITS or abs(left) > 1 << 32):
        raise Unusable("the power is too large")
    result = _BINARY[kind](left, right)
    if isinstance(result, complex):
        raise Unusable("it has no real value")
    if isinstance(result, int) and result.bit_length() > MOST_BITS:
        raise Unusable("a number on the way is too large")
    return result
