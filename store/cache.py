"""The compile cache: what compile children returned, by key; forgotten by least recent use."""

import hashlib
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import structlog

from store import keys
from store.capped_redis import CappedRedis
from store.connections import connect_blocking
from store.folder import Bytes, CappedFolder
from store.settings import Settings

log = structlog.get_logger(__name__)

TTL_SECONDS = 7 * 24 * 3600
_CHECK = hashlib.sha256().digest_size


class Cache(Protocol):
    """Bytes by key; may forget at any time."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, key: str, data: bytes) -> None: ...


def open_cache(settings: Settings) -> Cache:
    """Beside the blobs: in files where they are files, else in Redis."""
    if settings.blobs.startswith("file:"):
        root = Path(unquote(urlsplit(settings.blobs).path)).parent / "compile-cache"
        return FileCache(root, settings.cache_cap_bytes)
    client = connect_blocking(settings.redis, binary=True)
    return RedisCache(client, f"{keys.PREFIX}compiled:", settings.cache_cap_bytes, TTL_SECONDS)


class RedisCache(CappedRedis):
    def put(self, key: str, data: Bytes) -> None:
        """Forgets what Redis does not take."""
        try:
            super().put(key, data)
        except OSError as error:
            log.warning("compilation not cached", error=str(error))


class FileCache:
    """Each file begins with the SHA-256 of the rest, so one that a power cut has torn reads as a miss."""

    def __init__(self, root: Path, cap_bytes: int) -> None:
        self._folder = CappedFolder(root, cap_bytes)

    def get(self, key: str) -> bytes | None:
        found = self._folder.get(key)
        if found is None:
            return None
        data = bytes(found[_CHECK:])
        return data if hashlib.sha256(data).digest() == found[:_CHECK] else None

    def put(self, key: str, data: bytes) -> None:
        """Forgets what the disk does not take."""
        try:
            self._folder.put(key, hashlib.sha256(data).digest() + data)
        except OSError as error:
            log.warning("compilation not cached", error=str(error))
