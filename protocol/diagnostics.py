"""Everything that is told to the user about a place in the source or a field of the request."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.base import Model

Severity = Literal["error", "warning", "note", "advice"]
Origin = Literal["compiler", "assembler", "emulator", "launch", "request", "service"]
Line = Annotated[int, Field(ge=1)]


class Span(Model):
    """Lines and columns count from 1, columns in Unicode code points; the end is exclusive."""

    line: Line
    column: Line = 1
    end_line: Line | None = None
    end_column: Line | None = None


class Label(Model):
    """A further place that belongs to a diagnostic."""

    span: Span
    message: str


class Diagnostic(Model):
    """One message. `span` is in the user's source; `field` is a path in the request, such as steps.0.config.block."""

    severity: Severity
    message: str
    code: str = ""
    origin: Origin = "compiler"
    span: Span | None = None
    file: str = ""
    field: str | None = None
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
