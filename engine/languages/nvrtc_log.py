"""Cuts the compiler's log into messages: what was said, where, and what belongs to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADER = re.compile(
    r"^(?:(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\)|At end of source): "
    r"(?P<severity>(?:catastrophic |internal )?error|warning|remark|note)(?: #(?P<code>\d+(?:-D)?))?: (?P<message>.*)$"
)
_CARET = re.compile(r"^[ \t]*\^$")
_ENDING = re.compile(
    r"^(?:Remark: The warnings can be suppressed|\d[\d ]*(?:and \d+ )?(?:catastrophic )?errors? detected| and \d+ "
    r"|\d+ errors? and \d+|Compilation terminated|Error limit reached|nvrtc: |ptxas |\s?ptxas )"
)
_ASSEMBLER = re.compile(
    r"^ ?ptxas (?:(?P<input>\S.*), line (?P<line>\d+); )?(?P<severity>error|warning|fatal)\s*: (?P<message>.*)$"
)
_INDENT = "  "
_DETAIL = " " * 10


@dataclass(slots=True)
class Message:
    """One message of the front end. `offset` is the caret's byte offset in the echoed source line."""

    severity: str
    text: str
    code: str = ""
    file: str | None = None
    """None at the end of the source."""
    line: int = 0
    offset: int | None = None
    echo: str = ""
    details: list[str] = field(default_factory=list)
    """Candidates and argument types, before the echo."""
    context: list[str] = field(default_factory=list)
    """Where a template was instantiated, after it."""
    notes: list[Message] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AssemblerMessage:
    """One message of the assembler; `ptx_line` is 0 where it names none."""

    severity: str
    text: str
    ptx_line: int = 0


def front_end_messages(log: str) -> list[Message]:
    """Every message of the log in its order, each with its notes."""
    messages: list[Message] = []
    lines = log.split("\n")
    index = 0
    while index < len(lines):
        match = _HEADER.match(lines[index])
        index += 1
        if not match:
            continue
        message = Message(
            severity="error" if "error" in match["severity"] else match["severity"],
            text=match["message"],
            code=match["code"] or "",
            file=match["file"],
            line=int(match["line"] or 0),
        )
        index = _read_body(message, lines, index)
        if message.severity == "note" and messages:
            messages[-1].notes.append(message)
        else:
            messages.append(message)
    return messages


def _read_body(message: Message, lines: list[str], index: int) -> int:
    """Takes the lines that belong to a message; returns the index after them."""
    while index < len(lines) and not _HEADER.match(lines[index]) and not _ENDING.match(lines[index]):
        line = lines[index]
        echoed = message.offset is not None
        if not echoed and line.startswith(_INDENT) and index + 1 < len(lines) and _CARET.match(lines[index + 1]):
            message.echo = line[len(_INDENT) :]
            caret = lines[index + 1].encode().index(b"^") - len(_INDENT)
            message.offset = max(caret, 0)
            index += 1
        elif line.startswith(_DETAIL):
            (message.context if echoed else message.details).append(line.strip())
        elif line and not echoed:
            # A message of the user's own, from #pragma message or a string, may hold line breaks.
            message.text += "\n" + line
        elif not line:
            return index + 1
        index += 1
    return index


def assembler_messages(log: str) -> list[AssemblerMessage]:
    """Errors and warnings of the assembler, without its closing line."""
    found = []
    for line in log.split("\n"):
        match = _ASSEMBLER.match(line)
        if match and not match["message"].startswith("Ptx assembly aborted"):
            severity = "warning" if match["severity"] == "warning" else "error"
            text = match["message"].strip()
            place = int(match["line"] or 0) or _number(r" on line (\d+)$", text)
            found.append(AssemblerMessage(severity, text, place))
    return found


@dataclass(frozen=True, slots=True)
class Report:
    """The assembler's report on one entry (-Xptxas=-v), in bytes except registers and barriers."""

    registers: int = 0
    barriers: int = 0
    shared: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0


_REPORT = re.compile(
    r"^ptxas info    : Compiling entry function '(?P<name>[^']+)' for '[^']+'\n"
    r"(?:.*\n)??ptxas +\. +(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads\n"
    r"(?:.*\n)??ptxas info    : Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.MULTILINE,
)


def resource_reports(log: str) -> dict[str, Report]:
    """Entry name as in the PTX -> what the assembler says it takes."""
    found = {}
    for match in _REPORT.finditer(log):
        rest = match["rest"]
        found[match["name"]] = Report(
            registers=int(match["registers"]),
            barriers=_number(r"used (\d+) barriers", rest),
            shared=_number(r"(\d+) bytes smem", rest),
            stack=int(match["stack"]),
            spill_stores=int(match["stores"]),
            spill_loads=int(match["loads"]),
        )
    return found


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    return int(match[1]) if match else 0
