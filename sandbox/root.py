"""A minimal read-only root for the zygote, built in its own mount namespace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sandbox import linux

# Covered by the new root; its sources are opened before. Any folder of the machine will do.
_STAGE = "/tmp"

_FILES = {
    "/etc/passwd": "user:x:1000:1000::/job:/bin/false\n",
    "/etc/group": "user:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\nhosts: files\n",
}
_FOLDERS = ("/tmp", "/proc", "/job")
_KEPT_OPTIONS = {"nosuid": linux.MS_NOSUID, "nodev": linux.MS_NODEV, "noexec": linux.MS_NOEXEC}


def build(readable: Sequence[str], covered: Sequence[str], devices: Sequence[str], proc: bool) -> None:
    """Make a root of `readable` (read-only binds at their own paths) and `devices`, and move into it.

    A folder of `covered`, where it lies inside a readable one, shows empty but for readable paths below it.

    Sources are opened first and bound through their descriptors, so that they may lie below folders that
    only this uid can enter. Needs CAP_SYS_ADMIN in the mount namespace. Raises OSError.
    """
    sources = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in _outermost(readable, covered)]
    sources += [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in devices if Path(path).exists()]
    linux.mount("sandbox", _STAGE, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,nr_inodes=4096,mode=755")
    empty = "size=256k,nr_inodes=256,mode=755"
    covers = []
    for path, fd in sources:
        _bind(path, fd, device=path in devices)
        os.close(fd)
        for folder in covered:
            if folder.startswith(f"{path}/"):
                linux.mount("cover", _STAGE + folder, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, empty)
                covers.append(folder)
    for folder in _FOLDERS:
        Path(_STAGE + folder).mkdir(parents=True, exist_ok=True)
    for path, text in _FILES.items():
        target = Path(_STAGE + path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    if proc:
        linux.mount("proc", f"{_STAGE}/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    linux.pivot_root(_STAGE)
    sealed = linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV
    for folder in (*covers, "/"):
        linux.mount(None, folder, None, sealed)


def _outermost(paths: Sequence[str], covered: Sequence[str]) -> list[str]:
    """Existing paths, outer before inner, without those that show anyway inside another of them."""
    existing = sorted(path for path in dict.fromkeys(paths) if Path(path).exists())

    def shows(path: str, other: str) -> bool:
        hidden = any(path.startswith(f"{cover}/") and cover.startswith(f"{other}/") for cover in covered)
        return path.startswith(f"{other}/") and not hidden

    return [path for path in existing if not any(shows(path, other) for other in existing)]


def _bind(path: str, fd: int, device: bool) -> None:
    target = Path(_STAGE + path)
    source = f"/proc/self/fd/{fd}"
    folder = Path(source).is_dir()
    target.parent.mkdir(parents=True, exist_ok=True)
    if folder:
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    linux.mount(source, str(target), None, linux.MS_BIND | (linux.MS_REC if folder else 0))
    # A user namespace may add restrictions to a mount but not lift those that it came with.
    flags = linux.MS_REMOUNT | linux.MS_BIND | linux.MS_NOSUID | _options_of(str(target))
    flags |= linux.MS_NOEXEC if device else linux.MS_NODEV | linux.MS_RDONLY
    linux.mount(None, str(target), None, flags)


def _options_of(mount_point: str) -> int:
    flags = 0
    written = mount_point.replace("\\", r"\134").replace(" ", r"\040").replace("\t", r"\011")
    for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
        fields = line.split()
        if fields[4] == written:
            flags = sum(_KEPT_OPTIONS.get(option, 0) for option in fields[5].split(","))
    return flags
