"""The images, built by a builder from a minimal Debian and run by a container runtime as docker-compose.yml says."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.images
def test_a_run_goes_through_the_images() -> None:
    done = subprocess.run(
        [ROOT / "deploy" / "try-in-a-clean-root.sh"], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert re.search(r"saxpy: ok in \d+ ms, emulator, isolation strong", done.stdout)
    assert "stopped in order" in done.stdout


def test_it_says_what_it_needs(tmp_path: Path) -> None:
    for name in ("dirname", "id"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    done = subprocess.run(
        ["/bin/sh", ROOT / "deploy" / "try-in-a-clean-root.sh"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 77
    assert "apt-get install -y --no-install-recommends debootstrap buildah runc redis-server" in done.stderr
