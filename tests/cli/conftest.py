"""The command line as a user calls it: in a process, in a folder of its own, with a data folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commandline import ROOT, SAXPY, Warpyard


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def warpyard(tmp_path: Path, data_folder: Path) -> Warpyard:
    """Runs `warpyard …` in `tmp_path`, which holds saxpy.cu."""
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    environment = {**os.environ, "WARPYARD_DATA_DIR": str(data_folder), "PYTHONPATH": str(ROOT)}

    def call(*arguments: str, given: str | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-P", "-m", "cli", *arguments],
            cwd=tmp_path,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call
