"""Result buffers and uploads by their SHA-256: a folder where the disk is shared, else Redis."""

import hashlib
import re
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import unquote, urlsplit

import redis

from store import keys
from store.capped_redis import CappedRedis
from store.connections import connect_blocking
from store.folder import Bytes, CappedFolder, write_whole
from store.settings import Settings

_DIGEST = re.compile("[0-9a-f]{64}")


class StorageFull(Exception):
    """There is no room for another upload that has to be kept for ever."""


class Blobs(Protocol):
    """Content-addressed bytes. `put` may evict others, but never one that was kept."""

    def get(self, digest: str) -> bytes | None: ...
    def view(self, digest: str) -> memoryview | None: ...
    def put(self, data: Bytes) -> str: ...
    def keep(self, digest: str) -> bool: ...
    def check(self) -> None: ...


def open_blobs(settings: Settings) -> Blobs:
    """The store that BLOB_URL names. Raises ValueError for a URL of another kind."""
    url = settings.blobs
    scheme = url.split(":", 1)[0]
    if scheme == "file":
        return FileBlobs(Path(unquote(urlsplit(url).path)), settings.blob_cap_bytes)
    if scheme in ("redis", "rediss", "unix"):
        address = settings.redis if url.rstrip("/") == "redis:" else url
        return RedisBlobs(connect_blocking(address, binary=True), settings.blob_cap_bytes, settings.blob_ttl_seconds)
    raise ValueError(f"BLOB_URL begins with {scheme}: — use file:/a/folder or redis:")


def digest_of(data: Bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class FileBlobs:
    """`passing` is capped; `kept` holds what shares refer to and is never evicted."""

    def __init__(self, root: Path, cap_bytes: int) -> None:
        self._passing = CappedFolder(root / "passing", cap_bytes)
        self._kept = CappedFolder(root / "kept", cap_bytes)
        self._cap = cap_bytes

    def get(self, digest: str) -> bytes | None:
        view = self.view(digest)
        return None if view is None else bytes(view)

    def view(self, digest: str) -> memoryview | None:
        """The blob without copying it."""
        if not _DIGEST.fullmatch(digest):
            return None
        found = self._passing.get(digest)
        return self._kept.get(digest) if found is None else found

    def put(self, data: Bytes) -> str:
        digest = digest_of(data)
        held = self._passing.get(digest)
        if held is None or len(held) != len(data):
            self._passing.put(digest, data)
        return digest

    def keep(self, digest: str) -> bool:
        """Keeps a blob for ever, on disk for certain. False where it is not there; StorageFull."""
        if not _DIGEST.fullmatch(digest):
            return False
        if self._kept.get(digest) is not None:
            return True
        view = self._passing.get(digest)
        if view is None:
            return False
        if sum(size for _, size, _ in self._kept.files()) + len(view) > self._cap:
            raise StorageFull
        write_whole(self._kept.path(digest), view, durable=True)
        return True

    def check(self) -> None:
        """Raises OSError where nothing can be written."""
        probe = self._passing.root / ".probe"
        write_whole(probe, b"")
        probe.unlink(missing_ok=True)


class RedisBlobs:
    """Blobs with a time to live under a cap; kept ones have no time to live and a cap of their own."""

    def __init__(self, client: redis.Redis, cap_bytes: int, ttl_seconds: int) -> None:
        self._client = client
        self._cap = cap_bytes
        self._passing = CappedRedis(client, f"{keys.PREFIX}blob:", cap_bytes, ttl_seconds)
        self._kept = f"{keys.PREFIX}kept:"

    def get(self, digest: str) -> bytes | None:
        if not _DIGEST.fullmatch(digest):
            return None
        data = self._passing.get(digest)
        return cast(bytes | None, self._client.get(self._kept + digest)) if data is None else data

    def view(self, digest: str) -> memoryview | None:
        data = self.get(digest)
        return None if data is None else memoryview(data)

    def put(self, data: Bytes) -> str:
        digest = digest_of(data)
        self._passing.put(digest, data)
        return digest

    def keep(self, digest: str) -> bool:
        """Keeps a blob for ever. False where it is not there; StorageFull."""
        if self._client.exists(self._kept + digest):
            return True
        data = self._passing.get(digest) if _DIGEST.fullmatch(digest) else None
        if data is None:
            return False
        if self._client.incrby(f"{self._kept}total", len(data)) > self._cap:
            self._client.decrby(f"{self._kept}total", len(data))
            raise StorageFull
        self._client.set(self._kept + digest, data)
        return True

    def check(self) -> None:
        self._client.ping()
