"""`warpyard serve` from its first line to its last process."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from cli.served import submit
from store.examples import load_examples
from tests.cli.commandline import ROOT

pytestmark = pytest.mark.service


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator["tuple[subprocess.Popen[str], str, int]"]:
    """(process, its first line, the port), ended by the block or else here."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cli", "serve", "--port", "0", "--data", str(folder), *arguments],
        cwd=ROOT,
        env={**os.environ, "WARPYARD_TEST_FOLDER": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", said)
        assert found, said + process.stdout.read()
        yield process, said, int(found[1])
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=30)


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def parts(folder: Path) -> list[int]:
    """Living processes that were started for this folder: its path stands in their environment or command."""
    mark = str(folder).encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "Z":
                continue
            if mark in path.joinpath("environ").read_bytes() or mark in path.joinpath("cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def saxpy() -> dict[str, Any]:
    example = next(example for example in load_examples(ROOT / "examples") if example.id == "saxpy")
    return example.payload.request.model_dump(mode="json")


def test_it_serves_runs_restarts_what_dies_and_leaves_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, _, port):
        assert get(port, "/")[0] == 200
        # The page answers before the workers do; the first run waits for them.
        seconds, stages = submit(port, json.dumps(saxpy()))
        assert stages["run"] <= seconds
        deadline = time.monotonic() + 30
        while set(json.loads(get(port, "/readyz")[1])["checks"].values()) != {"ok"}:
            assert time.monotonic() < deadline
            time.sleep(0.05)

        second = subprocess.run(
            [sys.executable, "-m", "cli", "serve", "--port", "0", "--data", str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert second.returncode == 1
        assert f"another Warpyard (process {process.pid}) uses the data folder {tmp_path}" in second.stderr

        others = set(parts(tmp_path)) - {process.pid}
        api = next(pid for pid in others if b"app\0--fd" in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(api, signal.SIGKILL)
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(2)]
        assert any("api ended (SIGKILL); starting it again now" in line for line in told), told
        assert get(port, "/healthz")[0] == 200, "the socket outlives the process: the request waits, and is answered"
        submit(port, json.dumps(saxpy()))

        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
        assert time.monotonic() - begin <= 5
        assert parts(tmp_path) == []


def test_nothing_outlives_a_killed_supervisor(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "1") as (process, _, _):
        assert len(parts(tmp_path)) > 3
        process.kill()
        process.wait(timeout=10)
        deadline = time.monotonic() + 15
        while parts(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert parts(tmp_path) == []


def test_a_taken_port_is_told_at_once(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "cli", "serve", "--port", str(port), "--data", str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == f"warpyard: --port {port}: cannot listen on 127.0.0.1:{port}: address already in use\n"
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"REDIS_URL": "redis://127.0.0.1:1"}, "REDIS_URL redis://127.0.0.1:1 does not answer"),
        ({"DATABASE_URL": "sqlite:////no/such/folder/db"}, "unable to open database file"),
        ({"DATABASE_URL": "mysql://x"}, "DATABASE_URL begins with mysql: use postgresql:// or sqlite:///"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cli", "serve", "--port", "0", "--data", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert parts(tmp_path) == []


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "cli", "serve", "--port", "0", "--data", str(tmp_path / "file" / "data")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert f"the data folder {tmp_path / 'file' / 'data'}: Not a directory (--data names another)" in done.stderr
