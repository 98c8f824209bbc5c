"""Arrays that a Python text makes with NumPy or CuPy, as buffers: dtype, shape and what they start from."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from engine.recognise.constants import Unknown, Value, constant
from protocol.dtypes import DType

_DTYPES = frozenset(get_args(DType))
_PYTHON = {"int": "int64", "float": "float64", "bool": "bool", "complex": "complex128"}
_SAME = ("to_device", "asarray", "array", "ascontiguousarray", "copy")
_LIKE = {"zeros_like": 0, "empty_like": 0, "ones_like": 1}
_FILLED = {"zeros": 0, "empty": 0, "device_array": 0, "ones": 1}
_RANDOM = ("rand", "random", "uniform", "randn", "standard_normal", "normal")
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Array:
    """An array as the text makes it."""

    dtype: str
    shape: tuple[int, ...]
    init: dict[str, Any]


def number(node: ast.expr, names: Mapping[str, ast.expr]) -> tuple[Value, str | None]:
    """A number and the dtype that it is given, as in np.float32(2). Unknown."""
    if isinstance(node, ast.Call) and _last(node.func) in _DTYPES and len(node.args) == 1:
        return constant(node.args[0], names), _last(node.func)
    value = constant(node, names)
    if not isinstance(value, int | float):
        raise Unknown("this is no number", node)
    return value, None


def array(node: ast.expr, names: Mapping[str, ast.expr], depth: int = 0) -> Array:
    """What an expression makes. Unknown."""
    if depth > _DEEPEST:
        raise Unknown("this is nested too deeply to read", node)
    if isinstance(node, ast.Name) and node.id in names:
        return array(names[node.id], names, depth + 1)
    if not isinstance(node, ast.Call):
        raise Unknown("the array is not known without running the text", node)
    name = _last(node.func)
    words = {str(word.arg): word.value for word in node.keywords}
    given = [*node.args]
    base = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in _SAME and given:
        return _typed(array(given[0], names, depth + 1), words)
    if name in _LIKE and given:
        like = array(given[0], names, depth + 1)
        return _typed(replace(like, init=_full(_LIKE[name])), words)
    if name in _FILLED:
        shape = _shape(constant(given[0] if given else words["shape"], names), node)
        return Array(
            _dtype(words.get("dtype", given[1] if len(given) > 1 else None), "float64"), shape, _full(_FILLED[name])
        )
    if name == "full" and len(given) >= 2:
        value, own = number(given[1], names)
        default = own or ("int64" if isinstance(value, int) else "float64")
        shape = _shape(constant(given[0], names), node)
        return Array(_dtype(words.get("dtype"), default), shape, _full(value))
    if name == "arange" and given:
        return _arange([constant(item, names) for item in given], words, node)
    if name == "linspace" and len(given) >= 2:
        start, stop, count = (*(constant(item, names) for item in given), 50)[:3]
        init = {"kind": "linspace", "start": start, "stop": stop}
        return Array(_dtype(words.get("dtype"), "float64"), _shape(count, node), init)
    if name in _RANDOM:
        return _random(name, [constant(item, names) for item in given], words, names, node)
    if base is not None and name in ("reshape", "astype", "ravel", "flatten"):
        return _changed(array(base, names, depth + 1), name, given, names, node)
    raise Unknown("the array is not known without running the text", node)


def _changed(made: Array, name: str, given: list[ast.expr], names: Mapping[str, ast.expr], node: ast.expr) -> Array:
    if name == "astype" and given:
        return replace(made, dtype=_dtype(given[0], made.dtype))
    size = math.prod(made.shape)
    if name != "reshape":
        return replace(made, shape=(size,))
    values = [constant(item, names) for item in given]
    shape = values[0] if len(values) == 1 and isinstance(values[0], tuple) else tuple(values)
    known = [extent for extent in shape if isinstance(extent, int) and extent > 0]
    if -1 in shape and known and size % math.prod(known) == 0:
        shape = tuple(size // math.prod(known) if extent == -1 else extent for extent in shape)
    shape = _shape(shape, node)
    if math.prod(shape) != size:
        raise Unknown("the new shape has another number of elements", node)
    return replace(made, shape=shape)


def _arange(values: list[Value], words: Mapping[str, ast.expr], node: ast.expr) -> Array:
    start, stop, step = (0, values[0], 1) if len(values) == 1 else (*values, 1)[:3]
    if not all(isinstance(one, int | float) for one in (start, stop, step)) or not step:
        raise Unknown("the numbers of arange are not known", node)
    count = math.ceil((stop - start) / step)  # type: ignore[operator]
    whole = all(isinstance(one, int) for one in (start, stop, step))
    init = {"kind": "arange", "start": start, "step": step}
    return Array(_dtype(words.get("dtype"), "int64" if whole else "float64"), _shape(count, node), init)


def _random(
    name: str, values: list[Value], words: Mapping[str, ast.expr], names: Mapping[str, ast.expr], node: ast.expr
) -> Array:
    kind = "normal" if name in ("randn", "standard_normal", "normal") else "uniform"
    shape: Value = tuple(values) if name in ("rand", "randn") else values[0] if values else None
    if name in ("uniform", "normal"):
        shape = values[2] if len(values) > 2 else None
    if "size" in words:
        shape = constant(words["size"], names)
    return Array(_dtype(words.get("dtype"), "float64"), _shape(shape, node), {"kind": kind})


def _typed(made: Array, words: Mapping[str, ast.expr]) -> Array:
    return replace(made, dtype=_dtype(words.get("dtype"), made.dtype))


def _full(value: Value) -> dict[str, Any]:
    return {"kind": "zeros"} if value == 0 else {"kind": "full", "value": value}


def _shape(value: Value, node: ast.expr) -> tuple[int, ...]:
    extents = value if isinstance(value, tuple) else (value,)
    whole = tuple(one for one in extents if type(one) is int and 0 < one < 1 << 30)
    if not 1 <= len(extents) <= 4 or len(whole) != len(extents):
        raise Unknown("the shape is not known without running the text", node)
    return whole


def _dtype(node: ast.expr | None, default: str) -> str:
    if node is None:
        return default
    name = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else _last(node)
    name = _PYTHON.get(name, name.rstrip("_"))
    if name not in _DTYPES:
        raise Unknown(f"{name or 'this'} is no dtype of a buffer", node)
    return name


def _last(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
