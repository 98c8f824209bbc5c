"""Finds CuPy's kernels in a Python text and makes a run of each: source, options, buffers and launch."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.recognise import generated
from engine.recognise.constants import Unknown, Value, constant, names_of
from engine.recognise.generated import Item, Unreadable
from engine.recognise.launches import arguments_of, config_of
from engine.recognise.options import options_of
from protocol.diagnostics import Diagnostic, Severity, Span
from protocol.reading import Unreadable as Refused
from protocol.reading import read
from protocol.recognition import Recognised, RecognisedKernel, RecognisedKind
from protocol.run import RunRequest

MOST_KERNELS = 32
ELEMENTS = 1024
"""Of the arrays that a kernel starts with."""

_START: dict[str, dict[str, Any]] = {
    "bool": {"kind": "full", "value": True},
    "int8": {"kind": "integers", "high": 100},
    "uint8": {"kind": "integers", "high": 100},
}
"""Values of inputs that cannot hold 0, 1, 2, …"""
_SIGNATURES: dict[str, tuple[str, ...]] = {
    "RawKernel": ("code", "name", "options", "backend", "translate_cucomplex"),
    "RawModule": ("code", "path", "options", "backend", "translate_cucomplex", "enable_cooperative_groups",
                  "name_expressions"),
    "ElementwiseKernel": ("in_params", "out_params", "operation", "name", "reduce_dims", "preamble"),
    "ReductionKernel": ("in_params", "out_params", "map_expr", "reduce_expr", "post_map_expr", "identity", "name",
                        "reduce_type", "reduce_dims", "preamble", "options"),
}  # fmt: skip
_GLOBAL = re.compile(r"\b__global__\b[^;{(]*?\b(\w+)\s*\(")


@dataclass(slots=True)
class _Found:
    """A call that makes a kernel, and what is done with it."""

    kind: RecognisedKind
    node: ast.Call
    variable: str = ""
    arguments: dict[str, ast.expr] = field(default_factory=dict)
    calls: list[ast.Call] = field(default_factory=list)
    """Where the text calls the kernel."""
    entries: list[str] = field(default_factory=list)
    """get_function("…") of a module."""


def recognise(text: str) -> Recognised:
    """The kernels of a text, in its order. Nothing of it is executed."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        line = max(error.lineno or 1, 1)
        span = Span(line=line, column=max(error.offset or 1, 1))
        return Recognised(verdict="compile-error", diagnostics=(_told(error.msg or "invalid syntax", span),))
    except (ValueError, MemoryError, RecursionError) as error:
        message = f"the text cannot be read: {str(error) or type(error).__name__}"
        return Recognised(verdict="compile-error", diagnostics=(_told(message, None),))
    roots = _imported(tree)
    names = names_of(tree)
    kernels: list[RecognisedKernel] = []
    told: list[Diagnostic] = []
    for item in _found(tree, roots)[:MOST_KERNELS]:
        try:
            kernels += _kernels(item, names, told)
        except Unknown as error:
            told.append(_about(item, f"{item.kind}: {error}", error.node))
        except Unreadable as error:
            told.append(_about(item, f"{item.kind}: {error}", item.node))
        except Refused as error:
            told.append(_about(item, f"{item.kind} cannot be run here: {str(error)[:300]}", item.node))
    numba = any(root == "numba" for root in roots.values())
    if numba:
        try:
            kernels += _of_numba(tree, text, names)
        except Refused as error:
            told.append(_told(f"a launch cannot be taken over: {str(error)[:300]}", None, "note"))
    if not kernels and not told and not numba:
        told.append(_told("no kernel of CuPy was found in this text", None, help_text=_HELP))
    verdict = "ok" if kernels or numba else "compile-error"
    return Recognised(verdict=verdict, kernels=tuple(kernels[:MOST_KERNELS]), numba=numba, diagnostics=tuple(told))


_HELP = "It looks for RawKernel, RawModule, ElementwiseKernel and ReductionKernel of an imported cupy."


def _imported(tree: ast.Module) -> dict[str, str]:
    """Name in the text -> what it stands for, such as cupy or cupy.RawKernel."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.split(".")[0]
                found[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                root = node.module.split(".")[0]
                found[alias.asname or alias.name] = "numba" if root == "numba" else f"{node.module}.{alias.name}"
    return found


def _found(tree: ast.Module, roots: Mapping[str, str]) -> list[_Found]:
    """Calls that make kernels, with the calls of what they make."""
    found: list[_Found] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := _kind(node.func, roots)) is not None:
            item = _Found(kind, node)
            signature = _SIGNATURES[kind]
            item.arguments = dict(zip(signature, node.args, strict=False))
            item.arguments |= {word.arg: word.value for word in node.keywords if word.arg}
            found.append(item)
    made = {id(item.node): item for item in found}
    by_name: dict[str, _Found] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            owner = made.get(id(node.value)) or _of_module(node.value, by_name)
            if owner is not None:
                by_name[node.targets[0].id] = owner
                owner.variable = owner.variable or node.targets[0].id
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _of_module(node, by_name)
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            owner = by_name.get(name) or made.get(id(node.func))
            if owner is not None:
                owner.calls.append(node)
    return sorted(found, key=lambda item: (item.node.lineno, item.node.col_offset))


def _kind(function: ast.expr, roots: Mapping[str, str]) -> RecognisedKind | None:
    if isinstance(function, ast.Name):
        dotted = roots.get(function.id, "")
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        dotted = f"{roots.get(function.value.id, '')}.{function.attr}"
    else:
        return None
    root, last = dotted.split(".")[0], dotted.rpartition(".")[2]
    return last if root == "cupy" and last in _SIGNATURES else None  # type: ignore[return-value]


def _of_module(node: ast.expr, by_name: Mapping[str, _Found]) -> _Found | None:
    """module.get_function("name"): the module, which now knows one more of its kernels."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_function"):
        return None
    owner = by_name.get(node.func.value.id) if isinstance(node.func.value, ast.Name) else None
    if owner is not None and node.args and isinstance(node.args[0], ast.Constant):
        name = str(node.args[0].value)
        if name not in owner.entries:
            owner.entries.append(name)
    return owner


def _kernels(item: _Found, names: Mapping[str, ast.expr], told: list[Diagnostic]) -> Iterator[RecognisedKernel]:
    values = {name: constant(node, names) for name, node in item.arguments.items()}
    if item.kind in ("RawKernel", "RawModule"):
        yield from _raw(item, values, names, told)
        return
    yield _generated(item, values, names)


def _raw(
    item: _Found, values: Mapping[str, Value], names: Mapping[str, ast.expr], told: list[Diagnostic]
) -> Iterator[RecognisedKernel]:
    code = values.get("code")
    if not isinstance(code, str):
        raise Unreadable("it takes its code from a file: paste the CUDA C++ itself" if "path" in values else "no code")
    fields, left = options_of(_words(values.get("options")))
    if left:
        told.append(_about(item, f"these options have no counterpart here: {' '.join(left)}", item.node, "warning"))
    if values.get("translate_cucomplex"):
        told.append(_about(item, "translate_cucomplex is left out: cuComplex is kept as it is", item.node, "note"))
    if item.kind == "RawKernel":
        entries = [str(values["name"])] if values.get("name") else []
    else:
        expressions = values.get("name_expressions") or ()
        entries = [str(name) for name in expressions] if isinstance(expressions, tuple) else []
        entries += [name for name in item.entries if name not in entries]
    entries = entries or _GLOBAL.findall(code)[:1]
    if not entries:
        raise Unreadable("its code has no __global__ function")
    for entry in entries:
        config, buffers, arguments = _launch_of(item, names) if len(entries) == 1 else ({}, [], [])
        source = {"text": code.strip("\n") + "\n", "file_name": "kernel.cu"}
        yield _kernel(item, entry, {"source": source, "options": fields, **_whole(entry, config, buffers, arguments)})


def _launch_of(item: _Found, names: Mapping[str, ast.expr]) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """Configuration, buffers and arguments of the last call kernel((…), (…), (…), shared_mem=…)."""
    for call in reversed(item.calls):
        words = {word.arg: word.value for word in call.keywords}
        grid, block, given = (*call.args, None, None, None)[:3]
        grid, block, given = words.get("grid", grid), words.get("block", block), words.get("args", given)
        config = config_of(grid, block, words.get("shared_mem"), names)
        buffers, arguments = arguments_of(given.elts if isinstance(given, ast.Tuple | ast.List) else (), names)
        return config, buffers, arguments
    return {}, [], []


def _whole(entry: str, config: Mapping[str, Any], buffers: Sequence[Any], arguments: Sequence[Any]) -> dict[str, Any]:
    step = {
        "kind": "launch",
        "entry": entry,
        "config": {"grid": [1], "block": [256], **config},
        "arguments": arguments,
    }
    return {"buffers": buffers, "steps": [step]}


def _of_numba(tree: ast.Module, text: str, names: Mapping[str, ast.expr]) -> Iterator[RecognisedKernel]:
    """The first launch kernel[grid, block](…) of each kernel of the text."""
    own = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.decorator_list}
    seen: set[str] = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)):
            continue
        kernel, given = node.func.value, node.func.slice
        if not isinstance(kernel, ast.Name) or kernel.id not in own or kernel.id in seen:
            continue
        grid, block, _, shared = (*(given.elts if isinstance(given, ast.Tuple) else [given]), *[None] * 4)[:4]
        config = config_of(grid, block, shared, names)
        buffers, arguments = arguments_of(node.args, names)
        source = {"language": "numba", "text": text, "file_name": "kernel.py"}
        request = {"source": source, **_whole(kernel.id, config, buffers, arguments)}
        seen.add(kernel.id)
        yield RecognisedKernel(
            kind="numba", name=kernel.id, line=own[kernel.id].lineno, request=read(RunRequest, json.dumps(request))
        )


def _generated(item: _Found, values: Mapping[str, Value], names: Mapping[str, ast.expr]) -> RecognisedKernel:
    def text(name: str, default: str = "") -> str:
        value = values.get(name, default)
        return default if value is None else str(value)

    inputs, outputs = generated.parameters(text("in_params")), generated.parameters(text("out_params"))
    if not outputs:
        raise Unreadable("it has no output parameter")
    numbers = _numbers_of(item, inputs, names)
    inputs = [Item(one.name, one.type, "number") if one.name in numbers else one for one in inputs]
    letters = generated.letters_of([*inputs, *outputs], {})
    name = text("name", "kernel")
    if not re.fullmatch(r"[A-Za-z_]\w{0,63}", name):
        raise Unreadable(f"the name {name[:40]!r} is no name of a function")
    if item.kind == "ElementwiseKernel":
        code = generated.elementwise(
            name, inputs, outputs, text("operation"), letters, text("preamble"), text("loop_prep"), text("after_loop")
        )
    else:
        expressions = text("map_expr"), text("reduce_expr"), text("post_map_expr")
        code = generated.reduction(
            name, inputs, outputs, expressions, text("identity"), text("reduce_type"), letters, text("preamble")
        )
    whole = item.kind == "ReductionKernel"
    buffers = [
        {
            "name": one.name,
            "dtype": one.dtype(letters),
            "shape": [1] if whole and one in outputs else [ELEMENTS],
            "init": {"kind": "zeros"} if one in outputs else _START.get(one.dtype(letters), {"kind": "arange"}),
            "role": "inout" if one in outputs else "in",
        }
        for one in [*inputs, *outputs]
        if one.kind != "number"
    ]
    # An element is bound to the parameter's name in the loop, so that the kernel's own has a line before it.
    arguments = [_argument(one, numbers) for one in [*inputs, *outputs]]
    arguments.append({"kind": "scalar", "name": "_size", "value": ELEMENTS})
    covered = next((one.name for one in outputs if one.kind == "array"), outputs[0].name)
    grid: Any = [1] if whole else {"kind": "cover", "buffer": covered}
    step = {"kind": "launch", "entry": name, "config": {"grid": grid, "block": [256]}, "arguments": arguments}
    head = f"// Made of the {item.kind} in line {item.node.lineno}.\n\n"
    source = {"text": head + code, "file_name": "kernel.cu"}
    options, _ = options_of(_words(values.get("options")))
    return _kernel(item, name, {"source": source, "options": options, "buffers": buffers, "steps": [step]})


def _words(options: Value) -> list[str]:
    return (
        [str(word) for word in options] if isinstance(options, tuple) else [options] if isinstance(options, str) else []
    )


def _argument(item: Item, numbers: Mapping[str, int | float | bool]) -> dict[str, Any]:
    if item.kind == "number":
        return {"kind": "scalar", "name": item.name, "value": numbers[item.name]}
    shown = item.name if item.kind == "raw" else f"_{item.name}"
    return {"kind": "buffer", "name": shown, "buffer": item.name}


def _numbers_of(item: _Found, inputs: Sequence[Item], names: Mapping[str, ast.expr]) -> dict[str, int | float | bool]:
    """Inputs that a call of the kernel gives as plain numbers: arrays would be as good, but nobody means them."""
    found: dict[str, int | float | bool] = {}
    for call in item.calls:
        for one, argument in zip(inputs, call.args, strict=False):
            try:
                value = constant(argument, names)
            except Unknown:
                continue
            if isinstance(value, int | float) and one.kind == "array":
                found[one.name] = value
    return found


def _kernel(item: _Found, name: str, request: dict[str, Any]) -> RecognisedKernel:
    return RecognisedKernel(
        kind=item.kind, name=name[:256], line=item.node.lineno, request=read(RunRequest, json.dumps(request))
    )


def _about(item: _Found, message: str, node: ast.AST, severity: Severity = "error") -> Diagnostic:
    line = getattr(node, "lineno", item.node.lineno)
    column = getattr(node, "col_offset", 0) + 1
    end_line, end = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
    span = Span(line=line, column=column)
    if end_line == line and end is not None and end + 1 > column:
        span = Span(line=line, column=column, end_line=line, end_column=end + 1)
    return _told(message, span, severity)


def _told(message: str, span: Span | None, severity: Severity = "error", help_text: str | None = None) -> Diagnostic:
    return Diagnostic(severity=severity, message=message, code="recognise", origin="request", span=span, help=help_text)
