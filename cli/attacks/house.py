"""What an attack must leave as it was: the processes around a sandbox, files, free room, connections."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from cli.attacks.corpus import GotThrough, demand
from cli.attacks.planted import CANARY, Planted
from sandbox.launcher import Sandbox

_WATCHED = ("/tmp", "/var/tmp", "/dev/shm", "/etc", "/")
_LEFT = re.compile(r"PWNED|LEFT|^f\d+$|^[sdnhex]$")
"""Names of files that attacks of the corpus write."""
_ROOM_BYTES = 2 << 30
_ROOM_FILES = 100_000


def descendants(pid: int) -> set[int]:
    """All living processes below `pid`."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        process = Path(f"/proc/{waiting.pop()}/task")
        try:
            children = {int(child) for task in process.iterdir() for child in (task / "children").read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            continue
        waiting += children - found
        found |= children
    return found


def lives(pid: int) -> bool:
    """Whether that process still runs; one that only waits for its parent to take note does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes(box: Sandbox) -> set[int]:
    """Living processes of zygotes and jobs without the inits that wait for a next job; looks when all of them wait."""
    end = time.monotonic() + 1
    while -1 in (waiting := box.spare_inits()) and time.monotonic() < end:
        time.sleep(0.005)
    return {child for pid in box.zygotes for child in descendants(pid) if lives(child)} - {*waiting}


def _names(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def _room() -> tuple[int, int]:
    """Free bytes and free inodes of the machine's temporary folder."""
    space = os.statvfs("/tmp")
    return space.f_bavail * space.f_frsize, space.f_favail


@dataclass(frozen=True)
class House:
    """How things stood before an attack."""

    box: Sandbox
    planted: Planted
    processes: set[int]
    zygotes: tuple[int, ...]
    files: dict[str, set[str]]
    room: tuple[int, int]
    connections: int

    @classmethod
    def seen(cls, box: Sandbox, planted: Planted) -> House:
        files = {folder: _names(folder) for folder in _WATCHED if Path(folder).is_dir()}
        return cls(box, planted, processes(box), box.zygotes, files, _room(), len(planted.connections))

    # Each of these raises GotThrough.

    def nothing_said(self, said: bytes) -> None:
        for word in (b"PWNED", CANARY.encode()):
            demand(word not in said, f"{word.decode()} in {said[:500]!r}")
        demand(not re.search(rb"root:[^:\n]*:0:0:.*\n.*daemon:", said), "the machine's passwd file was read")
        seen = self.planted.connections[self.connections :]
        demand(not seen, f"connected to {', '.join(seen)}")

    def nobody_left(self) -> None:
        end = time.monotonic() + 1
        while (left := processes(self.box) - self.processes) and time.monotonic() < end:
            time.sleep(0.01)
        demand(not left, f"{len(left)} processes outlive the job")

    def zygotes_live(self) -> None:
        demand(self.box.zygotes == self.zygotes, "a zygote was replaced")
        demand(all(map(lives, self.zygotes)), "a zygote died")

    def no_new_file(self) -> None:
        if list(self.planted.folder.glob("*LEFT*")):
            raise GotThrough("a file in the worker's folder")
        for folder, before in self.files.items():
            new = {name for name in _names(folder) - before if _LEFT.search(name)}
            demand(not new, f"{', '.join(sorted(new))} in {folder}")

    def room_unchanged(self) -> None:
        now = _room()
        demand(self.room[0] - now[0] < _ROOM_BYTES, "the disk was filled")
        demand(self.room[1] - now[1] < _ROOM_FILES, "inodes were used up")
