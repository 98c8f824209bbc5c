"""Settings: URLs, socket path, hosts."""

import os
from pathlib import Path
from typing import Any

import pytest

from store.settings import MAX_SOCKET_PATH, Settings, shown


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("WARPYARD_") or name.endswith("_URL")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("given", "asynchronous", "blocking"),
    [
        ("", "sqlite+aiosqlite:////d/warpyard.db", "sqlite:////d/warpyard.db"),
        ("sqlite:////x/y.db", "sqlite+aiosqlite:////x/y.db", "sqlite:////x/y.db"),
        ("postgres://u:p@h/d", "postgresql+asyncpg://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql://u:p@h/d", "postgresql+asyncpg://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql+psycopg2://h/d", "postgresql+asyncpg://h/d", "postgresql+psycopg://h/d"),
    ],
)
def test_database_urls(given: str, asynchronous: str, blocking: str) -> None:
    settings = Settings(data_dir=Path("/d"), database_url=given)
    assert (settings.database, settings.database_blocking) == (asynchronous, blocking)


def test_another_database_is_refused() -> None:
    with pytest.raises(ValueError, match="DATABASE_URL begins with mysql: use postgresql:// or sqlite:///"):
        _ = Settings(database_url="mysql://h/d").database


@pytest.mark.parametrize(
    ("given", "redis", "broker"),
    [
        ("", "unix:///d/valkey.sock", "redis+socket:///d/valkey.sock?virtual_host=0"),
        ("unix:///r.sock?db=3", "unix:///r.sock?db=3", "redis+socket:///r.sock?virtual_host=3"),
        ("rediss://:p@h:6380/1", "rediss://:p@h:6380/1", "rediss://:p@h:6380/1"),
    ],
)
def test_redis_urls(given: str, redis: str, broker: str) -> None:
    settings = Settings(data_dir=Path("/d"), redis_url=given)
    assert (settings.redis, settings.broker) == (redis, broker)


def test_a_long_socket_path_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    deep = tmp_path / ("x" * 100)
    first, second = Settings(data_dir=deep).socket_path, Settings(data_dir=deep / "y").socket_path
    assert first != second
    assert first.parent == Path("/run/user/7")
    assert Settings(data_dir=deep).socket_path == first
    assert len(os.fsencode(first)) <= MAX_SOCKET_PATH


@pytest.mark.parametrize(
    ("environment", "field", "value"),
    [
        ({"REDIS_URL": "redis://a"}, "redis_url", "redis://a"),
        ({"REDIS_URL": "redis://a", "WARPYARD_REDIS_URL": "redis://b"}, "redis_url", "redis://b"),
        ({"DATABASE_URL": "postgresql://a/b"}, "database_url", "postgresql://a/b"),
        ({"BLOB_URL": "redis:"}, "blobs", "redis:"),
        ({"WARPYARD_ALLOWED_HOSTS": "Play.Example.org, b"}, "allowed_hosts", ("play.example.org", "b")),
        ({"WARPYARD_QUEUE_CAP": "7"}, "queue_cap", 7),
        ({"XDG_DATA_HOME": "/xdg"}, "data_dir", Path("/xdg/warpyard")),
        ({"WARPYARD_DATA_DIR": "/data"}, "data_dir", Path("/data")),
    ],
)
def test_the_environment(environment: dict[str, str], field: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert getattr(Settings(), field) == value


@pytest.mark.parametrize("name", ["QUEUE_CAP", "LEASE_SECONDS", "MAX_BODY_BYTES"])
def test_a_limit_is_positive(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"WARPYARD_{name}", "0")
    with pytest.raises(ValueError, match=name.lower()):
        Settings()


def test_the_data_folder_is_private(tmp_path: Path) -> None:
    Settings(data_dir=tmp_path / "a" / "b").prepare()
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_password_is_not_shown() -> None:
    assert shown("redis://user:secret@host:1/2") == "redis://user:***@host:1/2"
    assert shown("unix:///a") == "unix:///a"
