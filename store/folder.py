"""A folder of files by key with a cap on their sizes; the least recently used go first."""

import hashlib
import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

Bytes = bytes | bytearray | memoryview


class CappedFolder:
    """Several processes may share the folder: a file appears whole or not at all, and a lost one reads as None."""

    def __init__(self, root: Path, cap_bytes: int) -> None:
        self.root = root
        self._cap = cap_bytes
        self._written = cap_bytes
        self._lock = threading.Lock()
        root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def path(self, key: str) -> Path:
        """Where a key lies; keys are hashed by the caller or here, so none can leave the folder."""
        name = key if len(key) == 64 and key.isalnum() else hashlib.sha256(key.encode()).hexdigest()
        return self.root / name[:2] / name

    def get(self, key: str) -> memoryview | None:
        """The file, mapped and read-only; counts as a use."""
        path = self.path(key)
        try:
            with path.open("rb") as file:
                os.utime(file.fileno())
                if os.fstat(file.fileno()).st_size == 0:
                    return memoryview(b"")
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError:
            return None

    def put(self, key: str, data: Bytes) -> None:
        path = self.path(key)
        write_whole(path, data)
        with self._lock:
            self._written += len(data)
            due = self._written > self._cap // 16
            if due:
                self._written = 0
        if due:
            self.evict()

    def evict(self) -> int:
        """Deletes the files used longest ago until nine tenths of the cap are kept; answers the bytes kept."""
        files = sorted(self.files())
        total = sum(size for _, size, _ in files)
        if total <= self._cap:
            return total
        for _, size, path in files:
            if total <= self._cap * 9 // 10:
                break
            with suppress(OSError):
                path.unlink()
            total -= size
        return total

    def files(self) -> Iterator[tuple[float, int, Path]]:
        for folder in self.root.iterdir():
            if not folder.is_dir():
                continue
            for path in folder.iterdir():
                with suppress(OSError):
                    status = path.stat()
                    yield status.st_mtime, status.st_size, path


def write_whole(path: Path, data: Bytes, durable: bool = False) -> None:
    """A reader sees the old file or the whole new one; `durable` waits until the disk has it.

    What a run leaves can be made again, so a power cut may cost it; readers compare sizes or digests.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if durable:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
