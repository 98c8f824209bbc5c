"""The user's text as the compiler gets it, and places in it: lines, columns in code points, includes."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from protocol.diagnostics import Span

_SPLICE = r"(?:\\|\?\?/)[ \t]*\r?\n"
_TOKEN = re.compile(
    rf"""
    (?P<splice>{_SPLICE})
  | (?P<newline>\n)
  | (?P<blank>[^\S\n]+)
  | (?P<comment>//(?:{_SPLICE}|[^\n])*|/\*.*?(?:\*/|\Z))
  | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{{0,16}})\(.*?(?:\)(?P=delimiter)"|\Z))
  | (?P<string>(?:u8|[uUL])?"(?:{_SPLICE}|\\[^\n]|[^"\\\n])*"?)
  | (?P<number>\.?\d(?:'?[\w.]|[eEpP][+-])*)
  | (?P<character>'(?:{_SPLICE}|\\[^\n]|[^'\\\n])*'?)
  | (?P<hash>\#|%:|\?\?=)
  | (?P<word>[A-Za-z_](?:\w|{_SPLICE})*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# A directive that is none of these may be a line directive, whose every spelling the exact scan knows.
_SUSPECT = re.compile(
    r"(?:\#|%:|\?\?=)[ \t]*+"
    r"(?!(?:include|define|undef|if|ifdef|ifndef|elif|else|endif|pragma|error|warning|\#)\b)"
)
_INCLUDE = re.compile(r'^[ \t]*(?:\#|%:)[ \t]*include[ \t]*(<[^>\n]*>|"[^"\n]*")', re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*|\.?\d[\w.]*|\S", re.ASCII)


@dataclass(frozen=True, slots=True)
class Include:
    """An #include of the user's: the header as written, without its quotes, and where it stands."""

    header: str
    span: Span


class SourceText:
    """One source. Line directives are blanked, so that no text can claim another place than its own."""

    def __init__(self, text: str, file_name: str) -> None:
        self.file_name = file_name
        # A byte order mark is no token of the language; a blank keeps the columns after it.
        plain = " " + text[1:] if text.startswith("\ufeff") else text
        self._text = _without_line_directives(plain) if _SUSPECT.search(plain) else plain
        self.lines = tuple(line.rstrip("\r") for line in self._text.split("\n"))

    @property
    def compiled(self) -> bytes:
        return self._text.encode()

    def span(self, line: int, byte_offset: int | None = None) -> Span | None:
        """The token at a byte offset of a line, or the whole line's text; None where there is no such line."""
        if not 1 <= line <= len(self.lines):
            return None
        text = self.lines[line - 1]
        if byte_offset is None:
            start = len(text) - len(text.lstrip())
            return Span(line=line, column=start + 1, end_line=line, end_column=max(len(text.rstrip()), start + 1) + 1)
        start = len(text.encode()[:byte_offset].decode(errors="ignore"))
        word = _WORD.match(text, start)
        return Span(line=line, column=start + 1, end_line=line, end_column=(word.end() if word else start + 1) + 1)

    def end_before(self, span: Span) -> Span | None:
        """The last token of the nearest line above that is not blank; None where that line holds a comment."""
        if self.lines[span.line - 1][: span.column - 1].strip():
            return None
        for line in range(span.line - 1, 0, -1):
            text = self.lines[line - 1].rstrip()
            if not text.strip():
                continue
            if "//" in text or "*/" in text or text.endswith("\\") or text.lstrip().startswith("#"):
                return None
            *_, last = _WORD.finditer(text)
            return Span(line=line, column=last.start() + 1, end_line=line, end_column=last.end() + 1)
        return None

    def character(self, line: int, column: int) -> str:
        """The character at a place, both counted from 1; empty past the end of the line."""
        return self.lines[line - 1][column - 1 : column]

    @functools.cached_property
    def end(self) -> Span:
        """The last line that holds text."""
        last = max((number for number, line in enumerate(self.lines, 1) if line.strip()), default=1)
        column = len(self.lines[last - 1]) + 1
        return Span(line=last, column=column, end_line=last, end_column=column + 1)

    @functools.cached_property
    def includes(self) -> tuple[Include, ...]:
        found = []
        for match in _INCLUDE.finditer(self._text):
            line = self._text.count("\n", 0, match.start(1)) + 1
            column = match.start(1) - self._text.rfind("\n", 0, match.start(1))
            span = Span(line=line, column=column, end_line=line, end_column=column + len(match[1]))
            found.append(Include(match[1][1:-1], span))
        return tuple(found)


def _without_line_directives(text: str) -> str:
    """The text with each #line, and each `# 12 "file"`, blanked; lines and columns stay as they are."""
    result: list[str] = []
    line_begins = True
    directive: int | None = None  # Index in `result` after the '#' of a directive whose name is not seen yet.
    blanking = False
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "delimiter":
            kind = "raw"
        if kind == "newline":
            line_begins, directive, blanking = True, None, False
        elif kind in ("splice", "blank", "comment"):
            pass
        elif directive is not None:
            blanking = kind == "number" or (kind == "word" and re.sub(_SPLICE, "", token) == "line")
            directive = None
        elif line_begins and kind == "hash":
            directive, line_begins = len(result), False
        else:
            line_begins = False
        result.append(_blank(token) if blanking and kind != "comment" else token)
    return "".join(result)


def _blank(token: str) -> str:
    return re.sub(rf"({_SPLICE}|\n)|.", lambda match: match[1] or " ", token, flags=re.DOTALL)
