"""What a run keeps beside its events: a compile cache and content-addressed blobs; both as plain folders."""

import contextlib
import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Cache(Protocol):
    """Bytes by key; may forget at any time."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, key: str, data: bytes) -> None: ...


class Blobs(Protocol):
    """Bytes by their SHA-256. `put` raises OSError where they cannot be kept."""

    def get(self, digest: str) -> bytes | None: ...
    def put(self, data: bytes | memoryview) -> str: ...


@dataclass(frozen=True)
class Stores:
    cache: Cache
    blobs: Blobs


class FolderCache:
    """A cache in a folder, one file a key, oldest use first out once `limit_bytes` is passed."""

    def __init__(self, folder: Path, limit_bytes: int = 512 << 20) -> None:
        self._folder = folder
        self._limit = limit_bytes
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> bytes | None:
        path = self._path(key)
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        return data

    def put(self, key: str, data: bytes) -> None:
        """Forgets what the disk does not take."""
        with contextlib.suppress(OSError):
            write_atomically(self._path(key), data)
            self._trim()

    def _path(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode()).hexdigest()

    def _trim(self) -> None:
        files = []
        for entry in os.scandir(self._folder):
            try:
                status = entry.stat()
            except OSError:
                continue
            files.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self._limit:
                break
            Path(path).unlink(missing_ok=True)
            total -= size


class FolderBlobs:
    """Blobs in a folder, two levels by digest; written once and never changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, digest: str) -> bytes | None:
        if not re.fullmatch("[0-9a-f]{64}", digest):
            return None
        try:
            return (self._folder / digest[:2] / digest).read_bytes()
        except OSError:
            return None

    def put(self, data: bytes | memoryview) -> str:
        digest = hashlib.sha256(data).hexdigest()
        path = self._folder / digest[:2] / digest
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, data)
        return digest


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """A reader sees the old file or the whole new one."""
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
