"""Bad input on the command line: exit code and words on standard error; and nothing is left half-done."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.bad_input.cases import COMMANDS, GOOD, LAUNCH, Command
from tests.bad_input.files import bad_array
from tests.bad_input.test_api_disturbed import full_disk
from tests.service.harness import ROOT

LIMITS = {"WARPYARD_RUN_WALL_SECONDS": "2", "WARPYARD_COMPILE_WALL_SECONDS": "5"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def warpyard(folder: Path, data: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Calls `warpyard …` in the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WARPYARD_")}
    environment = {**kept, **LIMITS, "WARPYARD_DATA_DIR": str(data), "PYTHONPATH": str(ROOT), **more}
    return subprocess.run(
        [sys.executable, "-P", "-m", "cli", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("case", COMMANDS, ids=lambda case: f"{case.item} {case.arguments[:40]} {case.file}")
def test_a_command(tmp_path: Path, data: Path, case: Command) -> None:
    (tmp_path / "bad.cu").write_text(case.source)
    if case.file:
        (tmp_path / "a.npy").write_bytes(bad_array(case.file))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = warpyard(tmp_path, data, "run", "bad.cu", *case.arguments.split())
    # A limit is told where the result is told: on standard output.
    assert re.search(case.words, done.stderr + done.stdout), done
    assert done.returncode == case.code, done
    assert "Traceback" not in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_disk_is_full(tmp_path: Path, data: Path) -> None:
    (tmp_path / "good.cu").write_text(GOOD)
    target = tmp_path / "target"
    arguments = ("run", "good.cu", *LAUNCH.replace("[32]", "[65536]").split(), "--save", "a=target/a.npy")
    with full_disk(target, "64k"):
        (target / "a.npy").write_bytes(b"what was there before")
        done = warpyard(tmp_path, data, *arguments)
        assert (done.returncode, done.stderr) == (
            1,
            "warpyard: --save a: target/a.npy: no space left on device\n",
        )
        assert [path.name for path in target.iterdir()] == ["a.npy"]
        assert (target / "a.npy").read_bytes() == b"what was there before"
    done = warpyard(tmp_path, data, *arguments)
    assert done.returncode == 0, done.stderr
    assert np.load(target / "a.npy").shape == (65536,)
    with full_disk(tmp_path / "full", "4k"):
        done = warpyard(tmp_path, tmp_path / "full", "run", "good.cu", *LAUNCH.split())
        assert (done.returncode, done.stderr) == (0, "")


def test_serve_says_that_the_broker_is_away(tmp_path: Path) -> None:
    for url in ("redis://127.0.0.1:1/0", f"unix://{tmp_path}/none.sock"):
        done = warpyard(tmp_path, tmp_path / "data", "serve", "--port", "0", REDIS_URL=url)
        assert done.returncode == 1
        assert re.fullmatch(rf"warpyard: REDIS_URL {re.escape(url)} does not answer: .*\n", done.stderr), done
