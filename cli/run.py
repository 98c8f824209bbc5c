"""`warpyard run`: one kernel launch in the terminal, in the same sandbox as on the server and without one."""

from pathlib import Path
from typing import Annotated

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
Baselines = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE.py",
        help="Python that does the same on the processor, timed for comparison: NumPy, Numba, PyTorch. Repeatable.",
    ),
]
Estimated = Annotated[
    bool, typer.Option("--estimate", help="Estimate the time on the GPU that --arch stands for (emulator).")
]
EstimateOn = Annotated[
    str,
    typer.Option(metavar="GPU", help="The same for a GPU that `warpyard gpus` knows.", show_default=False),
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
    baseline: Baselines = None,
    twin: Annotated[
        bool, typer.Option("--twin", help="Run on the emulator and on the GPU, and compare the results.")
    ] = False,
    estimate: Estimated = False,
    estimate_on: EstimateOn = "",
    film: FilmOf = None,
    film_every: FilmEvery = None,
    save_film: SaveFilm = None,
    lint: Annotated[
        bool, typer.Option("--lint", help="Tell first what looks wrong with the launch, as warpyard lint does.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the request and the result as JSON.")] = False,
) -> None:
    """Compile a kernel, launch it and show what came out. Exit code 1 where the kernel or its run failed."""
    from cli.additions import Additions
    from cli.running import Options, Running
    from cli.saving import save_targets
    from cli.twin import twin_run

    options = Options(
        file, argument or (), grid, block, shared, cooperative, cluster, entry, language, arch, std, fast_math, no_fmad,
        maxrregcount, default_device, define or (), device, example,
    )  # fmt: skip
    additions = Additions(
        try_sizes,
        reference,
        rtol,
        atol,
        check,
        count,
        film,
        film_every,
        estimate=estimate,
        estimate_on=estimate_on,
        baselines=tuple(baseline or ()),
        twin=twin,
    )
    running = Running(options, additions, save_targets(save, save_film), as_json, lint=lint)
    raise typer.Exit(twin_run(running, rtol or 0.0, atol or 0.0) if twin else running.perform())
