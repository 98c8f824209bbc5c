"""A run as typed, from its options to its exit code: what `run` and `sweep` share."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.usage import Refused, did_you_mean

if TYPE_CHECKING:
    from cli.additions import Additions
    from cli.devices import Chosen
    from cli.local import Local
    from cli.saving import Kept
    from protocol.events import BufferRead, Event
    from protocol.result import RunResult
    from protocol.run import CompileRequest, RunRequest
    from store.examples import Example


@dataclass(frozen=True)
class Options:
    """Of source, compiler and launch, as typed."""

    file: Path | None
    arguments: Sequence[str] = ()
    grid: str | None = None
    block: str | None = None
    shared: int = 0
    cooperative: bool = False
    cluster: str | None = None
    entry: str = ""
    language: str = ""
    arch: str = ""
    std: str = "c++17"
    fast_math: bool = False
    no_fmad: bool = False
    maxrregcount: int | None = None
    default_device: bool = False
    define: Sequence[str] = ()
    device: str = "auto"
    example: str | None = None

    def __post_init__(self) -> None:
        own = (
            self.file,
            self.arguments,
            self.grid,
            self.block,
            self.shared,
            self.cooperative,
            self.cluster,
            self.entry,
        )
        if self.example is not None and any(own):
            raise Refused("--example brings its own source, launch and arguments: leave those out")


@dataclass
class Running:
    """One command's run. `show` gets the result and the request, and is what a command does beside the usual."""

    options: Options
    additions: Additions
    kept: Kept
    as_json: bool
    lint: bool = False
    """Findings about the launches are told before the run."""
    results: list[tuple[RunRequest, RunResult]] = field(default_factory=list)
    buffers: dict[str, tuple[BufferRead, bytes]] = field(default_factory=dict)
    """What was read back, with its bytes."""

    def perform(self) -> int:
        """Compiles, runs and shows; returns the exit code. Raises Refused."""
        from cli.additions import extended
        from cli.devices import resolve
        from cli.local import keep_files, opened

        chosen = resolve(self.options.device)
        if self.options.example is None:
            return self._of_file(chosen)
        ready = chosen_example(self.options.example)
        request = ready.payload.request
        if chosen.gpu is not None:
            request = request.model_copy(update={"architecture": chosen.gpu.architecture})
        request = extended(request, self.additions)
        with opened(chosen.gpu, request.source.language, bool(request.baselines)) as local:
            keep_files(local, ready)
            shown = f"{self.options.example}{Path(request.source.file_name).suffix}"
            return self.run(local, request, shown, chosen.name)

    def _of_file(self, chosen: Chosen) -> int:
        from cli.additions import extended
        from cli.argument_syntax import parse_argument
        from cli.launch_plan import Typed, choose_entry, plan, typed_names
        from cli.local import inspect, load_uploads, opened
        from cli.recognised import (
            chosen_kernel,
            compilation_of,
            is_cupy,
            launch_in,
            launch_of,
            typed_extents,
            with_roles,
        )
        from cli.source_options import read_source
        from protocol.run import compile_request

        options = self.options
        if options.file is None:
            raise Refused("name a source file (or --example ID): warpyard run kernel.cu --arg n=1024 …")
        given = [parse_argument(text) for text in options.arguments]
        text, shown = read_source(options.file)
        script = not options.language and options.file.suffix == ".py" and is_cupy(text)
        compilation = self._compilation(text, shown, chosen)
        entry, grid, block = options.entry, options.grid, options.block
        language = "cuda-c++" if script else compilation.source.language
        with opened(chosen.gpu, language, bool(self.additions.baselines)) as local:
            if script:
                found = chosen_kernel(local, compilation, shown, entry)
                compilation, launch = compilation_of(found, compilation), launch_of(found)
                text, shown, entry = compilation.source.text, f"{shown} ({found.name})", launch.entry
                if found.request.buffers and not given:
                    ready_made = {"architecture": compilation.architecture, "device": chosen.name}
                    request = with_roles(local, found.request.model_copy(update=ready_made))
                    return self.run(local, extended(request, self.additions), shown, chosen.name)
                grid, block = grid or typed_extents(launch.config.grid), block or typed_extents(launch.config.block)
            if compilation.source.language == "numba" and not (given or grid or block or options.shared):
                launched = launch_in(local, compilation, entry)
                if launched is not None:
                    own = ("source", "options", "architecture")
                    update = {name: getattr(compilation, name) for name in own} | {"device": chosen.name}
                    request = with_roles(local, launched.request.model_copy(update=update))
                    return self.run(local, extended(request, self.additions), shown, chosen.name)
            report = inspect(local, compilation)
            if report.verdict != "ok":
                return _show_failed_compile(report, text, shown, self.as_json)
            uploads = load_uploads(local, given)
            typed = Typed(given, entry, grid, block, options.shared, options.cooperative, options.cluster, uploads)
            kernel = choose_entry(report.entries, entry)
            request = plan(compilation, kernel, typed, chosen.name)
            seconds = 0.0 if report.cached else report.seconds
            if not kernel.compiled:
                # Its types are those of the arguments; once compiled for them it tells what it only reads.
                report = inspect(local, compile_request(request))
                if report.verdict != "ok":
                    return _show_failed_compile(report, text, shown, self.as_json)
                seconds += report.seconds
                kernel = next((entry for entry in report.entries if entry.compiled), kernel)
                request = plan(compilation, kernel, typed, chosen.name)
            request = extended(request, self.additions)
            names = typed_names(kernel, typed)
            return self.run(local, request, shown, chosen.name, seconds, names)

    def _compilation(self, text: str, shown: str, chosen: Chosen) -> CompileRequest:
        from cli.source_options import build_request

        options = self.options
        return build_request(
            text,
            shown,
            arch=options.arch or (chosen.gpu.architecture if chosen.gpu else "sm_90"),
            std=options.std,
            fast_math=options.fast_math,
            no_fmad=options.no_fmad,
            maxrregcount=options.maxrregcount,
            default_device=options.default_device,
            define=[*options.define, *self.additions.first_macros(options.define)],
            entry=options.entry,
            language=options.language,
        )

    def run(
        self,
        local: Local,
        request: RunRequest,
        shown: str,
        device: str,
        compiled_in: float = 0.0,
        names: Sequence[tuple[str, str]] = (),
    ) -> int:
        """Runs the request, shows it and returns the exit code."""
        from cli.local import perform
        from cli.report import Live, summary
        from cli.terminal import errors, output
        from protocol.events import Timed

        self.kept.check(request)
        if self.lint:
            from cli.lint import linted, show_findings

            show_findings(linted(local, request), request.source.text, shown)
        out = output()
        live = Live(out, errors(), request, shown, names)
        first: list[Event] = [Timed(stage="compile", seconds=compiled_in)] if compiled_in else []
        with _cancelled_by_keys(local.cancelled):
            result, finished = perform(local, request, device, (lambda event: None) if self.as_json else live, first)
        self.results.append((request, result))
        for read in result.buffers:
            data = local.stores.blobs.get(read.digest)
            if data is not None:
                self.buffers[read.name] = read, bytes(data)
        self.kept.save(result, local.stores.blobs.get)
        if self.as_json:
            typer.echo(as_text(request, result))
        else:
            for line in summary(out, result, finished, local.stores.blobs.get, fresh=bool(first)):
                out.line(line)
        sound = all(check.passed for check in result.checks) and all(found.advice for found in result.findings)
        return 0 if finished.verdict == "ok" and sound else 1


@contextmanager
def _cancelled_by_keys(cancelled: threading.Event) -> Iterator[None]:
    """The first Ctrl+C ends the run, so that what is known of it is shown; a second one ends the command."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def cancel(number: int, frame: object) -> None:
        cancelled.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def as_text(request: RunRequest, result: RunResult) -> str:
    """Both as JSON."""
    whole = {"request": request.model_dump(mode="json"), "result": result.model_dump(mode="json")}
    return json.dumps(whole, ensure_ascii=False)


def write_json(path: Path, request: RunRequest, result: RunResult) -> None:
    """Raises Refused where the file cannot be written."""
    try:
        path.write_text(as_text(request, result) + "\n", encoding="utf-8")
    except OSError as error:
        raise Refused(f"--json {path}: {(error.strerror or str(error)).lower()}") from None


def chosen_example(wanted: str) -> Example:
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


def _show_failed_compile(report: object, text: str, shown: str, as_json: bool) -> int:
    from cli.compile import show_diagnostics
    from protocol.inspection import InspectReport

    assert isinstance(report, InspectReport)
    if as_json:
        typer.echo(report.model_dump_json())
    else:
        show_diagnostics(report, text, shown)
    return 1
