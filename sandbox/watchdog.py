"""Looks at a job's processes from outside: resident memory, threads, CPU time."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Survey:
    """Sums over a process tree: bytes, threads, seconds. Pages that two processes share count twice."""

    resident: int = 0
    threads: int = 0
    cpu: float = 0.0


def survey(root: int) -> Survey:
    """Look at process `root` and its descendants; what is gone meanwhile counts as nothing."""
    total = Survey()
    waiting = [root]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}")
        try:
            total.resident += int((process / "statm").read_text().split()[1]) * _PAGE
            # The command's name, in parentheses, is the job's to choose; the numbers follow the last one.
            numbers = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
            total.cpu += (int(numbers[11]) + int(numbers[12])) * _TICK
            for task in os.listdir(process / "task"):  # noqa: PTH208 - names only
                total.threads += 1
                waiting += map(int, (process / "task" / task / "children").read_text().split())
        except (OSError, ValueError, IndexError):
            continue
    return total
