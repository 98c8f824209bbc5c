"""Ids, versions, migrations, the worker registry, logs."""

import asyncio
import io
import json
import logging
import tomllib
from pathlib import Path

import pytest
import redis
import structlog
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect

from protocol.devices import DeviceInfo
from store import migrate
from store.connections import connect
from store.identifiers import base58, is_id, new_id
from store.logs import configure_logs, escape_controls
from store.settings import Settings
from store.version import REVISION, VERSION, newer
from store.workers import (
    NoDevice,
    Worker,
    WrongArchitecture,
    announce,
    live_workers,
    offered,
    resolve,
    withdraw,
)
from tests.service.harness import EMULATOR, ROOT, run_request

GPU = DeviceInfo(id="gpu:h200", kind="gpu", name="NVIDIA H200", architecture="sm_90", isolation="weak")


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "1" * 11), (57, "1" * 10 + "z"), (58, "1" * 9 + "21"), ((1 << 64) - 1, "jpXCZedGfVQ")],
)
def test_base58(number: int, text: str) -> None:
    assert base58(number) == text


def test_ids() -> None:
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(map(is_id, ids))
    assert not any(map(is_id, ["", "1" * 10, "1" * 12, "0" * 11, "l" * 11, "1" * 11 + "\n", "../../../..", "１" * 11]))
    with pytest.raises(ValueError, match="58"):
        base58(58**11)


def test_the_version_is_that_of_the_project() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_migrations(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url="")
    migrate.upgrade(settings)
    migrate.upgrade(settings)
    migrate.check(settings)
    configuration = migrate.configuration(settings)
    assert ScriptDirectory.from_config(configuration).get_current_head() == REVISION
    command.downgrade(configuration, "base")
    engine = create_engine(settings.database_blocking)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()
    migrate.upgrade(settings)


def test_live_workers(client: redis.Redis, settings: Settings) -> None:
    def live() -> list[tuple[str, str]]:
        async def ask() -> list[tuple[str, str]]:
            connection = connect(settings.redis)
            try:
                return sorted((worker.name, worker.refuses) for worker in await live_workers(connection))
            finally:
                await connection.aclose()

        return asyncio.run(ask())

    assert live() == []
    announce(client, Worker(name="a", queues=("emulator",)), 60)
    announce(client, Worker(name="b", queues=("compile",), version="0.0.9"), 60)
    announce(client, Worker(name="c", queues=("compile",)), 60)
    client.set("warpyard:worker:c", '{"name":"c","of":"another version"}')
    rest = f"and this service of version {VERSION}: it gets no runs until both are of one release."
    others = [("b", f"The worker b is of version 0.0.9 {rest}"), ("c", f"The worker c is of another version {rest}")]
    assert live() == [("a", ""), *others]
    withdraw(client, "a")
    assert live() == others


@pytest.mark.parametrize(
    ("release", "later"), [("", False), (VERSION, False), ("0.0.99", False), (f"{VERSION}.1", True), ("10.0.0", True)]
)
def test_a_later_release_is_known(release: str, later: bool) -> None:
    assert newer(release) is later


WORKERS = (
    Worker(name="a", queues=("emulator",), devices=(EMULATOR,), slots=2),
    Worker(name="b", queues=("emulator",), devices=(EMULATOR,)),
    Worker(name="c", queues=("gpu:h200",), devices=(GPU,)),
    Worker(name="d", queues=("emulator",), devices=(EMULATOR,), refuses="no sandbox"),
)


def test_devices_are_summed_up() -> None:
    assert [(device.id, device.workers) for device in offered(WORKERS)] == [("emulator", 3), ("gpu:h200", 1)]


@pytest.mark.parametrize(
    ("wanted", "architecture", "workers", "device"),
    [
        ("auto", "sm_90", WORKERS, "emulator"),
        ("auto", "sm_90", WORKERS[2:3], "gpu:h200"),
        ("emulator", "sm_90", WORKERS, "emulator"),
        ("gpu", "sm_90", WORKERS, "gpu:h200"),
        ("gpu:h200", "sm_90", WORKERS, "gpu:h200"),
        ("auto", "sm_80", WORKERS[2:3], "the kernel is compiled for sm_80, and NVIDIA H200 is sm_90"),
        ("gpu:b200", "sm_90", WORKERS, "No worker offers gpu:b200 now; there is emulator, gpu:h200."),
        ("gpu", "sm_90", WORKERS[:1], "No worker offers gpu now; there is emulator."),
        ("auto", "sm_90", WORKERS[3:], "No worker takes runs: no sandbox"),
        ("auto", "sm_90", (), "No worker is running."),
    ],
)
def test_a_device_is_resolved(wanted: str, architecture: str, workers: tuple[Worker, ...], device: str) -> None:
    try:
        answer = resolve(run_request(device=wanted, architecture=architecture), workers)
    except (NoDevice, WrongArchitecture) as error:
        answer = str(error)
    assert answer.startswith(device)


HOSTILE = 'x\r\n2026 [error] fake \x1b[31m\x00 \u202e \ud800 é 漢 "'


def test_controls_are_escaped() -> None:
    event = escape_controls(None, "", {"text": HOSTILE, "nested": {HOSTILE: [HOSTILE]}, "number": 3})
    shown = json.dumps(event, ensure_ascii=False)
    assert shown.isprintable()
    assert "é 漢" in shown
    assert event["number"] == 3


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_log_line_stays_one_line(log_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        configure_logs(Settings.model_validate({"log_format": log_format}), "test")
        stream = io.StringIO()
        root.handlers[0].stream = stream  # type: ignore[attr-defined]
        structlog.get_logger("ours").warning(HOSTILE, value=HOSTILE)
        logging.getLogger("theirs").warning("%s", HOSTILE)
        lines = stream.getvalue().split("\n")
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        structlog.reset_defaults()
        structlog.contextvars.clear_contextvars()
    assert [line.isprintable() for line in lines] == [True, True, True]
    assert lines[2] == ""
    assert all("process" in line for line in lines[:2])
    if log_format == "json":
        assert json.loads(lines[0])["level"] == "warning"
