"""Everything that is told to the user about a place in the source or a field of the request."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from protocol.base import Model

Severity = Literal["error", "warning", "note", "advice"]
Origin = Literal["compiler", "assembler", "emulator", "launch", "request", "service", "lint"]
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


class Fix(Model):
    """What would mend it: a new value of a field of the request, or a text in place of a span of the source."""

    title: str
    field: str | None = None
    value: JsonValue = None
    """Of the field, as the request has it."""
    span: Span | None = None
    text: str = ""
    """What stands in the span afterwards; a span that is empty says where it is put in."""


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
    fix: Fix | None = None
