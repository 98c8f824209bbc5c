"""Evaluates the formula of a buffer over its index variables: a small arithmetic language, and nothing beside it.

The text is parsed as a Python expression, of which arithmetic, comparisons, `a if c else b` and the functions below
are taken; names, attributes and calls of anything else are errors with their column. Integers are 64 bits wide.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.values.dtypes import Array, cast, numpy_dtype

CHUNK = 1 << 18
MAX_NODES = 300
MAX_DEPTH = 60

_ONE: dict[str, Callable[..., Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp, "exp2": np.exp2, "log": np.log,
    "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "cbrt": np.cbrt, "abs": np.abs, "floor": np.floor,
    "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "sign": np.sign,
    "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "real": np.real, "imag": np.imag,
}  # fmt: skip
_TWO: dict[str, Callable[..., Any]] = {
    "atan2": np.arctan2, "arctan2": np.arctan2, "hypot": np.hypot, "mod": np.mod, "fmod": np.fmod,
}  # fmt: skip
_FUNCTIONS = ("where", "min", "max", "pow", "float", "int", *_ONE, *_TWO)
_CONSTANTS = {"pi": np.float64(np.pi), "e": np.float64(np.e)}
_ARITHMETIC: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide, ast.Mod: np.mod,
}  # fmt: skip
_BITWISE: dict[type[ast.operator], Callable[..., Any]] = {
    ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or, ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift, ast.RShift: np.right_shift,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal,
    ast.Eq: np.equal, ast.NotEq: np.not_equal,
}  # fmt: skip
_HINTS = (
    ("&&", "write 'and' for &&"),
    ("||", "write 'or' for ||"),
    ("?", "write where(condition, a, b) for condition ? a : b"),
    ("!", "write 'not' for !"),
)


class FormulaError(ValueError):
    """What is wrong with a formula, and the column, from 1, where."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(f"column {column}: {message}")
        self.column = column


def evaluate(text: str, shape: Sequence[int], dtype: str) -> Array:
    """The formula over a row-major array of `shape`, cast to `dtype`. FormulaError or ValueError in plain words."""
    tree = parse(text)
    count = int(np.prod(shape, dtype=np.int64))
    result = np.empty(count, numpy_dtype(dtype))
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        evaluator = _Evaluator(_variables(shape, start, stop))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            values = np.asarray(evaluator.value(tree))
        try:
            result[start:stop] = cast(np.broadcast_to(values, (stop - start,)), dtype)
        except ValueError as error:
            if start == 0:
                raise
            raise ValueError(f"{error}, counted from element {start:,}") from None
    return result


def parse(text: str) -> ast.expr:
    """The checked tree of a formula. FormulaError where it is not one."""
    leading = len(text) - len(text.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, MemoryError, RecursionError, ValueError) as error:
        column = (error.offset or 1) if isinstance(error, SyntaxError) else 1
        hint = next((words for sign, words in _HINTS if sign in text.replace("!=", "")), None)
        detail = hint or (error.msg if isinstance(error, SyntaxError) else "this cannot be read")
        raise FormulaError(detail, column + leading) from None
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise FormulaError(f"the formula is too long: it has more than {MAX_NODES} parts", 1)
    _check_depth(tree, 0)
    return tree


def _check_depth(node: ast.expr, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FormulaError(f"the formula is nested more than {MAX_DEPTH} deep", node.col_offset + 1)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _check_depth(child, depth + 1)


def _variables(shape: Sequence[int], start: int, stop: int) -> dict[str, Any]:
    """i is the flat index; x, y, z, w count along the last axis, the one before it, and so on."""
    flat = np.arange(start, stop, dtype=np.int64)
    variables: dict[str, Any] = {"i": flat, "n": np.int64(np.prod(shape, dtype=np.int64)), **_CONSTANTS}
    rest = flat
    for position, name in enumerate("xyzw"):
        size = shape[-1 - position] if position < len(shape) else 1
        variables[name] = rest % size
        variables[f"n{name}"] = np.int64(size)
        rest = rest // size
    return variables


class _Evaluator:
    """Walks a tree; values are NumPy scalars and arrays of one chunk."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self._variables = variables

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return _constant(node)
            case ast.Name():
                if node.id not in self._variables:
                    names = "i, x, y, z, w, n, nx, ny, nz, nw, pi and e"
                    raise FormulaError(f"{node.id} is not known; the variables are {names}", node.col_offset + 1)
                return self._variables[node.id]
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.BoolOp():
                operation = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
                result = self.value(node.values[0])
                for item in node.values[1:]:
                    result = operation(result, self.value(item))
                return result
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return np.where(self.value(node.test), self.value(node.body), self.value(node.orelse))
            case ast.Call():
                return self._call(node)
        raise FormulaError("only arithmetic, comparisons and functions can stand here", node.col_offset + 1)

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return np.logical_not(operand)
        if isinstance(node.op, ast.Invert):
            return np.invert(_integral(operand, node.operand))
        number = _number(operand)
        return np.negative(number) if isinstance(node.op, ast.USub) else number

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        kind = type(node.op)
        if kind is ast.Pow:
            return _power(left, right)
        if kind in _BITWISE:
            return _BITWISE[kind](_integral(left, node.left), _integral(right, node.right))
        if kind not in _ARITHMETIC:
            raise FormulaError("this operator is not known", node.col_offset + 1)
        if kind in (ast.FloorDiv, ast.Mod) and not np.all(right):
            raise FormulaError("the divisor is 0 for some element", node.right.col_offset + 1)
        try:
            return _ARITHMETIC[kind](_number(left), _number(right))
        except TypeError:
            raise FormulaError("this operator does not take complex numbers", node.col_offset + 1) from None

    def _compare(self, node: ast.Compare) -> Any:
        result: Any = np.bool_(True)
        left = self.value(node.left)
        for operation, item in zip(node.ops, node.comparators, strict=True):
            if type(operation) not in _COMPARISONS:
                raise FormulaError("only <, <=, >, >=, == and != compare", item.col_offset + 1)
            right = self.value(item)
            result = np.logical_and(result, _COMPARISONS[type(operation)](left, right))
            left = right
        return result

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
            name = node.func.id if isinstance(node.func, ast.Name) else "this"
            raise FormulaError(f"{name} is not a function here; there are {', '.join(_FUNCTIONS)}", node.col_offset + 1)
        name, column = node.func.id, node.col_offset + 1
        if node.keywords or any(isinstance(item, ast.Starred) for item in node.args):
            raise FormulaError(f"{name} takes plain arguments", column)
        low, high = (2, 16) if name in ("min", "max") else (3, 3) if name == "where" else (1, 1)
        if name in _TWO or name == "pow":
            low = high = 2
        if not low <= len(node.args) <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            raise FormulaError(f"{name} takes {wanted} arguments, not {len(node.args)}", column)
        values = [self.value(item) for item in node.args]
        try:
            return _apply(name, values)
        except TypeError:
            raise FormulaError(f"{name} does not take complex numbers", column) from None


def _apply(name: str, values: list[Any]) -> Any:
    match name:
        case "where":
            return np.where(*values)
        case "pow":
            return _power(*values)
        case "float":
            return np.asarray(values[0], np.float64)
        case "int":
            return cast(np.atleast_1d(np.asarray(_number(values[0]))), "int64")
        case "min" | "max":
            operation = np.minimum if name == "min" else np.maximum
            result = _number(values[0])
            for value in values[1:]:
                result = operation(result, _number(value))
            return result
    if name in _TWO:
        return _TWO[name](_number(values[0]), _number(values[1]))
    return _ONE[name](_number(values[0]))


def _constant(node: ast.Constant) -> Any:
    value = node.value
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        if abs(value) >= 1 << 63:
            raise FormulaError(
                "whole numbers go to 2^63 - 1; write a decimal point for larger ones", node.col_offset + 1
            )
        return np.int64(value)
    if isinstance(value, float):
        return np.float64(value)
    if isinstance(value, complex):
        return np.complex128(value)
    raise FormulaError("only numbers can stand here", node.col_offset + 1)


def _number(value: Any) -> Any:
    """Truth values count as 0 and 1."""
    return np.asarray(value, np.int64)[()] if np.asarray(value).dtype == np.bool_ else value


def _integral(value: Any, node: ast.expr) -> Any:
    number = _number(value)
    if np.asarray(number).dtype.kind not in "iu":
        raise FormulaError("bitwise operators take whole numbers; int(…) makes one", node.col_offset + 1)
    return number


def _power(base: Any, exponent: Any) -> Any:
    base, exponent = _number(base), _number(exponent)
    whole = np.asarray(base).dtype.kind in "iu" and np.asarray(exponent).dtype.kind in "iu"
    if whole and np.all(np.asarray(exponent) >= 0):
        return np.power(base, exponent)
    if np.iscomplexobj(base) or np.iscomplexobj(exponent):
        return np.power(np.asarray(base, np.complex128), exponent)
    return np.power(np.asarray(base, np.float64), exponent)
