"""`warpyard export`: a launch as a program of one file, a CuPy script or CUDA C++ with main()."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cli.run import Argument
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
from cli.usage import Refused

if TYPE_CHECKING:
    from cli.local import Local
    from protocol.kernel import Entry as Kernel
    from protocol.run import CompileRequest, RunRequest


def export(
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
        str | None, typer.Option(help="Export an example instead of a file.", show_default=False)
    ] = None,
    form: Annotated[str, typer.Option("--format", help="cupy: a Python script; cu: CUDA C++ with main().")] = "cupy",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it (default: standard output).", show_default=False),
    ] = None,
) -> None:
    """Write a program that makes the launch without Warpyard. The source is compiled, but nothing runs."""
    from cli.argument_syntax import parse_argument
    from cli.launch_plan import Typed, choose_entry, plan
    from cli.local import keep_files, load_uploads, opened
    from cli.running import chosen_example
    from cli.source_options import build_request, read_source
    from protocol.run import compile_request
    from takeaway import FORMATS

    if form not in FORMATS:
        raise Refused(f"--format {form}: expected {' or '.join(FORMATS)}")
    if (file is None) == (example is None):
        raise Refused("name a source file, or --example ID: warpyard export kernel.cu --arg n=1024 … -o kernel.py")
    with opened() as local:
        if example is not None:
            chosen = chosen_example(example)
            keep_files(local, chosen)
            request = chosen.payload.request
            kernels = _compiled(local, compile_request(request), f"{example}.cu")
            _write(local, request, kernels, form, example, output)
            return
        assert file is not None
        given = [parse_argument(text) for text in argument or ()]
        text, shown = read_source(file)
        compilation = build_request(
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
        kernels = _compiled(local, compilation, shown)
        typed = Typed(given, entry, grid, block, shared, cooperative, cluster, load_uploads(local, given))
        request = plan(compilation, choose_entry(kernels, entry), typed, "auto")
        _write(local, request, kernels, form, "", output)


def _compiled(local: "Local", compilation: "CompileRequest", shown: str) -> "tuple[Kernel, ...]":
    """The kernels of the source; its diagnostics are shown, and exit code 1 follows where it does not compile."""
    from cli.compile import show_diagnostics
    from cli.local import inspect

    report = inspect(local, compilation)
    if report.verdict != "ok":
        show_diagnostics(report, compilation.source.text, shown)
        raise typer.Exit(1)
    return report.entries


def _write(
    local: "Local",
    request: "RunRequest",
    kernels: "tuple[Kernel, ...]",
    form: str,
    title: str,
    output: Path | None,
) -> None:
    """The program, and beside it the .npy files that it reads. Standard output gets the program alone."""
    from takeaway import Format, NotExportable
    from takeaway import export as exported

    try:
        made = exported(request, kernels, cast(Format, form), title, output.name if output else "")
    except NotExportable as error:
        raise Refused(str(error), code=1) from None
    if output is None:
        typer.echo(made.text, nl=False)
        return
    written = [(output, made.text.encode())]
    for name, digest in made.uploads.items():
        data = local.stores.blobs.get(digest)
        assert data is not None, "the file was read a moment ago"
        written.append((output.parent / name, bytes(data)))
    for path, data in written:
        try:
            path.write_bytes(data)
        except OSError as error:
            raise Refused(f"--output {path}: {(error.strerror or str(error)).lower()}", code=1) from None
        typer.echo(f"wrote {path}", err=True)
