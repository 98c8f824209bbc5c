"""`warpyard bench`: figures of this machine, each set measured in one run; and how good the estimate is."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer(help="Measure this machine.", no_args_is_help=True, rich_markup_mode=None)
Rounds = Annotated[int, typer.Option(help="How often each thing is measured.", min=3, max=1000)]


@commands.command()
def service(rounds: Rounds = 50) -> None:
    """From a start of the server to its page, and from a submitted run to its end, split by stage."""
    from cli.bench_service import measure

    show(measure(rounds))


@commands.command()
def load(
    workers: Annotated[list[int] | None, typer.Option(help="Runs at a time; may be repeated; 2 and 4.", min=1)] = None,
    sessions: Annotated[int, typer.Option(help="Browsers that press Run once.", min=1, max=400)] = 200,
    within: Annotated[float, typer.Option(help="Seconds in which they do.", min=1, max=600)] = 60,
    streams: Annotated[int, typer.Option(help="Readers of events at once.", min=1, max=1000)] = 800,
    posts: Annotated[int, typer.Option(help="Runs sent as fast as they are taken.", min=10, max=50_000)] = 3000,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures here.")] = None,
) -> None:
    """A class of one address on a server of its own, with default limits; event streams; runs accepted a second."""
    from cli import bench_load, bench_streams

    figures = bench_load.curve(workers or (2, 4), sessions, within, lambda line: typer.echo(line, err=True))
    show(bench_load.table(figures))
    service = bench_streams.measure(streams, posts, 10)
    show(bench_streams.table(service))
    if json_file is not None:
        json_file.write_text(json.dumps({"load": figures, **service}, indent=1) + "\n", encoding="utf-8")


@commands.command()
def sandbox(rounds: Rounds = 50) -> None:
    """How long the wall takes to open, and a job behind it to start, compile and launch."""
    from cli.bench_sandbox import measure

    show(measure(rounds))


@commands.command()
def page(
    rounds: Annotated[int, typer.Option(help="How often each thing is measured.", min=1, max=100)] = 5,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write every value there.", show_default=False)
    ] = None,
) -> None:
    """From a visit to the page to the result of a first run, in Chromium; and what the page sends."""
    from cli.bench_page import as_data, measure, table

    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise typer.BadParameter(f"{json_file.parent} is no folder", param_hint="--json")
    figures = measure(rounds)
    if json_file is not None:
        json_file.write_text(json.dumps(as_data(figures), indent=1) + "\n", encoding="utf-8")
    show(table(figures))


@commands.command()
def emulator(
    kernels: Annotated[list[str] | None, typer.Argument(help="Kernels to measure; all where none is named.")] = None,
    rounds: Rounds = 5,
    processors: Annotated[int, typer.Option(help="Processors to run blocks on.", min=1, max=64)] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="One round of everything and no counting, within a minute.")
    ] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures here.")] = None,
) -> None:
    """Kernels on the emulator beside C++ (g++ -O3, one thread), NumPy and Numba's simulator; and its latencies."""
    from cli.bench_emulator import measure, table
    from cli.bench_latency import table as latencies

    results = measure(1 if quick else rounds, processors, kernels or (), lambda line: typer.echo(line, err=True))
    show(table(results))
    if results["latency"]:
        show(latencies(results["latency"]))
    typer.echo(f"memcpy {results['memcpy_gigabytes_per_second']:.1f} GB/s; processors {results['processors']}")
    if json_file is not None:
        json_file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


@commands.command()
def estimate(
    left_out: Annotated[
        bool, typer.Option("--left-out", help="Judge each kernel by constants fitted on the others; takes seconds.")
    ] = False,
    recount: Annotated[
        bool, typer.Option("--recount", help="Profile every launch anew on the emulator; takes half a minute.")
    ] = False,
) -> None:
    """The estimate of GPU times beside 235 launches that an H200 was timed on."""
    from benchmarks.estimate.judging import figures
    from cli.bench_estimate import judged, summary, table

    items = judged(recount, left_out)
    show(table(items))
    for line in summary(figures(items), left_out):
        typer.echo(line)


def show(rows: Iterable[Sequence[str]]) -> None:
    """Rows as columns, the first left-aligned."""
    table = [tuple(row) for row in rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        typer.echo("  ".join(cells).rstrip())


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * len(ordered) * 1000) // 1000) - 1))]


def spread(name: str, seconds: Sequence[float]) -> tuple[str, str, str, str]:
    """name, p50, p95 and the number of values; times in ms."""
    if not seconds:
        return name, "–", "–", "0"
    p50, p95 = (f"{percentile(seconds, share) * 1000:.2f} ms" for share in (0.5, 0.95))
    return name, p50, p95, str(len(seconds))
