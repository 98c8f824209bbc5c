"""Takes the bodies out of a text that nobody asks for, so that only the rest has to be read."""

from __future__ import annotations

import re
from collections.abc import Collection

_BODY = re.compile(r"\.(entry|section)[ \t]+([\w$%.]+)[^{};/\"]*\{")
# What may hold a brace that is none.
_HIDING = re.compile(r"//[^\n]*|\"[^\"\n]*\"|/\*|\\\\")


def without_bodies(text: str, entries: Collection[str]) -> str:
    """The text without sections, and with other entries than these as mere declarations; lines keep their numbers.

    A body in which a brace might not be one (in a string or a comment) stays.
    """
    pieces: list[str] = []
    kept = 0
    while (match := _BODY.search(text, kept)) is not None:
        end = _end(text, match.end())
        before = text[kept : match.start()].rpartition("\n")[2]
        section = match[1] == "section"
        if (not section and match[2] in entries) or end is None or "//" in before or '"' in before:
            pieces.append(text[kept : match.end()])
            kept = match.end()
            continue
        declared = match.start() if section else match.end() - 1
        pieces += [text[kept:declared], ";", "\n" * text.count("\n", declared, end)]
        kept = end
    return "".join([*pieces, text[kept:]])


def _end(text: str, start: int) -> int | None:
    """Behind the brace that closes a body; None where that is not plain to see."""
    depth, at = 1, start
    while depth:
        close = text.find("}", at)
        if close < 0:
            return None
        depth += text.count("{", at, close) - 1
        at = close + 1
    body = text[start:at]
    if body.count('"') % 2:
        return None
    hidden = _HIDING.findall(body) if '"' in body or "/" in body else ()
    return None if any("{" in text or "}" in text or text in ("/*", "\\") for text in hidden) else at
