"""The sites of a kernel: instructions that may fault, with all that a report needs."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.syntax.nodes import Instruction, SourceLocation


@dataclass(frozen=True, slots=True)
class Site:
    """One instruction that touches memory or may fault. Its index is its slot in the bounds cache."""

    ptx_line: int
    source: SourceLocation | None
    form: str
    space: str
    access: str  # read write atomic


class SiteTable:
    def __init__(self) -> None:
        self.sites: list[Site] = []

    def add(self, instruction: Instruction, space: str, access: str) -> int:
        self.sites.append(Site(instruction.line, instruction.location, instruction.form, space, access))
        return len(self.sites) - 1
