"""`warpyard lint`: what looks wrong with a launch, told without running it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.run import Argument
from cli.running import Running
from cli.source_options import (
    Arch,
    Cluster,
    Cooperative,
    DefaultDevice,
    Defines,
    Entry,
    FastMath,
    Language,
    MaxRegisters,
    NoFmad,
    Std,
)

if TYPE_CHECKING:
    from cli.local import Local
    from protocol.inspection import InspectReport
    from protocol.run import RunRequest


def lint(
    file: Annotated[
        Path | None, typer.Argument(help="The source, or - for standard input.", show_default=False)
    ] = None,
    argument: Argument = None,
    grid: Annotated[
        str | None, typer.Option(help="Blocks: 4096 or 64,64 or cover:NAME, as for run.", show_default=False)
    ] = None,
    block: Annotated[str | None, typer.Option(help="Threads: 256 or 16,16, as for run.", show_default=False)] = None,
    shared: Annotated[int, typer.Option(help="Dynamic shared memory, bytes a block.", min=0)] = 0,
    cooperative: Cooperative = False,
    cluster: Cluster = None,
    entry: Entry = "",
    language: Language = "",
    arch: Arch = "sm_90",
    std: Std = "c++17",
    fast_math: FastMath = False,
    no_fmad: NoFmad = False,
    maxrregcount: MaxRegisters = None,
    default_device: DefaultDevice = False,
    define: Defines = None,
    example: Annotated[
        str | None, typer.Option(help="Look at an example instead of a file.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings, with their fixes, as JSON.")] = False,
) -> None:
    """Tell what looks wrong with a launch, before it runs. Exit code 1 where there is an error or a warning."""
    from cli.additions import Additions
    from cli.running import Options
    from cli.saving import save_targets

    options = Options(
        file, argument or (), grid, block, shared, cooperative, cluster, entry, language, arch, std, fast_math, no_fmad,
        maxrregcount, default_device, define or (), "emulator", example,
    )  # fmt: skip
    raise typer.Exit(Linting(options, Additions(), save_targets(None, None), as_json).perform())


class Linting(Running):
    """The same way to a request; in place of the run come the findings."""

    def run(
        self,
        local: "Local",
        request: "RunRequest",
        shown: str,
        device: str,
        compiled_in: float = 0.0,
        names: Sequence[tuple[str, str]] = (),
    ) -> int:
        return _told(linted(local, request), request.source.text, shown, self.as_json)


def linted(local: "Local", request: "RunRequest") -> "InspectReport":
    """The report on a run's source, with the findings about its launches."""
    from protocol.inspection import InspectRequest, LintQuestion
    from protocol.run import compile_request
    from sandbox import inspection

    question = InspectRequest(
        compile=compile_request(request), lint=LintQuestion(buffers=request.buffers, steps=request.steps)
    )
    return inspection.inspect(local.box, question, local.stores, local.cancelled, local.limits)


def show_findings(report: "InspectReport", text: str, shown: str) -> None:
    """Each finding with its line and its fix, on standard error."""
    from cli.terminal import diagnostic_text, errors

    terminal = errors()
    for item in report.lint:
        terminal.line(diagnostic_text(terminal, item, text, shown))
        if item.fix is not None:
            terminal.line(f"  = fix: {item.fix.title}")


def _told(report: "InspectReport", text: str, shown: str, as_json: bool) -> int:
    from cli.compile import show_diagnostics

    wrong = sum(item.severity in ("error", "warning") for item in report.lint)
    if as_json:
        findings = [item.model_dump(mode="json") for item in report.lint]
        typer.echo(json.dumps({"verdict": report.verdict, "findings": findings}, ensure_ascii=False))
    elif report.verdict == "ok":
        show_findings(report, text, shown)
        notes = len(report.lint) - wrong
        counts = [f"{count} {word}{'s' if count != 1 else ''}" for count, word in ((wrong, "warning"), (notes, "note"))]
        typer.echo(f"{shown}: {', '.join(counts)}" if report.lint else f"{shown}: nothing to mend was found")
    if report.verdict != "ok" and not as_json:
        show_diagnostics(report, text, shown)
    return 0 if report.verdict == "ok" and not wrong else 1
