"""What Numba says of a kernel that it cannot compile, in plain words and at the line that is to blame."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

from engine.translate.link import Linked
from protocol.diagnostics import Diagnostic, Label, Span

_MOST = 500
_PIPELINE = re.compile(r"^Failed in \w+ mode pipeline \(step: [^)]*\)\s*\n?", re.MULTILINE)
_DURING = re.compile(r"^(?:During: |raised from |\s*Enable logging |This is not usually a problem).*$", re.MULTILINE)
_PLACE = re.compile(r'^File "(?P<file>[^"]*)", line (?P<line>\d+):\n(?:.*\n)*?(?:[ \t]*\^\n?|\n|\Z)', re.MULTILINE)
_AT = re.compile(r'"(?P<file>[^"\n]+)", line (?P<line>\d+)|at (?P<other>\S+) \((?P<place>\d+)\)')
_NONE_FOUND = re.compile(
    r"No implementation of function (?:Function|BoundFunction)?\(?(?P<what>[^\n]*?)\)? found for signature:\s*\n\s*\n?"
    r"\s*>>> (?P<call>[^\n]+)"
)
_REASON = re.compile(r"^\s*(?:Numba)?(?:\w+Error): (?P<text>[^\n]+)$", re.MULTILINE)
_LITERAL = re.compile(r"Literal\[(\w+)\]\(((?:[^()]|\([^()]*\))*)\)")
_NAME = re.compile(r"name '(?P<name>\w+)' is not defined")
_UFUNC = re.compile(r"<ufunc '(?P<name>\w+)'>$")
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "iadd": "+=",
    "isub": "-=", "imul": "*=", "itruediv": "/=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^",
}  # fmt: skip

_PLAIN: tuple[tuple[re.Pattern[str], str, str | None], ...] = tuple(
    (re.compile(pattern), words, help_text)
    for pattern, words, help_text in (
        (
            r"insert_unresolved_ref|Unsupported recursive",
            "a function calls itself, which Numba cannot compile for CUDA",
            "Write it as a loop.",
        ),
        (
            r"CUDA kernel must have void return type|No conversion from [^\n]* to none for",
            "a kernel cannot return a value",
            "Write the result into an array, or mark a function that kernels call with @cuda.jit(device=True).",
        ),
        (
            r"Use of unsupported opcode|construct is not supported|UnsupportedBytecode",
            "",
            "Kernels are a subset of Python: numbers, tuples, arrays, loops and functions.",
        ),
        (
            r"Only accept returning of array passed into the function|NRT required|np_zeros|np_empty|type list\(",
            "a kernel cannot allocate memory: it has no lists, no new NumPy arrays and no other texts",
            "Use cuda.local.array(shape, dtype) or cuda.shared.array(shape, dtype), with a constant shape.",
        ),
        (
            r"Function\(<function (?:shared|local)\.array",
            "the shape of a shared or local array must be a constant, and its dtype one of NumPy's",
            "Give whole numbers or names of the module; for a size of the launch, cuda.shared.array(0, dtype).",
        ),
        (
            r"Untyped global name '[^']*': Cannot determine Numba type of <class 'function'>",
            "a kernel calls only functions that are compiled too",
            "Write @cuda.jit(device=True) before the function.",
        ),
        (
            r"Cannot unify",
            "",
            "A variable has one type in the whole kernel. Convert it, such as np.float32(0), or use two names.",
        ),
    )
)


def explained(error: Exception, function: Any, file_name: str) -> list[Diagnostic]:
    """The error as one diagnostic, at the innermost place of the text that it tells of."""
    raw = str(error)
    places = [*_places(error, raw, file_name)]
    message, help_text, notes = _words(error, raw)
    start = int(function.__code__.co_firstlineno)
    line = _first_with(raw, start, file_name) or (places[0] if places else start)
    undefined = _NAME.search(raw)
    span = _span(file_name, line)
    if undefined:
        span, message = _defined(undefined["name"], function, file_name, span), f"{undefined['name']} is not defined"
        if undefined["name"] in ("np", "numpy", "math", "cuda"):
            help_text = "Import it at the beginning of the source."
    labels = tuple(
        Label(span=_span(file_name, place), message="called from here") for place in places[1:4] if place != line
    )
    return [
        Diagnostic(
            severity="error",
            message=message[:_MOST],
            code="numba",
            span=span,
            labels=labels,
            notes=tuple(notes[:4]),
            help=help_text,
        )
    ]


def _words(error: Exception, raw: str) -> tuple[str, str | None, list[str]]:
    """Message, help and notes."""
    if isinstance(error, Linked):
        return raw, None, []
    none_found = _NONE_FOUND.search(raw)
    for pattern, words, help_text in _PLAIN:
        if pattern.search(raw):
            return words or _short(raw), help_text, []
    if none_found:
        return _no_implementation(none_found["call"], raw)
    text = _short(raw)
    if ufunc := _UFUNC.match(raw):
        return f"np.{ufunc['name']} is not possible in a kernel", f"Use math.{ufunc['name']}, if there is one.", []
    if type(error).__module__ == "builtins" and not isinstance(error, TypeError | AttributeError | ValueError):
        text = f"{type(error).__name__}: {text}"
    return text or f"Numba fails with {type(error).__name__}", None, []


def _no_implementation(call: str, raw: str) -> tuple[str, str | None, list[str]]:
    plain = _LITERAL.sub(lambda match: {"str": "text", "int": "int64"}.get(match[1], match[1]), call)
    name, _, arguments = plain.partition("(")
    arguments = arguments.rstrip(")").strip()
    reasons = [match["text"] for match in _REASON.finditer(raw) if "No implementation of" not in match["text"]]
    own = [text for text in reasons if "Failed in" not in text]
    notes = [own[0][:_MOST]] if own else []
    if name in _OPERATORS and "," in arguments:
        return f"{_OPERATORS[name]} is not possible between {_joined(arguments)}", None, notes
    if name in ("setitem", "getitem"):
        what = "assigned to" if name == "setitem" else "read from"
        return f"this index cannot be {what}: {name}({arguments})", None, notes
    return f"{name}({arguments}) is not possible in a kernel", None, notes


def _joined(arguments: str) -> str:
    """Two arguments at their outermost comma."""
    depth = 0
    for index, character in enumerate(arguments):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            return f"{arguments[:index].strip()} and {arguments[index + 1 :].strip()}"
    return arguments


def _short(raw: str) -> str:
    """The first paragraph that says something, without Numba's own stages."""
    text = _PLACE.sub("", _PIPELINE.sub("", raw))
    text = _DURING.sub("", text)
    text = text.removesuffix(". Raised from None")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = re.sub(r", defined at \S+ \(\d+\)", "", lines[0]) if lines else ""
    return _LITERAL.sub(r"\1 \2", first)


def _places(error: BaseException, raw: str, file_name: str) -> Iterator[int]:
    """Lines of the text, the innermost first: as the message names them, else as Numba's own state has them."""
    seen: set[int] = set()
    for match in _AT.finditer(raw):
        file, line = match["file"] or match["other"], int(match["line"] or match["place"])
        if file.rpartition("/")[2] == file_name and line not in seen:
            seen.add(line)
            yield line
    for line in reversed([*_lines_of_state(error.__traceback__, file_name)]):
        if line not in seen:
            seen.add(line)
            yield line


def _lines_of_state(trace: TracebackType | None, file_name: str) -> Iterator[int]:
    """Places of what the compiler was at, from its outermost frame to its innermost."""
    while trace is not None:
        yield from _lines_of_frame(trace.tb_frame, file_name)
        trace = trace.tb_next


def _lines_of_frame(frame: FrameType, file_name: str) -> Iterator[int]:
    for name in ("self", "inst", "expr", "stmt", "loc"):
        item = frame.f_locals.get(name)
        place = item if name == "loc" else _member(item, "loc")
        line = _member(place, "line")
        if isinstance(line, int) and line > 0 and str(_member(place, "filename")).rpartition("/")[2] == file_name:
            yield line
        # An instruction of the bytecode, while the kernel's own is read.
        line = _member(item, "lineno")
        if name == "inst" and isinstance(line, int) and line > 0:
            yield line


def _member(item: object, name: str) -> object:
    """An attribute that may not be there; Numba's own objects answer that with other errors than AttributeError."""
    try:
        return getattr(item, name, None)
    except Exception:
        return None


def _first_with(raw: str, start: int, file_name: str) -> int | None:
    """The line of a with statement, where Numba complains of one: it names none."""
    if "(context manager)" not in raw:
        return None
    tree = ast.parse("".join(linecache.getlines(file_name)))
    found = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.With) and node.lineno > start]
    return min(found, default=None)


def _defined(name: str, function: Any, file_name: str, fallback: Span) -> Span:
    """Where an undefined name stands in the function."""
    lines = linecache.getlines(file_name)
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    start = int(function.__code__.co_firstlineno)
    for number in [fallback.line, *range(start, len(lines) + 1)]:
        match = word.search(lines[number - 1].partition("#")[0]) if number <= len(lines) else None
        if match:
            return Span(line=number, column=match.start() + 1, end_line=number, end_column=match.end() + 1)
    return fallback


def _span(file_name: str, line: int) -> Span:
    """A whole line, without its indentation."""
    lines = linecache.getlines(file_name)
    text = lines[line - 1].rstrip() if 1 <= line <= len(lines) else ""
    column = len(text) - len(text.lstrip()) + 1
    return Span(line=line, column=column, end_line=line, end_column=max(len(text), column) + 1)
