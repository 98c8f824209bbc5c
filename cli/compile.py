"""`warpyard compile`: parameters, resources, occupancy and diagnostics of a source, without a launch."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.source_options import Arch, DefaultDevice, Defines, Entry, FastMath, Language, MaxRegisters, NoFmad, Std

if TYPE_CHECKING:
    from protocol.inspection import InspectReport


def compile(
    file: Annotated[Path, typer.Argument(help="The source, or - for standard input.", show_default=False)],
    block: Annotated[str, typer.Option(help="Threads that occupancy is computed for: 256 or 16,16.")] = "256",
    shared: Annotated[int, typer.Option(help="Dynamic shared memory, bytes a block.", min=0)] = 0,
    entry: Entry = "",
    language: Language = "",
    arch: Arch = "sm_90",
    std: Std = "c++17",
    fast_math: FastMath = False,
    no_fmad: NoFmad = False,
    maxrregcount: MaxRegisters = None,
    default_device: DefaultDevice = False,
    define: Defines = None,
    grid: Annotated[str, typer.Option(help="Blocks that waves are counted for, with --every-gpu: 1024 or 64,64.")] = "",
    every_gpu: Annotated[
        bool, typer.Option("--every-gpu", help="Compile for every known GPU too: would it launch, and how does it fit?")
    ] = False,
    ptx: Annotated[bool, typer.Option("--ptx", help="Print the PTX instead of the report.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON.")] = False,
) -> None:
    """Compile a source and tell what it holds. Exit code 1 where it does not compile."""
    from cli.launch_plan import extents
    from cli.local import inspect, opened
    from cli.source_options import build_request, read_source
    from cli.usage import Refused
    from protocol.launch import dim3
    from protocol.run import OccupancyQuestion

    if ptx and every_gpu:
        raise Refused("--ptx prints one text, of --arch: leave --every-gpu out")
    blocks = dim3(extents(grid, "--grid")) if grid else (1, 1, 1)
    question = OccupancyQuestion(grid=blocks, block=dim3(extents(block, "--block")), dynamic_shared_bytes=shared)
    text, shown = read_source(file)
    request = build_request(
        text,
        shown,
        arch=arch,
        std=std,
        fast_math=fast_math,
        no_fmad=no_fmad,
        maxrregcount=maxrregcount,
        default_device=default_device,
        define=define,
        entry=entry,
        language=language,
    )
    with opened(language=request.source.language) as local:
        report = inspect(local, request, None if ptx else question, every_gpu)
    if as_json:
        typer.echo(report.model_dump_json())
    else:
        show_diagnostics(report, text, shown)
        if report.verdict == "ok" and ptx:
            typer.echo(report.ptx)
        elif report.verdict == "ok":
            _show(report, with_waves=bool(grid))
    raise typer.Exit(0 if report.verdict == "ok" else 1)


def show_diagnostics(report: "InspectReport", text: str, shown: str) -> None:
    """Everything the compiler said, then how it ended where that was not well; on standard error."""
    from cli.terminal import diagnostic_text, errors, plain

    terminal = errors()
    for diagnostic in report.diagnostics:
        terminal.line(diagnostic_text(terminal, diagnostic, text, shown))
    if report.verdict != "ok":
        count = sum(diagnostic.severity == "error" for diagnostic in report.diagnostics)
        message = report.message or f"{count} error{'s' if count != 1 else ''} in {shown}"
        terminal.line(f"{terminal.paint('error', report.verdict)}: {plain(message)}")


def _show(report: "InspectReport", with_waves: bool) -> None:
    from cli.gpus import fit_lines
    from cli.report import milliseconds, occupancy_line, resource_lines
    from cli.terminal import output

    terminal = output()
    occupancies = {item.entry: item.occupancy for item in report.occupancy}
    for entry in report.entries:
        for line in resource_lines(entry):
            terminal.line(line)
        occupancy = occupancies.get(entry.name) or occupancies.get(entry.display)
        if occupancy is not None:
            terminal.line(f"  {occupancy_line(occupancy, with_waves)}")
        for line in fit_lines(terminal, [fit for fit in report.gpus if fit.entry in (entry.name, "")], with_waves):
            terminal.line(line)
    if not report.entries:
        terminal.line("no __global__ function that can be launched")
    cached = " (from the cache)" if report.cached else ""
    terminal.line(f"{report.toolchain} for {report.architecture}: {milliseconds(report.seconds)}{cached}")
