"""Turns the compiler's messages into diagnostics that point into the user's source and say what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.languages.advice import advice, plain_words
from engine.languages.headers import explain_missing, only_for_hosts
from engine.languages.names import qualified_parts
from engine.languages.nvrtc_log import AssemblerMessage, Message
from engine.languages.ptx_lines import PtxLines
from engine.languages.source_text import SourceText
from protocol.diagnostics import Diagnostic, Label, Severity, Span

MAX_DIAGNOSTICS = 100
MAX_TEXT = 2_000
MAX_RELATED = 12

_NAME_MAP = "__nv_name_map"
_EXPRESSION = "#pragma nv_mangled_name "
# After the name comes why, where the file exists: "Permission denied", "not a regular file".
_MISSING = re.compile(r'^cannot open source file "(?P<header>.*)"(?:: [\w ]+)?$')
_PLACE = re.compile(r"^(?P<what>.*?)(?: at line (?P<line>\d+)(?: of (?P<file>\S+?))?)?$")
_SEVERITIES: dict[str, Severity] = {"error": "error", "warning": "warning", "remark": "note", "note": "note"}
_UNREADABLE = "unrecognized token"
_NO_SEMICOLON = 'expected a ";"'


def front_end_diagnostics(
    messages: Sequence[Message], source: SourceText, expressions: Sequence[str]
) -> list[Diagnostic]:
    """The front end's messages; `expressions` are the template instantiations that were asked for."""
    found: list[Diagnostic] = []
    for message in _without_token_floods(messages, source):
        if message.file == _NAME_MAP:
            item = _instantiation(message, expressions)
        elif message.file is not None and message.file.startswith("/"):
            item = _outside(message.file, source, found)
        else:
            item = _diagnostic(message, source)
        if item is not None:
            found.append(item)
    return _about_host_headers(found, source)


def capped(items: list[Diagnostic]) -> list[Diagnostic]:
    """At most MAX_DIAGNOSTICS, errors before others, the last of them a note of how many are left out."""
    if len(items) <= MAX_DIAGNOSTICS:
        return items
    errors = [item for item in items if item.severity == "error"]
    others = [item for item in items if item.severity != "error"]
    kept = [*errors, *others][: MAX_DIAGNOSTICS - 1]
    left = len(items) - len(kept)
    note = Diagnostic(severity="note", message=f"{left:,} more messages of the compiler are left out", code="left-out")
    return [*(item for item in items if item in kept), note]


def stopped_early() -> Diagnostic:
    """The compiler gives up after its hundredth error."""
    return Diagnostic(severity="note", message="the compiler stopped here; later errors are left out", code="left-out")


def _diagnostic(message: Message, source: SourceText) -> Diagnostic | None:
    """One message, in the user's file or in a header; None for a warning that only concerns a header's author."""
    own = message.file in (None, source.file_name)
    span = source.end if message.file is None else source.span(message.line, message.offset) if own else None
    notes = [_cut(detail) for detail in message.details[:MAX_RELATED]]
    labels: list[Label] = []
    for context in message.context:
        place = _PLACE.match(context)
        if place is None or place["line"] is None:
            continue
        file = place["file"] or message.file
        where = source.span(int(place["line"])) if file == source.file_name else None
        if where is None:
            notes.append(_cut(context))
        else:
            labels.append(Label(span=where, message=_cut(place["what"].removeprefix("detected during "))))
    for note in message.notes:
        where = source.span(note.line, note.offset) if note.file == source.file_name else None
        if where is None:
            notes.append(_cut(note.text))
        else:
            labels.append(Label(span=where, message=_cut(note.text)))
    if message.text == _NO_SEMICOLON and own and span is not None and (before := source.end_before(span)) is not None:
        labels.insert(0, Label(span=before, message="a ; is missing after this"))
    file = ""
    if not own and not labels and message.severity != "error":
        return None
    if not own:
        file = message.file or ""
        notes.append(f"in {file}, line {message.line}")
        # The innermost place in the user's own text is where the header was put to use.
        span = labels[0].span if labels else _include_of(file, source)
    text, help_text = _cut(plain_words(message.text)), advice(message.text)
    code = message.code
    missing = _MISSING.match(message.text)
    if missing:
        code = "missing-header"
        text, help_text = explain_missing(missing["header"])
        if own:
            span = next((item.span for item in source.includes if item.span.line == message.line), span)
    elif message.text.startswith(_UNREADABLE) and span is not None:
        text, help_text = _unreadable(source, span)
    return Diagnostic(
        severity=_SEVERITIES[message.severity],
        message=text,
        code=code,
        span=span,
        file=file,
        labels=tuple(labels[:MAX_RELATED]),
        notes=tuple(notes[:MAX_RELATED]),
        help=help_text,
    )


def _without_token_floods(messages: Sequence[Message], source: SourceText) -> Iterable[Message]:
    """The compiler complains of every byte of a character that it does not know; one message a run is enough."""
    last: tuple[int, int] | None = None
    for message in messages:
        if message.file == source.file_name and message.text == _UNREADABLE and message.offset is not None:
            place = (message.line, message.offset)
            repeated = last is not None and last[0] == place[0] and 0 <= place[1] - last[1] <= 1
            last = place
            if repeated:
                continue
        elif message.text == "expected an identifier" and last == (message.line, message.offset):
            continue
        yield message


def _unreadable(source: SourceText, span: Span) -> tuple[str, str]:
    character = source.character(span.line, span.column)
    named = f"'{character}' (U+{ord(character):04X})" if character else "this"
    return (
        f"{named} cannot stand here",
        "Names and operators of CUDA C++ are ASCII; other characters belong in strings and comments.",
    )


def _outside(file: str, source: SourceText, found: Sequence[Diagnostic]) -> Diagnostic | None:
    """What is said of a file that is no CUDA header is not repeated: it may hold anything of the host's."""
    text, help_text = explain_missing(file)
    if any(item.message == text for item in found):
        return None
    span = next((item.span for item in source.includes if file.endswith(item.header.rsplit("/", 1)[-1])), None)
    return Diagnostic(severity="error", message=text, code="missing-header", span=span, help=help_text)


def _instantiation(message: Message, expressions: Sequence[str]) -> Diagnostic | None:
    """A message about a template instantiation that the launch asks for; the compiler says each twice."""
    if message.text.startswith("Error in parsing name expression"):
        return None
    expression = message.echo.removeprefix(_EXPRESSION)
    index = expressions.index(expression) if expression in expressions else None
    return Diagnostic(
        severity=_SEVERITIES[message.severity],
        message=_cut(f"{expression} cannot be instantiated: {plain_words(message.text)}"),
        code=message.code,
        origin="launch",
        field=None if index is None else f"instantiations.{index}",
        notes=tuple(_cut(detail) for detail in message.details[:MAX_RELATED]),
        help="Name a kernel of the source, and for a template its arguments, such as scale<float>.",
    )


def _about_host_headers(found: list[Diagnostic], source: SourceText) -> list[Diagnostic]:
    """Errors inside headers that are for hosts alone say one thing: that the header is the wrong one."""
    if not any(item.severity == "error" and item.file for item in found):
        return found
    wrong = [(item, text) for item in source.includes if (text := only_for_hosts(item.header)) is not None]
    if not wrong:
        return found
    kept = [item for item in found if not item.file]
    for include, text in wrong:
        message = f"<{include.header}> cannot be used in device code"
        kept.append(Diagnostic(severity="error", message=message, code="host-header", span=include.span, help=text))
    return kept


def _include_of(file: str, source: SourceText) -> Span | None:
    """The user's #include that a header belongs to, by its name or its folder, else the only one there is."""
    folder = file.split("/", 1)[0]
    for match in (
        [item for item in source.includes if item.header == file],
        [item for item in source.includes if "/" in file and item.header.startswith(f"{folder}/")],
        list(source.includes),
    ):
        if len(match) == 1:
            return match[0].span
    return None


def assembler_diagnostics(
    messages: Sequence[AssemblerMessage], lines: PtxLines, source: SourceText
) -> list[Diagnostic]:
    """The assembler's messages, mapped from lines of PTX to the source; of a flood, as many as can be shown."""
    return [_assembler(message, lines, source) for message in messages[: MAX_DIAGNOSTICS + 1]]


_SHARED = re.compile(
    r"Entry function '(?P<name>[^']+)' uses too much shared data \((?P<has>\w+) bytes, (?P<max>\w+) max\)"
)
_UNRESOLVED = re.compile(r"Unresolved extern function '(?P<name>[^']+)'")


def _assembler(message: AssemblerMessage, lines: PtxLines, source: SourceText) -> Diagnostic:
    text, help_text = message.text, None
    place = lines.source(message.ptx_line) if message.ptx_line else None
    if shared := _SHARED.search(text):
        has, most = int(shared["has"], 0), int(shared["max"], 0)
        name = qualified_parts(shared["name"])[-1]
        text = f"{name} declares {has:,} bytes of shared memory; {most:,} bytes a block can be declared"
        help_text = "More is possible as dynamic shared memory: extern __shared__, with its size in the launch."
        place = lines.entry(shared["name"])
    elif unresolved := _UNRESOLVED.search(text):
        name = "::".join(qualified_parts(unresolved["name"]))
        text = f"{name} is declared and called, but nowhere defined"
        help_text = "A source is one file: define the function in it."
        call = lines.find(f"{unresolved['name']},")
        place = lines.source(call) if call else None
    elif message.ptx_line:
        text = f"the assembler refuses this line: {text}"
        help_text = "It comes from inline PTX (asm): check the instruction, its types and its operands."
    span = source.span(place.line, max(place.column - 1, 0) if place.column else None) if place else None
    severity: Severity = "warning" if message.severity == "warning" else "error"
    return Diagnostic(severity=severity, message=_cut(text), origin="assembler", span=span, help=help_text)


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]} … ({len(text) - MAX_TEXT:,} more characters)"
