"""NVIDIA's compiler in its volume: whole or not at all, once, and with words where it cannot be had."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import toolchain

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(toolchain, "VOLUME", tmp_path / "volume")
    (tmp_path / "volume").mkdir()
    return tmp_path / "volume"


def planted(text: str) -> None:
    """What pip would have put there."""
    for name in toolchain.names():
        (toolchain.home() / name).mkdir(parents=True)
        (toolchain.home() / name / "METADATA").write_text(text)


def test_links_show_what_the_volume_gets(volume: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    toolchain.link(packages)
    assert {path.name for path in packages.iterdir()} == set(toolchain.names())
    assert "nvidia" in set(toolchain.names())
    assert not any(path.exists() for path in packages.iterdir())
    planted("here")
    assert {(path / "METADATA").read_text() for path in packages.iterdir()} == {"here"}


def test_names_of_metadata_are_those_that_the_installer_gives() -> None:
    site = Path(os.__file__).parent / "site-packages"
    for folder in (site, *(Path(path) for path in sys.path if path.endswith("site-packages"))):
        if (folder / "nvidia").is_dir():
            missing = [name for name in toolchain.names() if not (folder / name).is_dir()]
            assert missing == []
            return
    pytest.fail("the compiler is installed nowhere")


def test_what_is_there_is_not_installed_again(volume: Path) -> None:
    planted("here")
    said: list[str] = []
    toolchain.install(said.append)
    assert said == []
    assert not (volume / ".lock").exists()


def test_a_volume_that_cannot_be_written_is_told_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "VOLUME", tmp_path / "absent")
    with pytest.raises(toolchain.ToolchainMissing, match="docker compose run --rm toolchain"):
        toolchain.install(lambda text: None)


def test_a_failed_download_leaves_nothing_and_says_what_to_do(volume: Path, tmp_path: Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))},
        "TOOLCHAIN": str(volume),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
    }
    done = subprocess.run(
        [sys.executable, ROOT / "deploy" / "container.py", "toolchain"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "accept NVIDIA's licence" in done.stderr
    assert "PIP_INDEX_URL" in done.stderr
    assert [path.name for path in volume.iterdir()] == [".lock"]


def test_a_wrong_hash_is_refused(volume: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel of the right name with other content, from an index of one file."""
    wheel = tmp_path / "nvidia_cuda_crt-13.0.88-py3-none-any.whl"
    wheel.write_bytes(b"PK\x05\x06" + bytes(18))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    block = toolchain.entries(toolchain.wanted())["nvidia-cuda-crt"]
    monkeypatch.setattr(toolchain, "wanted", lambda: block)
    with pytest.raises(toolchain.ToolchainMissing, match="could not be installed"):
        toolchain.install(lambda text: None)
    assert not toolchain.home().exists()


def test_an_unknown_work_is_named() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "deploy" / "container.py", "wörker"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "known are app, worker, toolchain, health" in done.stderr
