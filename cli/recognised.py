"""A Python script with kernels of CuPy: the one that is meant, as source, options and launch."""

import re
from typing import TYPE_CHECKING

import typer

from cli.usage import Refused, did_you_mean

if TYPE_CHECKING:
    from cli.local import Local
    from protocol.launch import Launch
    from protocol.recognition import RecognisedKernel
    from protocol.run import CompileRequest, RunRequest

_CUPY = re.compile(r"^\s*(?:import|from)\s+cupy\b", re.MULTILINE)
_NUMBA = re.compile(r"^\s*(?:import|from)\s+numba\b", re.MULTILINE)


def is_cupy(text: str) -> bool:
    """Whether a Python text brings kernels of CuPy and none of Numba."""
    return _CUPY.search(text) is not None and _NUMBA.search(text) is None


def chosen_kernel(local: "Local", compilation: "CompileRequest", shown: str, entry: str) -> "RecognisedKernel":
    """The kernel of that name, else the only one. What cannot be read is told; exit code 1 where nothing can."""
    from cli.terminal import diagnostic_text, errors
    from protocol.inspection import InspectRequest
    from sandbox import inspection

    question = InspectRequest(compile=compilation, recognise=True)
    report = inspection.inspect(local.box, question, local.stores, local.cancelled, local.limits)
    terminal = errors()
    for diagnostic in report.diagnostics:
        terminal.line(diagnostic_text(terminal, diagnostic, compilation.source.text, shown))
    kernels = report.recognised.kernels if report.recognised else ()
    if not kernels:
        terminal.line(f"{terminal.paint('error', report.verdict)}: {report.message or f'no kernel in {shown}'}")
        raise typer.Exit(1)
    names = [kernel.name for kernel in kernels]
    if not entry:
        if len(kernels) > 1:
            raise Refused(f"{shown} makes several kernels: choose one with --entry ({', '.join(names)})")
        return kernels[0]
    for kernel in kernels:
        if kernel.name == entry:
            return kernel
    raise Refused(f"no kernel is called {entry}{did_you_mean(entry, names)} (there are: {', '.join(names)})")


def launch_in(local: "Local", compilation: "CompileRequest", entry: str) -> "RecognisedKernel | None":
    """The launch of a Numba script's kernel, where it is written out and no other is meant; None otherwise."""
    from protocol.inspection import InspectRequest
    from sandbox import inspection

    question = InspectRequest(compile=compilation, recognise=True)
    report = inspection.inspect(local.box, question, local.stores, local.cancelled, local.limits)
    kernels = [item for item in (report.recognised.kernels if report.recognised else ()) if item.request.buffers]
    kernels = [item for item in kernels if entry in ("", item.name)]
    return kernels[0] if len(kernels) == 1 else None


def compilation_of(kernel: "RecognisedKernel", asked: "CompileRequest") -> "CompileRequest":
    """Its source and options, for the architecture that was asked for."""
    from protocol.run import compile_request

    return compile_request(kernel.request).model_copy(update={"architecture": asked.architecture})


def launch_of(kernel: "RecognisedKernel") -> "Launch":
    from protocol.launch import Launch

    (step,) = kernel.request.steps
    assert isinstance(step, Launch)
    return step


def with_roles(local: "Local", request: "RunRequest") -> "RunRequest":
    """The request in which a buffer that the kernel only reads is an input; unchanged where it does not compile."""
    from cli.local import inspect
    from protocol.arguments import BufferArgument
    from protocol.launch import Launch
    from protocol.run import compile_request

    report = inspect(local, compile_request(request))
    (step,) = request.steps
    assert isinstance(step, Launch)
    entry = next((item for item in report.entries if item.compiled and step.entry in (item.display, item.name)), None)
    if entry is None or len(entry.parameters) != len(step.arguments):
        return request
    pairs = [
        (argument.buffer, parameter.const)
        for argument, parameter in zip(step.arguments, entry.parameters, strict=True)
        if isinstance(argument, BufferArgument)
    ]
    read = {name for name, const in pairs if const} - {name for name, const in pairs if not const}
    buffers = tuple(item.model_copy(update={"role": "in"}) if item.name in read else item for item in request.buffers)
    return request.model_copy(update={"buffers": buffers})


def typed_extents(extents: object) -> str | None:
    """Extents as --grid and --block take them; None for a grid that covers a buffer."""
    return ",".join(map(str, extents)) if isinstance(extents, tuple) else None
