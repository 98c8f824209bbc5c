"""Which Redis a server takes, and how it is started."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from cli.broker import answers, bundled_binary, check_url, choose, wait_until_it_answers
from cli.usage import Refused
from store.settings import Settings


def executable(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("REDIS_URL", raising=False)
    return Settings(data_dir=tmp_path / "data")


def test_a_url_comes_first_and_its_password_is_not_shown(settings: Settings, tmp_path: Path) -> None:
    executable(tmp_path, "redis-server")
    choice = choose(settings.model_copy(update={"redis_url": "redis://user:secret@example:6379/0"}))
    assert choice.command == ()
    assert "example:6379" in choice.description
    assert "secret" not in choice.description


def test_then_the_one_that_comes_along_then_a_server_on_the_path(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis = executable(tmp_path, "redis-server")
    assert choose(settings).command[0] == str(bundled_binary())
    monkeypatch.setattr("cli.broker.bundled_binary", lambda: None)
    assert choose(settings).command[0] == str(redis)
    valkey = executable(tmp_path, "valkey-server")
    assert choose(settings).command[0] == str(valkey)
    redis.unlink()
    valkey.unlink()
    with pytest.raises(Refused, match="there is no Redis: set REDIS_URL, or install"):
        choose(settings)


def test_a_server_that_ends_is_not_waited_for(settings: Settings) -> None:
    begin = time.monotonic()
    assert not wait_until_it_answers(settings, ended=lambda: True)
    assert time.monotonic() - begin < 5


def test_the_bundled_server_keeps_its_data_and_listens_on_a_private_socket_alone(settings: Settings) -> None:
    settings.prepare()
    command = choose(settings).command
    assert len(os.fsencode(settings.socket_path)) <= 100
    for round in range(2):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                assert wait_until_it_answers(settings, ended=lambda: server.poll() is not None)
                assert settings.socket_path.stat().st_mode & 0o077 == 0
                import redis

                client = redis.Redis.from_url(settings.redis, decode_responses=True)
                assert client.get("kept") == (None if round == 0 else "yes")
                client.set("kept", "yes")
                wanted = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "port": "0"}
                assert {name: client.config_get(name)[name] for name in wanted} == wanted
                client.close()
            finally:
                server.terminate()
        assert not answers(settings.socket_path)


def test_a_url_that_does_not_answer_is_refused(settings: Settings) -> None:
    with pytest.raises(Refused, match=r"REDIS_URL redis://127\.0\.0\.1:1/0 does not answer"):
        check_url(settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"}))
