"""`warpyard attack`: plays a folder of attacks against the sandbox and the service, and says which were held."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from cli.attacks.corpus import Attack

Play = Callable[["Attack"], str]
_NOT_OFFERED = "whole programs are no language yet"
_FLOWS_NEED = {"RUNS_PER_SECOND": "2", "RUNS_BURST": "30"}


def attack(
    folder: Annotated[Path, typer.Argument(help="Holds attacks.tsv and the files that it names.")],
    mode: Annotated[Literal["strong", "weak"], typer.Option(help="The sandbox's mode.")] = "strong",
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write counts and cases there.", show_default=False)
    ] = None,
    only: Annotated[str, typer.Option(help="Only attacks whose id holds this text.", show_default=False)] = "",
) -> None:
    """Attack the sandbox and the API with canaries planted around them. Exit code 1 where anything gets through.

    The attacks reach nothing but this machine's loopback. Nothing is run outside the sandbox.
    """
    from cli.attacks.corpus import GotThrough, load
    from cli.usage import Refused

    report_file = None if json_file is None else json_file.absolute()
    if report_file is not None and not report_file.parent.is_dir():
        raise Refused(f"--json {json_file}: {report_file.parent} is no folder")
    attacks = [row for row in load(folder.absolute()) if only in row.id]
    if not attacks:
        raise Refused(f"--only {only}: no attack of {folder} is called so")
    cases: dict[str, dict[str, object]] = {}
    left_out: dict[str, str] = {}
    for chosen, players in ((("py", "cu"), _sandboxed), (("request",), _served)):
        rows = [row for row in attacks if row.job in chosen]
        if not rows:
            continue
        with players(rows, mode) as play:
            for row in rows:
                try:
                    cases[row.id] = {"held": True, "verdict": play(row), "why": ""}
                except GotThrough as breach:
                    cases[row.id] = {"held": False, "verdict": "", "why": str(breach)}
                words = "held" if cases[row.id]["held"] else "GOT THROUGH"
                typer.echo(f"{words:12}{row.id:24}{cases[row.id]['verdict']}{cases[row.id]['why']}".rstrip())
    for row in attacks:
        if row.job == "prog":
            left_out[row.id] = _NOT_OFFERED
            typer.echo(f"{'not run':12}{row.id:24}{_NOT_OFFERED}")
    held = sum(case["held"] is True for case in cases.values())
    if report_file is not None:
        report = {"mode": mode, "held": held, "of": len(cases), "cases": cases, "not_run": left_out}
        report_file.write_text(json.dumps(report, indent=1) + "\n")
    typer.echo(f"{held} of {len(cases)} held in {mode} mode, {len(left_out)} not run")
    raise typer.Exit(0 if held == len(cases) else 1)


@contextmanager
def _sandboxed(attacks: Sequence["Attack"], mode: Literal["strong", "weak"]) -> Iterator[Play]:
    from cli.attacks import kernels, python
    from cli.attacks.planted import plant
    from cli.usage import Refused
    from sandbox.launcher import Sandbox, SandboxUnavailable

    # One folder for what is planted, which must stay free of anything else, and one for the compile cache.
    with tempfile.TemporaryDirectory() as worker, tempfile.TemporaryDirectory() as cache, plant(Path(worker)) as here:
        try:
            box = Sandbox(mode, profiles=("python", "compile", "launch", "reference"))
        except SandboxUnavailable as error:
            raise Refused(
                f"{mode} mode is not to be had on this machine: {error}\nAsk: warpyard doctor", code=1
            ) from None
        with box, python.beside(box) as sibling:

            def play(row: "Attack") -> str:
                if row.job == "py":
                    return python.play(row, box, sibling, here)
                return kernels.play(row, box, here, Path(cache))

            yield play


@contextmanager
def _served(attacks: Sequence["Attack"], mode: Literal["strong", "weak"]) -> Iterator[Play]:
    """One service for requests, and one with the limits of strangers for each flood. The worker chooses its mode."""
    from cli.attacks import requests
    from cli.served import GENEROUS, served

    with (
        tempfile.TemporaryDirectory(prefix="wy-", dir="/tmp") as first,
        served(Path(first), {**GENEROUS, "RUN_WALL_SECONDS": "10"}) as (port, _),
    ):

        def play(row: "Attack") -> str:
            if row.id in requests.FLOWS:
                with (
                    tempfile.TemporaryDirectory(prefix="wy-", dir="/tmp") as own,
                    served(Path(own), _FLOWS_NEED) as (other, _),
                ):
                    return requests.play(row, other)
            return requests.play(row, port)

        yield play
