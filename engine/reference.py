"""Runs a check's NumPy reference: the user's Python text, in a child of its own, on a run's first values."""

from __future__ import annotations

import ast
import time
import traceback
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import ml_dtypes
import numpy as np

from engine.buffers import initial_values, uploads_of
from engine.emission import Emission, Emit
from engine.launching.arguments import argument_bytes
from engine.launching.plan import plan
from engine.outcome import values_refused
from engine.python_watch import DeadlineWatch
from engine.values.dtypes import Array, cast, numpy_dtype
from protocol.arguments import Buffer, ScalarArgument, VectorArgument
from protocol.base import FieldError
from protocol.checks import NumpyReference
from protocol.diagnostics import Diagnostic, Span
from protocol.kernel import CompiledKernel
from protocol.run import ReferenceJob, RunRequest

FILE = "reference"
"""Name of the text, as `Diagnostic.file` has it."""

_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_WORDS = ("bool", "integers", "real numbers", "complex numbers")


class Refused(Exception):
    """The reference gives nothing to compare with."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def reference_job(request: bytes, blobs: Mapping[str, memoryview], emit: Emit) -> None:
    """`request` is a protocol.run.ReferenceJob as JSON; blobs are the uploads. Emits what each buffer must hold.

    Without them the diagnostics say why, at a line of the reference where one is to blame.
    """
    begin = time.perf_counter()
    job, emission = ReferenceJob.model_validate_json(request), Emission(emit)
    check = job.run.checks[job.check]
    assert isinstance(check, NumpyReference)
    text = Text(check.text, f"checks.{job.check}.text")
    by_name = {buffer.name: buffer for buffer in job.run.buffers}
    try:
        names = names_of(job.run, job.kernel, initial_values(job.run, uploads_of(blobs)))
        with text.watched(emission, job.deadline_seconds, begin):
            text.execute(text.compiled(), names, by_name)
            results = {name: _result(text, names, by_name[name]) for name in check.buffers}
    except FieldError as error:
        emission.diagnosed([values_refused(error)])
        return
    except Refused as error:
        emission.diagnosed([error.diagnostic])
        return
    for name, values in results.items():
        emission.artifact("expected", values.tobytes(), buffer=name)


def names_of(
    run: RunRequest, kernel: CompiledKernel, values: Mapping[str, Array | None], file: str = FILE
) -> dict[str, Any]:
    """What the text sees, as protocol.checks.NumpyReference says."""
    names: dict[str, Any] = {"__name__": file, "np": np, "numpy": np, "ml_dtypes": ml_dtypes}
    for launch in plan(run, kernel).launches.values():
        for match in launch.matches:
            if not isinstance(match.argument, ScalarArgument | VectorArgument):
                continue
            dtype = match.argument.dtype or match.parameter.dtype
            if dtype is None:
                continue
            count = 1 if isinstance(match.argument, ScalarArgument) else len(match.argument.values)
            array = np.frombuffer(argument_bytes(match, lambda _: 0), numpy_dtype(dtype), count)
            names.setdefault(match.parameter.name, array[0] if isinstance(match.argument, ScalarArgument) else array)
    for buffer in run.buffers:
        array_ = values[buffer.name]
        names.pop(buffer.name, None)
        if array_ is not None:
            writeable = array_ if array_.flags.writeable else array_.copy()
            names[buffer.name] = writeable.reshape(buffer.shape)
    return names


def _result(text: Text, names: Mapping[str, Any], buffer: Buffer) -> Array:
    """What the text left under the buffer's name, flat and in the buffer's dtype."""
    name, line = buffer.name, text.assigned(buffer.name)
    if name not in names or not text.mentions(name):
        help_text = f"Assign the array that {name} must hold after the run."
        raise Refused(text.told(f"the reference assigns nothing to {name}", None, help_text))
    try:
        array = np.asarray(names[name])
    except Exception as error:
        raise Refused(text.told(f"{name} is no array: {_short(error)}", line)) from None
    if array.shape != buffer.shape:
        message = f"{name} has shape {array.shape} in the reference; the buffer has {buffer.shape}"
        raise Refused(text.told(message, line))
    wanted, given = _rank(numpy_dtype(buffer.dtype)), _rank(array.dtype)
    if given is None or wanted is None or given > wanted:
        kind = array.dtype if given is None else f"{array.dtype}, {_WORDS[given]}"
        message = f"{name} is {kind} in the reference; the buffer is {buffer.dtype}"
        help_text = f"Convert it: {name} = {name}.astype({_spelled(buffer.dtype)})"
        raise Refused(text.told(message, line, help_text))
    try:
        return np.ascontiguousarray(cast(array, buffer.dtype)).reshape(-1)
    except ValueError as error:
        raise Refused(text.told(f"{name} in the reference: {error}", line)) from None


def _rank(dtype: np.dtype[Any]) -> int | None:
    """Which numbers a dtype holds, from bool to complex; None where it holds none."""
    return _RANKS["f"] if dtype == np.dtype(ml_dtypes.bfloat16) else _RANKS.get(dtype.kind)


def _spelled(dtype: str) -> str:
    return "ml_dtypes.bfloat16" if dtype == "bfloat16" else "bool" if dtype == "bool" else f"np.{dtype}"


class Text:
    """Python text of the user's, and places in it; `what` is what it is called."""

    def __init__(self, text: str, field: str, file: str = FILE, what: str = "reference") -> None:
        self.text, self._field, self._file, self._what = text, field, file, what
        self._lines = text.splitlines() or [""]

    def told(self, message: str, span: Span | None, help_text: str | None = None) -> Diagnostic:
        return Diagnostic(
            severity="error",
            message=message,
            code=self._what,
            origin="request",
            span=span,
            file=self._file,
            field=self._field,
            help=help_text,
        )

    def compiled(self) -> CodeType:
        """Refused where the text is no Python."""
        try:
            return compile(self.text, self._file, "exec", dont_inherit=True)
        except SyntaxError as error:
            span = None if error.lineno is None else Span(line=max(error.lineno, 1), column=max(error.offset or 1, 1))
            raise Refused(self.told(f"the {self._what} is not Python: {error.msg}", span)) from None
        except (ValueError, MemoryError, RecursionError) as error:
            message = f"the {self._what} cannot be compiled: {str(error) or type(error).__name__}"
            raise Refused(self.told(message, None)) from None

    def execute(self, code: CodeType, names: dict[str, Any], buffers: Mapping[str, Buffer]) -> None:
        """Refused where the text raises."""
        self.guarded(lambda: exec(code, names), buffers)

    def guarded(self, work: Callable[[], object], buffers: Mapping[str, Buffer]) -> None:
        """Runs a part of the text. Refused where that raises."""
        try:
            work()
        except BaseException as error:
            raise Refused(self.raised(error, buffers)) from None

    def line(self, number: int) -> Span:
        """A whole line, without its indentation."""
        content = self._lines[number - 1] if number <= len(self._lines) else ""
        column = len(content) - len(content.lstrip()) + 1
        return Span(line=number, column=column, end_line=number, end_column=max(len(content), column) + 1)

    def raised(self, error: BaseException, buffers: Mapping[str, Buffer]) -> Diagnostic:
        """An exception, at the last line of the text that it went through."""
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self._file]
        number = frames[-1].lineno if frames else None
        if isinstance(error, SystemExit):
            message = f"the {self._what} ended itself before it was done"
        else:
            message = f"{type(error).__name__}: {_short(error)}"
        help_text = None
        if isinstance(error, NameError) and error.name in buffers:
            help_text = f"{error.name} starts uninitialised, so it has no values before the run: assign it as a whole."
        return self.told(message, self.line(number) if number else None, help_text)

    def watched(self, emission: Emission, seconds: float, begin: float) -> DeadlineWatch:
        """Ends the process where the text has not ended after so many seconds."""

        def tell(line: int | None) -> None:
            message = f"the {self._what} was stopped: it had not ended after {seconds:g} s"
            emission.diagnosed([self.told(message, self.line(line) if line else None)])

        return DeadlineWatch(self._file, seconds, begin, tell)

    def mentions(self, name: str) -> bool:
        return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(self.text)))

    def assigned(self, name: str) -> Span | None:
        """The last line that assigns to a name."""
        found = [
            node.lineno
            for node in ast.walk(ast.parse(self.text))
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        ]
        return self.line(max(found)) if found else None


def _short(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except Exception:
        return "(its text cannot be shown)"
