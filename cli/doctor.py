"""`warpyard doctor`: what works on this machine, and what to do about what does not."""

import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

State = Literal["ok", "note", "missing"]

KERNEL = """__global__ void doctor(int *out) { out[threadIdx.x] = threadIdx.x * 3 + blockDim.x; }
"""

NUMBA_KERNEL = "from numba import cuda\n\n@cuda.jit('void(int32[:])')\ndef doctor(out):\n    out[cuda.grid(1)] = 1\n"


@dataclass(frozen=True)
class Finding:
    """`missing` says that the main job, running a kernel, cannot work."""

    state: State
    what: str
    detail: str
    remedy: str = ""


def doctor(
    data: Annotated[Path | None, typer.Option(help="The data folder that serve was given.", show_default=False)] = None,
) -> None:
    """Look at everything that Warpyard needs. Exit code 1 where kernels cannot be run here."""
    if data is not None:
        os.environ["WARPYARD_DATA_DIR"] = str(data.absolute())
    marks = {"ok": "ok     ", "note": "note   ", "missing": "MISSING"}
    findings: list[Finding] = []
    for check in CHECKS:
        for finding in check():
            findings.append(finding)
            typer.echo(f"{marks[finding.state]}  {finding.what:10} {finding.detail}")
            if finding.remedy:
                typer.echo(f"{'':21}→ {finding.remedy}")
    missing = [finding.what for finding in findings if finding.state == "missing"]
    typer.echo(f"Kernels cannot be run here: {', '.join(missing)}." if missing else "Kernels can be run here.")
    raise typer.Exit(1 if missing else 0)


def _python() -> list[Finding]:
    version = platform.python_version()
    detail = f"{version} ({sys.executable}) on {platform.system()} {platform.machine()}"
    if sys.version_info[:2] in ((3, 11), (3, 12), (3, 13), (3, 14)):
        return [Finding("ok", "Python", detail)]
    return [Finding("missing", "Python", detail, "start ./warpyard with Python 3.11 to 3.14")]


def _kernel() -> list[Finding]:
    """Isolation, compiler and emulator by what counts: one kernel compiled and run behind the wall."""
    from cli.local import inspect, opened, perform
    from cli.report import array_of, milliseconds, timed_total
    from cli.usage import Refused
    from protocol.reading import read
    from protocol.run import RunRequest, compile_request

    try:
        with opened() as local:
            report = local.box.report
            isolation = [Finding("ok" if report.mode == "strong" else "note", "isolation", report.mode)]
            isolation += [Finding("note", "", reason) for reason in report.reasons]
            if report.mode == "weak":
                isolation.append(Finding("note", "", "", WEAK))
            request = read(RunRequest, DOCTOR_RUN)
            compiled = inspect(local, compile_request(request))
            if compiled.verdict != "ok":
                said = compiled.message or "; ".join(item.message for item in compiled.diagnostics)
                return [*isolation, Finding("missing", "compiler", f"{compiled.verdict}: {said}", REPAIR)]
            compiler = Finding("ok", "compiler", f"{compiled.toolchain}, {milliseconds(compiled.seconds)}")
            result, finished = perform(local, request, "emulator", lambda event: None)
            data = local.stores.blobs.get(result.buffers[0].digest) if result.buffers else None
            right = data is not None and array_of(result.buffers[0], data).tolist() == EXPECTED
            if finished.verdict != "ok" or not right:
                said = finished.message or "the result is wrong"
                return [*isolation, compiler, Finding("missing", "emulator", f"{finished.verdict}: {said}", REPAIR)]
            ran = milliseconds(timed_total(result.timings, "run"))
            return [*isolation, compiler, Finding("ok", "emulator", f"{result.launches[0].device_name}, ran in {ran}")]
    except Refused as refusal:
        return [Finding("missing", "isolation", str(refusal).split("\n")[0], NO_WALL)]


EXPECTED = [3 * i + 32 for i in range(32)]
WEAK = "strong isolation needs root, or user namespaces that the system allows (docs/isolation.md)"
NO_WALL = "a Linux kernel of 5.13 or later with Landlock, or user namespaces (docs/isolation.md)"
REPAIR = "delete the .venv folder and start ./warpyard again; if that does not help, it is a fault to report"
DOCTOR_RUN = json.dumps(
    {
        "source": {"text": KERNEL},
        "buffers": [{"name": "out", "dtype": "int32", "shape": [32]}],
        "steps": [
            {
                "kind": "launch",
                "config": {"grid": [1], "block": [32]},
                "arguments": [{"kind": "buffer", "buffer": "out"}],
            }
        ],
    }
)


def _numba() -> list[Finding]:
    """Whether kernels in Python can be compiled: one, behind the wall, without a launch."""
    from cli.local import inspect, opened
    from cli.usage import Refused
    from protocol.run import CompileRequest
    from protocol.source import Source
    from sandbox.profiles import compiling_kinds

    if len(compiling_kinds("numba")) < 2:
        return [Finding("note", "Numba", "not installed: kernels in Python cannot be compiled", "it exists for Linux")]
    source = Source(language="numba", text=NUMBA_KERNEL, file_name="doctor.py")
    try:
        with opened(language="numba") as local:
            report = inspect(local, CompileRequest(source=source))
    except Refused as error:
        return [Finding("note", "Numba", str(error))]
    if report.verdict == "ok":
        return [Finding("ok", "Numba", f"{report.toolchain} compiles kernels in Python")]
    detail = report.message or "; ".join(item.message for item in report.diagnostics)
    return [Finding("note", "Numba", f"a kernel in Python does not compile: {detail}")]


def _gpu() -> list[Finding]:
    """The first GPU, by the same kernel that the emulator runs."""
    from cli.local import opened, perform
    from cli.report import array_of, milliseconds, timed_total
    from cli.usage import Refused
    from protocol.reading import read
    from protocol.run import RunRequest
    from sandbox.gpus import NoGpu, find_gpus

    try:
        gpu = find_gpus()[0]
        request = read(RunRequest, DOCTOR_RUN).model_copy(update={"architecture": gpu.architecture})
        what = f"{gpu.name}, {gpu.architecture}, {gpu.sm_count} SMs, a driver for CUDA {gpu.cuda}"
        with opened(gpu) as local:
            result, finished = perform(local, request, gpu.device, lambda event: None)
            data = local.stores.blobs.get(result.buffers[0].digest) if result.buffers else None
            isolation = local.box.report.mode
    except NoGpu as error:
        return [Finding("note", "GPU", f"none: {error}; emulator times are those of the CPU")]
    except Refused as refusal:
        return [Finding("note", "GPU", f"{what}; not used: {str(refusal).splitlines()[0]}")]
    if finished.verdict != "ok" or data is None or array_of(result.buffers[0], data).tolist() != EXPECTED:
        return [Finding("note", "GPU", f"{what}; {finished.verdict}: {finished.message or 'the result is wrong'}")]
    ran = milliseconds(timed_total(result.timings, "run"))
    return [Finding("ok", "GPU", f"{what}; isolation {isolation}; ran in {ran}")]


def _redis() -> list[Finding]:
    from cli import broker
    from cli.usage import Refused
    from store.settings import Settings

    settings = Settings()
    try:
        choice = broker.choose(settings)
        if settings.redis_url:
            broker.check_url(settings)
    except Refused as refusal:
        return [Finding("note", "Redis", str(refusal), "only `serve` needs it")]
    return [Finding("ok", "Redis", choice.description)]


def _database() -> list[Finding]:
    from sqlalchemy import create_engine
    from sqlalchemy.exc import SQLAlchemyError

    from store.settings import Settings, shown

    settings = Settings()
    if not settings.database_url:
        return [Finding("ok", "database", f"SQLite in {settings.data_dir}")]
    where = shown(settings.database_url)
    try:
        engine = create_engine(settings.database_blocking)
        with engine.connect():
            return [Finding("ok", "database", where)]
    except (SQLAlchemyError, ValueError) as error:
        remedy = "look at DATABASE_URL; only `serve` needs it"
        return [Finding("note", "database", f"{where}: {str(error).splitlines()[0]}", remedy)]


def _chromium() -> list[Finding]:
    from cli.test import chromium

    found = chromium()
    if found:
        return [Finding("ok", "Chromium", found)]
    return [Finding("note", "Chromium", "none", "only `test` needs it: apt-get install chromium")]


CHECKS: tuple[Callable[[], list[Finding]], ...] = (_python, _kernel, _numba, _gpu, _redis, _database, _chromium)
