"""`warpyard run`: one kernel launch in the terminal, in the same sandbox as on the server and without one."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.source_options import (
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
from cli.usage import Refused, did_you_mean

if TYPE_CHECKING:
    from cli.local import Local
    from cli.saving import Kept
    from protocol.events import Event
    from protocol.run import RunRequest
    from store.examples import Example

Argument = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        "-a",
        metavar="NAME=…",
        help="n=int32:1024 or n=1024 (scalar) · 'x=float32[1024]:random' (buffer: zeros, full=3, arange, "
        "linspace=0,1, random=SEED, normal=SEED, integers=LOW,HIGH,SEED, formula=…, 1,2,3, uninitialised, "
        "@file.npy; :in, :out or :inout may follow) · p=null · y=&x (the buffer of x)",
    ),
]
RunArch = Annotated[
    str,
    typer.Option(
        "--arch", help="Compute capability (default: the GPU's, else sm_90).", metavar="sm_NN", show_default=False
    ),
]
TrySizes = Annotated[
    str | None,
    typer.Option(
        "--try-sizes", metavar="SHAPES", help="Try block shapes: 32,64,128 or 16x16,32x8 or all.", show_default=False
    ),
]
Reference = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.py",
        help="NumPy code that assigns what a buffer must hold to its name, as in: y = a * x + y",
        show_default=False,
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="Of --reference, as in numpy.allclose (1e-05 and 1e-08).", min=0, show_default=False),
]
FilmOf = Annotated[
    str | None,
    typer.Option("--film", metavar="NAME", help="Film a buffer between the rounds of a repeat.", show_default=False),
]
FilmEvery = Annotated[
    int | None, typer.Option(help="A frame every so many rounds.", metavar="N", min=1, show_default=False)
]
SaveFilm = Annotated[
    str | None,
    typer.Option(metavar="FILE.npy", help="Keep the frames, stacked along a first axis.", show_default=False),
]
Save = Annotated[list[str] | None, typer.Option("--save", metavar="NAME=file.npy", help="Keep a buffer at the end.")]


def run(
    file: Annotated[
        Path | None, typer.Argument(help="The source, or - for standard input.", show_default=False)
    ] = None,
    argument: Argument = None,
    grid: Annotated[
        str | None,
        typer.Option(help="Blocks: 4096 or 64,64 or cover:NAME (default: covers what is written).", show_default=False),
    ] = None,
    block: Annotated[
        str | None, typer.Option(help="Threads: 256 or 16,16 (the default follows the shape).", show_default=False)
    ] = None,
    shared: Annotated[int, typer.Option(help="Dynamic shared memory, bytes a block.", min=0)] = 0,
    cooperative: Cooperative = False,
    cluster: Cluster = None,
    entry: Entry = "",
    language: Language = "",
    arch: RunArch = "",
    std: Std = "c++17",
    fast_math: FastMath = False,
    no_fmad: NoFmad = False,
    maxrregcount: MaxRegisters = None,
    default_device: DefaultDevice = False,
    define: Defines = None,
    device: Annotated[str, typer.Option(help="auto, emulator or gpu.")] = "auto",
    example: Annotated[
        str | None, typer.Option(help="Run an example instead of a file; list shows them.", show_default=False)
    ] = None,
    save: Save = None,
    try_sizes: TrySizes = None,
    reference: Reference = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    check: Annotated[
        bool, typer.Option("--check", help="Look for races, uninitialised reads, missing threads (emulator; slower).")
    ] = False,
    count: Annotated[
        bool, typer.Option("--count", help="Count memory requests, sectors, branches (emulator; slower).")
    ] = False,
    film: FilmOf = None,
    film_every: FilmEvery = None,
    save_film: SaveFilm = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the request and the result as JSON.")] = False,
) -> None:
    """Compile a kernel, launch it and show what came out. Exit code 1 where the kernel or its run failed."""
    from cli.additions import Additions, extended
    from cli.devices import resolve
    from cli.local import keep_files, opened
    from cli.saving import save_targets
    from cli.source_options import build_request, read_source

    additions = Additions(try_sizes, reference, rtol, atol, check, count, film, film_every)
    chosen = resolve(device)
    kept = save_targets(save, save_film)
    if example is not None:
        if file is not None or argument or grid or block or shared or cooperative or cluster or entry:
            raise Refused("--example brings its own source, launch and arguments: leave those out")
        ready = chosen_example(example)
        request = ready.payload.request
        if chosen.gpu is not None:
            request = request.model_copy(update={"architecture": chosen.gpu.architecture})
        request = extended(request, additions)
        with opened(chosen.gpu, request.source.language) as local:
            keep_files(local, ready)
            raise typer.Exit(
                _perform(
                    local, request, f"{example}{Path(request.source.file_name).suffix}", chosen.name, kept, as_json
                )
            )
    if file is None:
        raise Refused("name a source file (or --example ID): warpyard run kernel.cu --arg n=1024 …")

    from cli.argument_syntax import parse_argument
    from cli.recognised import chosen_kernel, compilation_of, is_cupy, launch_in, launch_of, typed_extents, with_roles

    given = [parse_argument(text) for text in argument or ()]
    text, shown = read_source(file)
    script = not language and file.suffix == ".py" and is_cupy(text)
    compilation = build_request(
        text,
        shown,
        arch=arch or (chosen.gpu.architecture if chosen.gpu else "sm_90"),
        std=std,
        fast_math=fast_math,
        no_fmad=no_fmad,
        maxrregcount=maxrregcount,
        default_device=default_device,
        define=define,
        entry=entry,
        language=language,
    )

    from cli.launch_plan import Typed, choose_entry, plan, typed_names
    from cli.local import inspect, load_uploads
    from protocol.run import compile_request

    with opened(chosen.gpu, "cuda-c++" if script else compilation.source.language) as local:
        if script:
            found = chosen_kernel(local, compilation, shown, entry)
            compilation, launch = compilation_of(found, compilation), launch_of(found)
            text, shown, entry = compilation.source.text, f"{shown} ({found.name})", launch.entry
            if found.request.buffers and not given:
                ready_made = {"architecture": compilation.architecture, "device": chosen.name}
                request = extended(with_roles(local, found.request.model_copy(update=ready_made)), additions)
                raise typer.Exit(_perform(local, request, shown, chosen.name, kept, as_json))
            grid, block = grid or typed_extents(launch.config.grid), block or typed_extents(launch.config.block)
        if compilation.source.language == "numba" and not (given or grid or block or shared):
            launched = launch_in(local, compilation, entry)
            if launched is not None:
                request = launched.request.model_copy(
                    update={
                        "source": compilation.source,
                        "options": compilation.options,
                        "architecture": compilation.architecture,
                        "device": chosen.name,
                    }
                )
                request = extended(with_roles(local, request), additions)
                raise typer.Exit(_perform(local, request, shown, chosen.name, kept, as_json))
        report = inspect(local, compilation)
        if report.verdict != "ok":
            raise typer.Exit(_show_failed_compile(report, text, shown, as_json))
        uploads = load_uploads(local, given)
        typed = Typed(given, entry, grid, block, shared, cooperative, cluster, uploads)
        kernel = choose_entry(report.entries, entry)
        request = plan(compilation, kernel, typed, chosen.name)
        seconds = 0.0 if report.cached else report.seconds
        if not kernel.compiled:
            # Its types are those of the arguments; once compiled for them it tells what it only reads.
            report = inspect(local, compile_request(request))
            if report.verdict != "ok":
                raise typer.Exit(_show_failed_compile(report, text, shown, as_json))
            seconds += report.seconds
            kernel = next((entry for entry in report.entries if entry.compiled), kernel)
            request = plan(compilation, kernel, typed, chosen.name)
        request = extended(request, additions)
        names = typed_names(kernel, typed)
        raise typer.Exit(_perform(local, request, shown, chosen.name, kept, as_json, seconds, names))


def chosen_example(wanted: str) -> "Example":
    """An example by its id; `list` shows them all and ends the command. Raises Refused."""
    from cli.local import examples

    known = {item.id: item for item in examples()}
    if wanted == "list":
        for item in known.values():
            typer.echo(f"{item.id:24} {item.summary}")
        raise typer.Exit
    if wanted not in known:
        raise Refused(f"no example is called {wanted}{did_you_mean(wanted, known)} (there are: {', '.join(known)})")
    return known[wanted]


def _perform(
    local: "Local",
    request: "RunRequest",
    shown: str,
    device: str,
    kept: "Kept",
    as_json: bool,
    compiled_in: float = 0.0,
    names: Sequence[tuple[str, str]] = (),
) -> int:
    """Runs the request, shows it and returns the exit code."""
    from cli.local import perform
    from cli.report import Live, summary
    from cli.terminal import errors, output
    from protocol.events import Timed

    kept.check(request)
    out = output()
    live = Live(out, errors(), request, shown, names)
    first: list[Event] = [Timed(stage="compile", seconds=compiled_in)] if compiled_in else []
    result, finished = perform(local, request, device, (lambda event: None) if as_json else live, first)
    kept.save(result, local.stores.blobs.get)
    if as_json:
        whole = {"request": request.model_dump(mode="json"), "result": result.model_dump(mode="json")}
        typer.echo(json.dumps(whole, ensure_ascii=False))
    else:
        for line in summary(out, result, finished, local.stores.blobs.get, fresh=bool(first)):
            out.line(line)
    sound = all(check.passed for check in result.checks) and all(found.advice for found in result.findings)
    return 0 if finished.verdict == "ok" and sound else 1


def _show_failed_compile(report: object, text: str, shown: str, as_json: bool) -> int:
    from cli.compile import show_diagnostics
    from protocol.inspection import InspectReport

    assert isinstance(report, InspectReport)
    if as_json:
        typer.echo(report.model_dump_json())
    else:
        show_diagnostics(report, text, shown)
    return 1
