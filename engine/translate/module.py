"""Executes a source's Python text, statement by statement, so that host code in it does no harm."""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
import types
import warnings
from dataclasses import dataclass, field
from typing import Any

from engine.translate.offline import NeedsGpu
from protocol.diagnostics import Diagnostic, Span

MODULE = "__kernels__"
"""The text's __name__, so that `if __name__ == "__main__"` is left out."""


@dataclass(slots=True)
class Executed:
    """What the text defined, and what there is to say of it; with an error among that it did not end."""

    names: dict[str, Any]
    tree: ast.Module | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(item.severity == "error" for item in self.diagnostics)


def execute(text: str, file_name: str) -> Executed:
    """Runs the whole text. A statement that needs a GPU, or what such a one would have defined, is left out."""
    linecache.cache[file_name] = (len(text), None, text.splitlines(keepends=True), file_name)
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    done = Executed(vars(module))
    try:
        done.tree = ast.parse(text, file_name)
    except SyntaxError as error:
        done.diagnostics.append(_syntax(error, text))
        return done
    except (ValueError, MemoryError, RecursionError) as error:
        done.diagnostics.append(told(f"the source cannot be read: {error or type(error).__name__}", None))
        return done
    left_out: list[ast.stmt] = []
    missing: set[str] = set()
    flags = 0
    for node in done.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            flags |= _future(node)
            continue
        try:
            code = compile(ast.Module([node], []), file_name, "exec", flags, dont_inherit=True)
        except SyntaxError as error:
            done.diagnostics.append(_syntax(error, text))
            return done
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            failed = _run(code, done.names)
        done.diagnostics += [_warning(item) for item in heard if item.filename == file_name]
        if failed is None:
            continue
        if not _may_be_left_out(node, failed, missing):
            done.diagnostics.append(_raised(failed, file_name, node))
            return done
        left_out.append(node)
        missing |= _bound(node)
        if isinstance(failed, ImportError):
            done.diagnostics.append(_not_here(failed, node))
    hosts = [node for node in left_out if not isinstance(node, ast.Import | ast.ImportFrom)]
    if hosts:
        done.diagnostics.append(_host_code(hosts))
    return done


def told(message: str, span: Span | None, help_text: str | None = None, severity: Any = "error") -> Diagnostic:
    return Diagnostic(severity=severity, message=message, code="python", span=span, help=help_text)


def line_span(node: ast.stmt) -> Span:
    """The first line of a statement."""
    end = node.end_col_offset if node.end_lineno == node.lineno else None
    last = max(end or 0, node.col_offset + 1) + 1
    return Span(line=node.lineno, column=node.col_offset + 1, end_line=node.lineno, end_column=last)


def _run(code: types.CodeType, names: dict[str, Any]) -> BaseException | None:
    try:
        exec(code, names)
    except BaseException as error:
        return error
    return None


def _may_be_left_out(node: ast.stmt, error: BaseException, missing: set[str]) -> bool:
    """Host code that needs a GPU, an import that only it can need, and what follows from either."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return False
    if isinstance(error, NeedsGpu) or isinstance(error.__context__, NeedsGpu) or isinstance(error.__cause__, NeedsGpu):
        return True
    if isinstance(error, ImportError):
        return isinstance(node, ast.Import | ast.ImportFrom)
    return isinstance(error, NameError) and error.name in missing


def _bound(node: ast.stmt) -> set[str]:
    """Names that a statement would have defined."""
    names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    if isinstance(node, ast.Import | ast.ImportFrom):
        names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def _future(node: ast.ImportFrom) -> int:
    features = (getattr(__future__, alias.name, None) for alias in node.names)
    return sum(feature.compiler_flag for feature in features if feature is not None)


def _syntax(error: SyntaxError, text: str) -> Diagnostic:
    if error.lineno is None:
        return told(f"the source is not Python: {error.msg}", None)
    lines = text.splitlines() or [""]
    line = min(max(error.lineno, 1), len(lines))
    # Python counts code points, and 0 or past the end where it has no place on the line.
    column = min(max(error.offset or 1, 1), len(lines[line - 1]) + 1)
    end = error.end_offset if error.end_lineno == error.lineno and (error.end_offset or 0) > column else column + 1
    span = Span(line=line, column=column, end_line=line, end_column=end)
    help_text = None
    if "__global__" in text:
        help_text = "This looks like CUDA C++: choose it as the language."
    return told(error.msg or "invalid syntax", span, help_text)


def _raised(error: BaseException, file_name: str, node: ast.stmt) -> Diagnostic:
    """An exception, at the last line of the text that it went through."""
    span = line_span(node)
    trace = error.__traceback__
    lines = linecache.getlines(file_name)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file_name and trace.tb_lineno:
            number = trace.tb_lineno
            text = lines[number - 1].rstrip() if number <= len(lines) else ""
            column = len(text) - len(text.lstrip()) + 1
            span = Span(line=number, column=column, end_line=number, end_column=max(len(text), column) + 1)
        trace = trace.tb_next
    if isinstance(error, SystemExit):
        return told("the source ends itself before its kernels are compiled", span)
    try:
        text = str(error)[:500]
    except Exception:
        text = "(its text cannot be shown)"
    help_text = None
    if isinstance(error, NameError) and error.name == "cuda":
        help_text = "Begin with: from numba import cuda"
    return told(f"{type(error).__name__}: {text}", span, help_text)


def _not_here(error: ImportError, node: ast.stmt) -> Diagnostic:
    name = error.name or "this module"
    message = f"{name} cannot be imported here; what needs it is left out"
    help_text = "Kernels can use numba, numpy and Python's own library."
    if (name or "").partition(".")[0] in ("cupy", "torch"):
        help_text += " The launch form makes the arrays."
    return told(message, line_span(node), help_text, "note")


def _host_code(nodes: list[ast.stmt]) -> Diagnostic:
    lines = sorted({node.lineno for node in nodes})
    where = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines[:8]))}"
    message = f"host code is left out ({where}{', …' if len(lines) > 8 else ''}): the launch form takes its place"
    help_text = "Only the functions and what they use are compiled; the form allocates, copies and launches."
    return told(message, line_span(nodes[0]), help_text, "note")


def _warning(item: warnings.WarningMessage) -> Diagnostic:
    span = Span(line=max(item.lineno, 1))
    return told(f"{item.category.__name__}: {str(item.message)[:500]}", span, severity="warning")
