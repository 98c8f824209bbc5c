"""The commands put together, and how a fault of usage ends."""

import importlib.metadata
import sys
import tomllib
from pathlib import Path

import typer

from cli import attack, bench, compile, conformance, doctor, export, gpus, lint, lock, run, serve, sweep, test
from cli.usage import Refused

ROOT = Path(__file__).resolve().parent.parent

application = typer.Typer(
    name="warpyard",
    help="A web playground for CUDA kernels. Start it with: warpyard serve",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
application.command()(serve.serve)
application.command()(run.run)
application.command()(sweep.sweep)
application.command()(compile.compile)
application.command()(lint.lint)
application.command()(gpus.gpus)
application.command()(export.export)
application.command()(conformance.conformance)
application.command()(attack.attack)
application.command()(doctor.doctor)
application.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(test.test)
application.command()(lock.lock)
application.add_typer(bench.commands, name="bench")


@application.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and end.")) -> None:
    if version:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        compiler = importlib.metadata.version("nvidia-cuda-nvrtc")
        typer.echo(f"warpyard {project['version']} (NVRTC {compiler})")
        raise typer.Exit


def main() -> None:
    """Runs the command that sys.argv names. Bad usage ends with exit code 2 and one clear message."""
    try:
        application(prog_name="warpyard")
    except Refused as refusal:
        typer.echo(f"warpyard: {refusal}", err=True)
        sys.exit(refusal.code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
