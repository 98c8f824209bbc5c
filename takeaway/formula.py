"""A buffer's formula as a NumPy expression and as a C++ one, with the types that NumPy would give each part."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["bool", "int", "float", "complex", "unknown"]

VARIABLES = ("i", "x", "y", "z", "w", "n", "nx", "ny", "nz", "nw")
_INEXACT = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2",
    "log10": "log10", "cbrt": "cbrt", "atan2": "arctan2", "hypot": "hypot",
}  # fmt: skip
"""C's name -> NumPy's, of the functions whose last place the C library and NumPy may round differently."""
_SYNONYMS = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2"}
_ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_BY_FUNCTION: dict[type[ast.operator], str] = {
    ast.FloorDiv: "floor_divide", ast.Mod: "modulo", ast.LShift: "shift_left", ast.RShift: "shift_right",
}  # fmt: skip
_INTEGRAL = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


class Unwritable(ValueError):
    """The text is no formula."""


@dataclass(frozen=True, slots=True)
class Written:
    """One part in both languages; `cuda` is None where C++ cannot give NumPy's numbers."""

    kind: Kind
    numpy: ast.expr
    cuda: str | None
    constant: bool = False
    inexact: frozenset[str] = field(default_factory=frozenset)
    """Functions of the C library in it."""


@dataclass(frozen=True, slots=True)
class WrittenFormula:
    """`numpy` and `cuda` are expressions in i, x, y, z, w, n, nx, ny, nz and nw."""

    kind: Kind
    numpy: str
    cuda: str | None
    inexact: tuple[str, ...]


def write_formula(text: str) -> WrittenFormula:
    """Both expressions. Raises Unwritable."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, MemoryError, RecursionError, ValueError):
        raise Unwritable(f"{text!r} is not a formula") from None
    written = _write(tree)
    return WrittenFormula(written.kind, ast.unparse(written.numpy), written.cuda, tuple(sorted(written.inexact)))


def _write(node: ast.expr) -> Written:
    match node:
        case ast.Constant():
            return _constant(node.value)
        case ast.Name(id="pi" | "e"):
            cuda = "3.141592653589793" if node.id == "pi" else "2.718281828459045"
            return Written("float", _numpy(node.id), cuda, constant=True)
        case ast.Name() if node.id in VARIABLES:
            return Written("int", ast.Name(node.id), node.id)
        case ast.UnaryOp():
            return _unary(node)
        case ast.BinOp():
            return _binary(node.op, _write(node.left), _write(node.right))
        case ast.BoolOp():
            function, sign = ("logical_and", "&&") if isinstance(node.op, ast.And) else ("logical_or", "||")
            parts = [_write(item) for item in node.values]
            result = parts[0]
            for part in parts[1:]:
                result = _joined("bool", _call(function, result, part), f"({{}} != 0 {sign} {{}} != 0)", result, part)
            return result
        case ast.Compare():
            return _compare(node)
        case ast.IfExp():
            return _where(*map(_write, (node.test, node.body, node.orelse)))
        case ast.Call(func=ast.Name(id=name)) if not node.keywords:
            return _function(_SYNONYMS.get(name, name), [_write(item) for item in node.args])
    raise Unwritable(f"{ast.unparse(node)} cannot stand in a formula")


def _constant(value: object) -> Written:
    if isinstance(value, bool):
        return Written("bool", _call("bool_", ast.Constant(value)), "true" if value else "false")
    if isinstance(value, int):
        return Written("int", ast.Constant(value), str(value), constant=True)
    if isinstance(value, float):
        return Written("float", ast.Constant(value), "HUGE_VAL" if value > 1e308 * 10 else repr(value), constant=True)
    if isinstance(value, complex):
        return Written("complex", ast.Constant(value), None, constant=True)
    raise Unwritable(f"{value!r} is no number")


def _joined(kind: Kind, numpy: ast.expr, template: str, *parts: Written) -> Written:
    """A part made of others; the template takes their C++ texts."""
    texts = [part.cuda for part in parts]
    cuda = None if kind in ("complex", "unknown") or None in texts else template.format(*texts)
    return Written(kind, numpy, cuda, inexact=frozenset().union(*(part.inexact for part in parts)))


def _numpy(name: str) -> ast.expr:
    return ast.Attribute(ast.Name("np"), name)


def _call(name: str, *arguments: Written | ast.expr) -> ast.expr:
    """A call of NumPy's function."""
    return ast.Call(_numpy(name), [item.numpy if isinstance(item, Written) else item for item in arguments], [])


def _typed(part: Written) -> Written:
    """A constant with its 64-bit type, so that arithmetic of constants alone is NumPy's."""
    if not part.constant:
        return part
    name = {"int": "int64", "float": "float64", "complex": "complex128"}[part.kind]
    cuda = f"int64_t({part.cuda})" if part.kind == "int" and part.cuda else part.cuda
    return Written(part.kind, _call(name, part), cuda, inexact=part.inexact)


def _number(part: Written) -> Written:
    """Truth values count as 0 and 1."""
    if part.kind == "bool":
        return _joined("int", _call("int64", part), "int64_t({})", part)
    return part


def _numbers(*parts: Written) -> list[Written]:
    """Operands of arithmetic: constants get types where there are only constants."""
    numbers = [_number(part) for part in parts]
    return [_typed(part) for part in numbers] if all(part.constant for part in numbers) else numbers


def _widest(*kinds: Kind) -> Kind:
    order: tuple[Kind, ...] = ("unknown", "complex", "float", "int", "bool")
    return next(kind for kind in order if kind in kinds)


def _unary(node: ast.UnaryOp) -> Written:
    operand = _write(node.operand)
    if isinstance(node.op, ast.Not):
        return _joined("bool", _call("logical_not", operand), "({} == 0)", operand)
    (number,) = _numbers(operand)
    if isinstance(node.op, ast.Invert):
        return _joined(_whole(number), ast.UnaryOp(ast.Invert(), number.numpy), "(~{})", number)
    if isinstance(node.op, ast.UAdd):
        return number
    return _joined(number.kind, ast.UnaryOp(ast.USub(), number.numpy), "(-{})", number)


def _whole(*parts: Written) -> Kind:
    if any(part.kind not in ("int", "unknown") for part in parts):
        raise Unwritable("bitwise operators take whole numbers")
    return _widest(*(part.kind for part in parts))


def _binary(operator: ast.operator, left: Written, right: Written) -> Written:
    if isinstance(operator, ast.Pow):
        return _power(left, right)
    left, right = _numbers(left, right)
    kind = _whole(left, right) if isinstance(operator, _INTEGRAL) else _widest(left.kind, right.kind)
    numpy = ast.BinOp(left.numpy, operator, right.numpy)
    if type(operator) in _BY_FUNCTION:
        name = _BY_FUNCTION[type(operator)]
        suffix = "" if name.startswith("shift") else "_float" if kind == "float" else "_int"
        return _joined(kind, numpy, f"host_side::{name}{suffix}({{}}, {{}})", left, right)
    if type(operator) not in _OPERATORS:
        raise Unwritable("this operator is not known")
    if isinstance(operator, ast.Div):
        kind = "float" if kind == "int" else kind
        return _joined(kind, numpy, "(double({}) / double({}))", left, right)
    return _joined(kind, numpy, f"({{}} {_OPERATORS[type(operator)]} {{}})", left, right)


def _power(left: Written, right: Written) -> Written:
    base, exponent = _number(left), _number(right)
    numpy = ast.Call(ast.Name("power"), [base.numpy, exponent.numpy], [])
    kind = _widest(base.kind, exponent.kind)
    if kind != "int":
        if right.constant and right.cuda in ("2", "2.0") and base.kind == "float":
            return _joined(kind, numpy, "host_side::square({})", base)
        result = _joined(kind, numpy, "pow({}, {})", base, exponent)
        return Written(kind, numpy, result.cuda, inexact=result.inexact | {"pow"})
    # Whole powers are whole where no exponent is negative, which types alone do not tell.
    if exponent.constant or exponent.cuda in VARIABLES:
        return _joined("int", numpy, "host_side::power({}, {})", base, exponent)
    return _joined("unknown", numpy, "", base, exponent)


def _compare(node: ast.Compare) -> Written:
    result: Written | None = None
    left = _write(node.left)
    for operation, item in zip(node.ops, node.comparators, strict=True):
        if type(operation) not in _OPERATORS:
            raise Unwritable("only <, <=, >, >=, == and != compare")
        right = _write(item)
        one, two = (_typed(left), _typed(right)) if left.constant and right.constant else (left, right)
        numpy = ast.Compare(one.numpy, [operation], [two.numpy])
        part = _joined("bool", numpy, f"({{}} {_OPERATORS[type(operation)]} {{}})", one, two)
        if "complex" in (one.kind, two.kind):
            part = Written("bool", numpy, None)
        result = part if result is None else _joined(
            "bool", _call("logical_and", result, part), "({} && {})", result, part
        )  # fmt: skip
        left = right
    assert result is not None
    return result


def _where(condition: Written, yes: Written, no: Written) -> Written:
    yes, no = (_typed(yes), _typed(no)) if yes.constant and no.constant else (yes, no)
    kind = _widest(yes.kind, no.kind)
    typed = {"bool": "bool", "int": "int64_t", "float": "double"}.get(kind, "")
    template = f"({{}} != 0 ? {typed}({{}}) : {typed}({{}}))"
    return _joined(kind, _call("where", condition, yes, no), template, condition, yes, no)


def _function(name: str, given: list[Written]) -> Written:
    wanted = {"where": 3, "pow": 2, "atan2": 2, "hypot": 2, "mod": 2, "fmod": 2}.get(name, 1)
    if len(given) < 2 if name in ("min", "max") else len(given) != wanted:
        raise Unwritable(f"{name} does not take {len(given)} arguments")
    if name == "where":
        return _where(given[0], given[1], given[2])
    if name == "pow":
        return _power(given[0], given[1])
    parts = _numbers(*given)
    first, kind = parts[0], _widest(*(part.kind for part in parts))
    if name in _INEXACT:
        numpy = _call(_INEXACT[name], *parts)
        result = _joined("complex" if kind == "complex" else "float", numpy,
                         f"{name}({', '.join(['double({})'] * len(parts))})", *parts)  # fmt: skip
        return Written(result.kind, numpy, result.cuda, inexact=result.inexact | {name})
    match name:
        case "sqrt":
            return _joined("complex" if kind == "complex" else "float", _call("sqrt", first), "sqrt(double({}))", first)
        case "floor" | "ceil" | "trunc" | "round":
            numpy = _call(_ROUNDING[name], first)
            if kind == "int" and name != "round":
                return _joined("int", numpy, "{}", first)
            return _joined(_widest(kind, "float"), numpy, f"{_ROUNDING[name]}(double({{}}))", first)
        case "abs":
            real: Kind = "float" if kind == "complex" else kind
            written = _joined(real, _call("abs", first), "fabs({})" if kind == "float" else "llabs({})", first)
            return Written(real, written.numpy, None) if kind == "complex" else written
        case "sign":
            return _joined(kind, _call("sign", first), f"host_side::sign_{kind}({{}})", first)
        case "real" | "imag":
            numpy = _call(name, first)
            if kind == "complex":
                return Written("float", numpy, None)
            return _joined(kind, numpy, "{}" if name == "real" else "({} * 0)", first)
        case "mod":
            return _joined(kind, _call("mod", *parts), f"host_side::modulo_{kind}({{}}, {{}})", *parts)
        case "fmod":
            template = "fmod({}, {})" if kind == "float" else "host_side::remainder_int({}, {})"
            return _joined(kind, _call("fmod", *parts), template, *parts)
        case "min" | "max":
            result = first
            for part in parts[1:]:
                both = _widest(result.kind, part.kind)
                numpy = _call("minimum" if name == "min" else "maximum", result, part)
                result = _joined(both, numpy, f"host_side::{name}_{both}({{}}, {{}})", result, part)
            return result
        case "float":
            return _joined("float", _call("float64", first), "double({})", first)
        case "int":
            numpy = ast.Call(ast.Name("cast"), [_call("atleast_1d", first), ast.Constant("int64")], [])
            return _joined("int", numpy, "host_side::whole({})", first)
    raise Unwritable(f"{name} is not a function here")
