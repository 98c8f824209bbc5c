"""Text for a terminal: colour where it is wanted, nothing that a kernel could use to rewrite the screen."""

import os
import re
import sys
from typing import TextIO

from protocol.diagnostics import Diagnostic, Span

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_CODES = {"error": "1;31", "warning": "1;35", "note": "1;36", "advice": "1;33", "good": "32", "bold": "1", "dim": "2"}


class Terminal:
    """Writes to one stream; colours where the stream is a terminal and NO_COLOR is unset."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._at_start = True
        self._in_progress = False
        self._colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def paint(self, style: str, text: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._colour else text

    def line(self, text: str = "") -> None:
        """A line of ours, on a line of its own."""
        self.progress("")
        print("" if self._at_start else "\n", text, sep="", file=self._stream, flush=True)
        self._at_start = True

    def progress(self, text: str) -> None:
        """A line that the next one overwrites, where a person looks on; nothing ends it."""
        if not self._stream.isatty() or not (text or self._in_progress):
            return
        self._stream.write(f"\r{text}\x1b[K")
        self._stream.flush()
        self._in_progress = bool(text)

    def text(self, text: str) -> None:
        """Text of a kernel's own, as it comes and without control characters."""
        self.progress("")
        self._stream.write(plain(text))
        self._stream.flush()
        self._at_start = text.endswith("\n") if text else self._at_start


def plain(text: str) -> str:
    r"""The text with every control character but newline and tab written out, such as \x1b."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def output() -> Terminal:
    return Terminal(sys.stdout)


def errors() -> Terminal:
    return Terminal(sys.stderr)


def diagnostic_text(terminal: Terminal, diagnostic: Diagnostic, source: str, file: str) -> str:
    """As compilers write it: place, severity, message, the line of the source with a mark below, notes."""
    severity = terminal.paint(diagnostic.severity, f"{diagnostic.severity}:")
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    parts = [f"{_place(diagnostic, file)}{severity} {plain(diagnostic.message)}{code}"]
    if diagnostic.span is not None and not diagnostic.file:
        parts += excerpt(terminal, diagnostic.span, source)
    for label in diagnostic.labels:
        parts.append(f"{file}:{label.span.line}:{label.span.column}: note: {plain(label.message)}")
        parts += excerpt(terminal, label.span, source)
    parts += [f"  = note: {plain(note)}" for note in diagnostic.notes]
    if diagnostic.help:
        parts.append(f"  = help: {plain(diagnostic.help)}")
    return "\n".join(parts)


def _place(diagnostic: Diagnostic, file: str) -> str:
    if diagnostic.span is not None:
        return f"{plain(diagnostic.file or file)}:{diagnostic.span.line}:{diagnostic.span.column}: "
    return f"{diagnostic.field}: " if diagnostic.field else ""


def excerpt(terminal: Terminal, span: Span, source: str) -> list[str]:
    """The line of `source` that the span begins in, with marks below; nothing where there is no such line."""
    lines = source.split("\n")
    if not 1 <= span.line <= len(lines):
        return []
    line = plain(lines[span.line - 1].rstrip("\r"))
    ends_here = span.end_column is not None and (span.end_line or span.line) == span.line
    width = max(1, (span.end_column or span.column) - span.column) if ends_here else 1
    start = min(span.column - 1, len(line))
    indent = "".join("\t" if character == "\t" else " " for character in line[:start])
    marks = "^" + "~" * (min(width, max(1, len(line) - start)) - 1)
    number = f"{span.line:5d} | "
    return [number + line, f"{' ' * (len(number) - 2)}| {indent}{terminal.paint('good', marks)}"]
