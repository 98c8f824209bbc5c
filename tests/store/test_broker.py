"""The broker is the one of our settings."""

from pathlib import Path

import pytest

from store.broker import open_celery
from store.settings import Settings


@pytest.mark.parametrize("name", ["CELERY_BROKER_URL", "CELERY_BROKER_READ_URL", "CELERY_BROKER_WRITE_URL"])
def test_another_projects_broker_in_the_environment_is_not_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "redis://elsewhere.invalid:6379/3")
    settings = Settings(data_dir=tmp_path, redis_url="redis://here.invalid:6379/0")
    celery = open_celery(settings)
    for connection in (celery.connection_for_read(), celery.connection_for_write()):
        assert connection.hostname == "here.invalid"
