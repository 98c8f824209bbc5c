"""Values that can be read off a Python text: texts, numbers and tuples that are written out or put together."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping

Value = str | int | float | bool | None | tuple["Value", ...]

_MOST_CHARACTERS = 262_144
_DEEPEST = 40


class Unknown(Exception):
    """A value that only running the text would give; `node` is the part that is to blame."""

    def __init__(self, message: str, node: ast.AST) -> None:
        super().__init__(message)
        self.node = node


def names_of(tree: ast.Module) -> dict[str, ast.expr]:
    """Every name that the text assigns once, with what it is given."""
    found: dict[str, ast.expr | None] = {}
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        given: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, given = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, given = [node.target], node.value
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = None if target.id in found else given
        if isinstance(node, ast.AugAssign | ast.For) and isinstance(node.target, ast.Name):
            found[node.target.id] = None
    return {name: value for name, value in found.items() if value is not None}


def constant(node: ast.expr, names: Mapping[str, ast.expr], depth: int = 0) -> Value:
    """The value of an expression. Unknown."""
    if depth > _DEEPEST:
        raise Unknown("this is nested too deeply to read", node)

    def of(part: ast.expr) -> Value:
        return constant(part, names, depth + 1)

    match node:
        case ast.Constant(value=str() | int() | float() | bool() | None as written):
            return written
        case ast.Tuple() | ast.List():
            return tuple(of(item) for item in node.elts)
        case ast.Name(id=name):
            if name not in names:
                raise Unknown(f"the value of {name} is not known without running the text", node)
            return of(names[name])
        case ast.JoinedStr():
            return _limited("".join(_piece(part, of) for part in node.values), node)
        case ast.UnaryOp(op=ast.USub()):
            value = of(node.operand)
            if isinstance(value, int | float):
                return -value
        case ast.BinOp():
            return _combined(node, of(node.left), of(node.right))
        case ast.Call(func=ast.Attribute(value=base, attr=method)):
            return _method(node, base, method, of)
        case ast.Call(func=ast.Name(id="int" | "str" as kind), args=[only], keywords=[]):
            value = of(only)
            if isinstance(value, int | float | str):
                try:
                    return int(value) if kind == "int" else str(value)
                except ValueError:
                    pass
    raise Unknown("this is not known without running the text", node)


def _piece(part: ast.expr, of: object) -> str:
    assert callable(of)
    if isinstance(part, ast.FormattedValue):
        if part.conversion != -1 or part.format_spec is not None:
            raise Unknown("formats inside {} are not read", part)
        return str(of(part.value))
    return str(of(part))


def _combined(node: ast.BinOp, left: Value, right: Value) -> Value:
    if isinstance(node.op, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return _limited(left + right, node)
    if isinstance(node.op, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
        return left + right
    if isinstance(node.op, ast.Mod) and isinstance(left, str) and len(left) < _MOST_CHARACTERS and "*" not in left:
        try:
            return _limited(left % right, node)
        except (TypeError, ValueError, OverflowError, MemoryError):
            raise Unknown("this text and its values do not fit", node) from None
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _calculated(node, left, right)
    raise Unknown("this is not known without running the text", node)


def _calculated(node: ast.BinOp, left: int | float, right: int | float) -> Value:
    try:
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult() if abs(left) < 1 << 64 and abs(right) < 1 << 64:
                return left * right
            case ast.FloorDiv():
                return left // right
            case ast.Div():
                return left / right
            case ast.Mod():
                return left % right
            case ast.Pow() if abs(left) < 1 << 16 and 0 <= right <= 64:
                return left**right
            case ast.LShift() if isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64:
                return left << right
    except (ArithmeticError, ValueError):
        pass
    raise Unknown("this number cannot be read", node)


def _method(node: ast.Call, base: ast.expr, method: str, of: object) -> Value:
    assert callable(of)
    if isinstance(base, ast.Name) and (base.id, method) == ("textwrap", "dedent") and len(node.args) == 1:
        text = of(node.args[0])
        if isinstance(text, str):
            return textwrap.dedent(text)
    arguments = [of(item) for item in node.args]
    named = {str(item.arg): of(item.value) for item in node.keywords}
    text = of(base)
    if isinstance(text, str):
        match method:
            case "strip" | "lstrip" | "rstrip" if not arguments and not named:
                return str(getattr(text, method)())
            case "replace" if len(arguments) == 2 and all(isinstance(item, str) for item in arguments):
                if text.count(str(arguments[0])) * len(str(arguments[1])) < _MOST_CHARACTERS and arguments[0]:
                    return text.replace(str(arguments[0]), str(arguments[1]))
            case "format":
                return _limited(_formatted(node, text, arguments, named), node)
            case "join" if len(arguments) == 1 and isinstance(arguments[0], tuple):
                return _limited(text.join(str(item) for item in arguments[0]), node)
    raise Unknown("this is not known without running the text", node)


def _formatted(node: ast.AST, text: str, arguments: list[Value], named: dict[str, Value]) -> str:
    import string

    pieces = []
    try:
        for index, (literal, field, spec, conversion) in enumerate(string.Formatter().parse(text)):
            pieces.append(literal)
            if field is None:
                continue
            if spec or conversion:
                raise Unknown("formats inside {} are not read", node)
            key = field or str(index)
            pieces.append(str(arguments[int(key)] if key.isdigit() else named[key]))
    except (ValueError, IndexError, KeyError):
        raise Unknown("this text and its values do not fit", node) from None
    return "".join(pieces)


def _limited(text: str, node: ast.AST) -> str:
    if len(text) > _MOST_CHARACTERS:
        raise Unknown("this text is too long", node)
    return text
