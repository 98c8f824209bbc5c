"""NVIDIA's compiler in a volume: installed there at the first start, because no image may hold it.

The worker's image holds links into the volume, where the packages would lie. `link` makes them when the image is
built; `ready` asks, and `install` brings the packages that requirements.lock pins, checked by their hashes.
Standard library only: it runs before anything is installed.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from locks import entries, part

VOLUME = Path(os.environ.get("TOOLCHAIN", "/toolchain"))
LOCK = Path(__file__).resolve().parent.parent / "requirements.lock"

ABOUT = """NVIDIA's compiler is not in this image: NVIDIA's licence lets nobody redistribute all of its files.
It comes now from the package index, with pinned hashes, into the volume {volume}; this is done once.
By using it you accept NVIDIA's licence, whose text will be in {licences}"""
FAILED = """The compiler could not be installed, for the reason above. The first start needs the network.
PIP_INDEX_URL names a package mirror, HTTPS_PROXY a proxy. Then start again."""
MISSING = """NVIDIA's compiler is not in the volume {volume}, which cannot be written from here ({reason}).
Install it with: docker compose run --rm toolchain"""


class ToolchainMissing(Exception):
    """The text says why, and what to do."""


def wanted() -> str:
    return part(LOCK.read_text(encoding="utf-8"), "toolchain")


def home() -> Path:
    """The folder in the volume for exactly these packages: releases that pin others keep theirs beside it."""
    return VOLUME / hashlib.sha256(wanted().encode()).hexdigest()[:16]


def names() -> Iterator[str]:
    """What the packages put into a folder of packages: one that they share, and their metadata."""
    yield "nvidia"
    for name, block in entries(wanted()).items():
        version = re.search(r"==([^\s;\\]+)", block)
        assert version is not None, block
        yield f"{name.replace('-', '_')}-{version[1]}.dist-info"


def link(packages: Path) -> None:
    """Lets `packages`, a folder of installed packages, show what will lie in the volume."""
    for name in names():
        (packages / name).symlink_to(home() / name)


def ready() -> bool:
    return all((home() / name).is_dir() for name in names())


def install(say: Callable[[str], None]) -> None:
    """Installs what is missing; several at once wait for each other. Raises ToolchainMissing."""
    if ready():
        return
    try:
        lock = os.open(VOLUME / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ToolchainMissing(MISSING.format(volume=VOLUME, reason=error.strerror)) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready():
            _install(say)
    finally:
        os.close(lock)


def _install(say: Callable[[str], None]) -> None:
    """Whole or not at all: into a folder beside, which then gets its name."""
    begin = time.monotonic()
    licences = home() / next(name for name in names() if name.endswith(".dist-info")) / "licenses"
    say(ABOUT.format(volume=VOLUME, licences=licences))
    work = VOLUME / f"{home().name}.new"
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(home(), ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    (work / "lock").write_text(wanted(), encoding="utf-8")
    command = [
        *(str(Path(sys.base_prefix) / "bin" / "python3"), "-m", "pip", "install"),
        *("--quiet", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "--no-compile"),
        *("--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement", str(work / "lock")),
        *("--target", str(work / "packages")),
    ]
    # Wheels of some hundred megabytes do not fit into a container's small /tmp.
    done = subprocess.run(command, env={**os.environ, "TMPDIR": str(work / "tmp"), "HOME": str(work)}, check=False)
    if done.returncode:
        shutil.rmtree(work, ignore_errors=True)
        raise ToolchainMissing(FAILED)
    (work / "packages").replace(home())
    shutil.rmtree(work, ignore_errors=True)
    size = sum(path.stat().st_size for path in home().rglob("*") if path.is_file())
    say(f"NVIDIA's compiler is ready: {size / 1e6:.0f} MB after {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    link(Path(sys.argv[1]))
