"""Blobs and the compile cache, in files and in Redis: the same rows for both."""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from store.blobs import Blobs, FileBlobs, RedisBlobs, StorageFull, digest_of, open_blobs
from store.cache import Cache, FileCache, open_cache
from store.capped_redis import CappedRedis
from store.connections import connect_blocking
from store.settings import Settings

MakeBlobs = Callable[[int], Blobs]
MakeCache = Callable[[int], Cache]


@pytest.fixture(params=["file", "redis"])
def make_blobs(request: pytest.FixtureRequest, client: redis.Redis, tmp_path: Path) -> MakeBlobs:
    binary = connect_blocking(f"unix://{client.connection_pool.connection_kwargs['path']}", binary=True)
    request.addfinalizer(binary.close)
    return lambda cap: FileBlobs(tmp_path / "b", cap) if request.param == "file" else RedisBlobs(binary, cap, 60)


@pytest.fixture(params=["file", "redis"])
def make_cache(request: pytest.FixtureRequest, client: redis.Redis, tmp_path: Path) -> MakeCache:
    binary = connect_blocking(f"unix://{client.connection_pool.connection_kwargs['path']}", binary=True)
    request.addfinalizer(binary.close)
    return lambda cap: (
        FileCache(tmp_path / "c", cap) if request.param == "file" else CappedRedis(binary, "test:", cap, 60)
    )


@pytest.mark.parametrize("data", [b"", b"\0", b"text", os.urandom(100_000)], ids=["empty", "nul", "text", "random"])
def test_what_is_put_is_got(make_blobs: MakeBlobs, data: bytes) -> None:
    blobs = make_blobs(1 << 20)
    digest = blobs.put(memoryview(data))
    assert digest == hashlib.sha256(data).hexdigest()
    assert blobs.put(data) == digest
    assert blobs.get(digest) == data
    view = blobs.view(digest)
    assert view is not None
    assert bytes(view) == data


@pytest.mark.parametrize("digest", ["0" * 64, "", "../../etc/passwd", "A" * 64, "0" * 63 + "\n"])
def test_what_is_not_there_is_none(make_blobs: MakeBlobs, digest: str) -> None:
    blobs = make_blobs(1 << 20)
    assert blobs.get(digest) is None
    assert blobs.view(digest) is None
    assert blobs.keep(digest) is False


def test_the_least_recently_used_blob_goes_first(make_blobs: MakeBlobs) -> None:
    blobs = make_blobs(40_000)
    first = blobs.put(b"a" * 15_000)
    time.sleep(0.02)
    second = blobs.put(b"b" * 15_000)
    time.sleep(0.02)
    assert blobs.get(first)
    time.sleep(0.02)
    third = blobs.put(b"c" * 15_000)
    kept = {name for name, digest in (("1", first), ("2", second), ("3", third)) if blobs.get(digest) is not None}
    assert "3" in kept
    assert "2" not in kept


def test_a_kept_blob_outlives_the_cap(make_blobs: MakeBlobs) -> None:
    blobs = make_blobs(40_000)
    digest = blobs.put(b"k" * 10_000)
    assert blobs.keep(digest)
    assert blobs.keep(digest)
    for fill in range(20):
        time.sleep(0.002)
        blobs.put(bytes([fill]) * 15_000)
    assert blobs.get(digest) == b"k" * 10_000


def test_kept_blobs_have_a_cap_too(make_blobs: MakeBlobs) -> None:
    blobs = make_blobs(40_000)
    assert blobs.keep(blobs.put(b"1" * 30_000))
    with pytest.raises(StorageFull):
        blobs.keep(blobs.put(b"2" * 30_000))


@pytest.mark.parametrize("key", ["plain", "a:b/../c", "0" * 64, "x" * 500])
def test_the_cache_keeps_by_key(make_cache: MakeCache, key: str) -> None:
    cache = make_cache(1 << 20)
    assert cache.get(key) is None
    cache.put(key, b"one")
    cache.put(key, b"two")
    assert cache.get(key) == b"two"
    assert cache.get(f"{key}2") is None


def test_the_cache_has_a_cap(make_cache: MakeCache) -> None:
    cache = make_cache(50_000)
    for number in range(30):
        cache.put(f"k{number}", bytes(10_000))
        time.sleep(0.002)
    held = [number for number in range(30) if cache.get(f"k{number}") is not None]
    assert 1 <= len(held) <= 6
    assert max(held) == 29


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 200])
def test_a_torn_cache_file_is_a_miss(tmp_path: Path, damage: bytes) -> None:
    cache = FileCache(tmp_path, 1 << 20)
    cache.put("key", b"data" * 40)
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    path.write_bytes(damage)
    assert cache.get("key") is None


def test_no_half_written_file_is_left(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path, 1 << 20)
    blobs.put(b"x")
    names = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert names == [digest_of(b"x")]


def test_the_url_decides(settings: Settings, tmp_path: Path) -> None:
    files = settings.model_copy(update={"blob_url": f"file:{tmp_path / 'with space'}"})
    assert isinstance(open_blobs(files), FileBlobs)
    assert isinstance(open_cache(files), FileCache)
    assert (tmp_path / "with space" / "passing").is_dir()
    shared = settings.model_copy(update={"blob_url": "redis:"})
    assert isinstance(open_blobs(shared), RedisBlobs)
    assert isinstance(open_cache(shared), CappedRedis)
    with pytest.raises(ValueError, match="BLOB_URL begins with s3:"):
        open_blobs(settings.model_copy(update={"blob_url": "s3://bucket"}))
