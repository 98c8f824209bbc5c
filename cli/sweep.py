"""`warpyard sweep`: a launch tried with many block shapes and macros, in one job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.run import Argument, EstimateOn, Reference, RunArch, Tolerance
from cli.source_options import DefaultDevice, Defines, Entry, FastMath, Language, MaxRegisters, NoFmad, Std

if TYPE_CHECKING:
    from protocol.result import RunResult
    from protocol.run import RunRequest

Macros = Annotated[
    list[str] | None,
    typer.Option("--macro", metavar="NAME=A,B,C", help="A macro of the source and the values to try."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        help="Try only cells where this holds, as in 'block_x == TILE and threads <= 512'. Names: block_x, block_y, "
        "block_z, threads, warps, grid_x …, blocks, shared_bytes, macros, scalar arguments, len(buffer)."
    ),
]


def sweep(
    file: Annotated[
        Path | None, typer.Argument(help="The source, or - for standard input.", show_default=False)
    ] = None,
    argument: Argument = None,
    blocks: Annotated[
        str, typer.Option(help="Shapes: pow2, multiples (of 32), 2d, 3d, or a list: 64,128 or 16x16,32x8.")
    ] = "pow2",
    macro: Macros = None,
    where: Where = None,
    grid_of: Annotated[
        str,
        typer.Option(
            help="Blocks as expressions, x;y;z (default: the grid follows the block): 'ceil_div(n, block_x * PER)'.",
            metavar="EXPR",
            show_default=False,
        ),
    ] = "",
    shared_of: Annotated[
        str,
        typer.Option(help="Dynamic shared bytes a block, as in 'threads * 4'.", metavar="EXPR", show_default=False),
    ] = "",
    random: Annotated[
        int | None, typer.Option(help="Try so many cells, drawn by chance.", min=1, max=256, show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the drawing and of the order.", min=0)] = 0,
    grid: Annotated[
        str | None, typer.Option(help="Blocks of the launch that is varied, or cover:NAME.", show_default=False)
    ] = None,
    block: Annotated[str | None, typer.Option(help="Threads of that launch.", show_default=False)] = None,
    shared: Annotated[int, typer.Option(help="Dynamic shared memory of that launch, bytes a block.", min=0)] = 0,
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
    example: Annotated[str | None, typer.Option(help="Vary an example instead of a file.", show_default=False)] = None,
    estimate_on: EstimateOn = "",
    reference: Reference = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    kernel_tuner: Annotated[
        Path | None,
        typer.Option(metavar="FILE.py", help="Also write a script for Kernel Tuner.", show_default=False),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write request and result as JSON; - prints them.", show_default=False),
    ] = None,
) -> None:
    """Try block shapes and macros: GPU times are measured, the emulator's are estimates of a GPU's."""
    from cli.additions import Additions, Sweeping
    from cli.running import Options, Running, write_json
    from cli.saving import save_targets

    options = Options(
        file, argument or (), grid, block, shared, False, None, entry, language, arch, std, fast_math, no_fmad,
        maxrregcount, default_device, define or (), device, example,
    )  # fmt: skip
    typed = Sweeping(blocks, tuple(macro or ()), tuple(where or ()), grid_of, shared_of, random, seed)
    additions = Additions(None, reference, rtol, atol, estimate=True, estimate_on=estimate_on, sweep=typed)
    running = Running(options, additions, save_targets(None, None), str(json) == "-")
    code = running.perform()
    if kernel_tuner is not None and running.results:
        _write_script(kernel_tuner, *running.results[0])
    if json is not None and str(json) != "-" and running.results:
        write_json(json, *running.results[0])
    raise typer.Exit(code)


def _write_script(path: Path, request: "RunRequest", result: "RunResult") -> None:
    from cli.usage import Refused
    from takeaway import NotExportable, export

    entries = result.compiled.entries if result.compiled else ()
    try:
        path.write_text(export(request, entries, "kernel-tuner", file_name=path.name).text, encoding="utf-8")
    except NotExportable as error:
        raise Refused(f"--kernel-tuner: {error}", code=1) from None
    except OSError as error:
        raise Refused(f"--kernel-tuner {path}: {(error.strerror or str(error)).lower()}", code=1) from None
