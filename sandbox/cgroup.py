"""A memory cgroup for each job, version 1 or 2, below the supervisor's own group."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

_PREFIX = "warpyard-job-"
_V2_FILES = ("memory.max", "memory.swap.max")
_V1_FILES = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")


class Cgroups:
    """The place for job groups. Raises OSError, with the reason, where this process may not make any."""

    def __init__(self) -> None:
        self.version, self.parent = _find_parent()
        self._lock = threading.Lock()
        self._next = 0
        self._busy: set[Path] = set()
        _sweep(self.parent)
        probe = self.create()
        try:
            probe.limit(1 << 30)
        finally:
            probe.close()

    def create(self) -> JobCgroup:
        with self._lock:
            self._next += 1
            path = self.parent / f"{_PREFIX}{os.getpid()}-{id(self):x}-{self._next}"
        self._remove_busy()
        path.mkdir()
        return JobCgroup(path, self.version, self._busy)

    def close(self) -> None:
        """Remove what was busy before: the kernel lets a group go only when its last process is gone."""
        deadline = time.monotonic() + 1
        while self._remove_busy() and time.monotonic() < deadline:
            time.sleep(0.005)

    def _remove_busy(self) -> bool:
        """Try once more; whether any is left."""
        for path in list(self._busy):
            if _remove(path):
                self._busy.discard(path)
        return bool(self._busy)


class JobCgroup:
    """The memory group of one job."""

    def __init__(self, path: Path, version: int, busy: set[Path]) -> None:
        self._path, self._version, self._busy = path, version, busy

    def limit(self, memory: int) -> None:
        """Bound memory to that many bytes and swap to none; a kernel without swap accounting has no such file."""
        names = _V2_FILES if self._version == 2 else _V1_FILES
        (self._path / names[0]).write_text(str(memory))
        swap = self._path / names[1]
        if swap.exists():
            swap.write_text("0" if self._version == 2 else str(memory))

    def add(self, pid: int) -> None:
        (self._path / "cgroup.procs").write_text(str(pid))

    def ran_out(self) -> bool:
        """Whether the kernel killed a process of this group for its memory."""
        name = "memory.events" if self._version == 2 else "memory.oom_control"
        for line in (self._path / name).read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value) > 0
        return False

    def close(self) -> None:
        if not _remove(self._path):
            self._busy.add(self._path)


def _remove(path: Path) -> bool:
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _find_parent() -> tuple[int, Path]:
    own: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    v2: list[Path] = []
    v1: list[Path] = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, options = line.split()[:4]
        if kind == "cgroup2":
            v2 += _below(point, own.get("", "/"))
        elif kind == "cgroup" and "memory" in options.split(","):
            v1 += _below(point, own.get("memory", "/"))
    for group in v2:
        control = group / "cgroup.subtree_control"
        with contextlib.suppress(OSError):
            if "memory" in control.read_text().split() and os.access(group, os.W_OK):
                return 2, group
    for group in v1:
        if os.access(group, os.W_OK):
            return 1, group
    if v1 or v2:
        raise PermissionError("no memory cgroup that this process may divide")
    raise FileNotFoundError("no memory cgroup is mounted")


def _below(point: str, path: str) -> list[Path]:
    """Our group below a mount point; in a cgroup namespace or container the mount point itself is ours."""
    inside = Path(point) / path.lstrip("/")
    return [folder for folder in (inside, Path(point)) if folder.is_dir()][:1]


def _sweep(parent: Path) -> None:
    """Remove empty groups of supervisors that were killed."""
    for path in parent.glob(f"{_PREFIX}*"):
        pid = path.name[len(_PREFIX) :].partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            _remove(path)
