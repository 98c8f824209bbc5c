"""Maps lines of PTX to lines of the user's source by .loc, and takes the host's paths out of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FILE = re.compile(r'^([ \t]*\.file[ \t]+(\d+)[ \t]+")([^"\n]*)(")', re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")


def without_host_paths(text: str, folders: Sequence[str]) -> str:
    """The text with the include folders' paths taken off: nvidia's headers are named as they are included."""
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(f"{folder.rstrip('/')}/", "")
    return text


def clean_ptx(ptx: str, file_name: str, folders: Sequence[str]) -> str:
    """PTX whose .file directives name the user's source plainly and headers as they are included."""

    def rename(match: re.Match[str]) -> str:
        path = without_host_paths(match[3], folders)
        # What is still absolute is the working folder's: the source, and the headers kept in memory.
        return f"{match[1]}{path.rsplit('/', 1)[-1] if path.startswith('/') else path}{match[4]}"

    return _FILE.sub(rename, ptx)


def source_file_numbers(ptx: str, file_name: str) -> frozenset[int]:
    """The numbers under which a PTX module's .file directives name the user's source."""
    return frozenset(int(match[2]) for match in _FILE.finditer(ptx) if match[3].rsplit("/", 1)[-1] == file_name)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's source; the column counts bytes from 1, 0 where the compiler gives none."""

    line: int
    column: int


class PtxLines:
    """Answers which line of the user's source a line of PTX came from."""

    def __init__(self, ptx: str, file_name: str) -> None:
        self._lines = ptx.split("\n")
        self._files = source_file_numbers(ptx, file_name)

    def source(self, ptx_line: int) -> SourceLine | None:
        """The source line in force at a PTX line (from 1), of the call where code of a header was inlined."""
        for index in range(min(ptx_line, len(self._lines)) - 1, -1, -1):
            text = self._lines[index]
            match = _LOC.match(text)
            if match is None:
                if ".entry" in text or ".func" in text:
                    return None
                continue
            if int(match[1]) in self._files:
                return SourceLine(int(match[2]), int(match[3]))
            if match[4] and int(match[4]) in self._files:
                return SourceLine(int(match[5]), int(match[6]))
        return None

    def find(self, text: str, after: int = 0) -> int:
        """The first PTX line, counted from 1, that holds a text; 0 where none does."""
        return next((number for number, line in enumerate(self._lines[after:], after + 1) if text in line), 0)

    def entry(self, name: str) -> SourceLine | None:
        """Where an entry's body begins in the user's source."""
        start = next(
            (
                number
                for number, line in enumerate(self._lines, 1)
                if (".entry" in line or ".func" in line) and re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line)
            ),
            0,
        )
        for number in range(start, min(start + 2000, len(self._lines)) if start else 0):
            match = _LOC.match(self._lines[number])
            if match and int(match[1]) in self._files:
                return SourceLine(int(match[2]), int(match[3]))
        return None
