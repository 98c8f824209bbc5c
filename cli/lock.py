"""`warpyard lock`: writes the lock files anew from pyproject.toml; they name packages and hashes, and no index."""

import subprocess
import sys
from pathlib import Path

import typer

from cli.usage import Refused

ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.9"
OPTIONS = (
    *("--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url"),
    *("--no-annotate", "--no-header", "--quiet"),
)
FILES = {
    "requirements.lock": ("pyproject.toml",),
    "requirements-dev.lock": ("pyproject.toml", "--group", "dev"),
    "requirements-gpu.lock": ("pyproject.toml", "--extra", "gpu", "--constraint", "requirements-dev.lock"),
    "requirements-uv.lock": ("-",),
}
"""Lock file -> what it is made of."""


def lock(
    upgrade: bool = typer.Option(False, "--upgrade", help="Take newer versions of what pyproject.toml leaves open."),
) -> None:
    """Pin every package, with hashes, for all platforms and Python 3.11 and later."""
    uv = find_uv()
    for name, sources in FILES.items():
        command = [str(uv), "pip", "compile", *OPTIONS, *(["--upgrade"] if upgrade else []), *sources]
        done = subprocess.run(
            [*command, "--output-file", name],
            cwd=ROOT,
            input=f"{UV}\n",
            text=True,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            raise Refused(f"{name} could not be made", code=1)
        typer.echo(f"{name}: {sum(1 for line in (ROOT / name).open() if '==' in line)} packages")


def find_uv() -> Path:
    """The pinned uv of the start script. Raises Refused where this environment was made by other means."""
    found = sorted((ROOT / ".warpyard").glob("uv-*"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise Refused(
            f"{sys.executable} was not set up by ./warpyard, so there is no uv: start ./warpyard lock itself", code=1
        )
    return found[-1]
