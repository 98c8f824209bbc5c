"""CUDA C++ by NVRTC: one compile for PTX and CUBIN, and a second, never run, that describes the parameters."""

from __future__ import annotations

from collections.abc import Sequence

from engine.languages.compiled import Compiled
from engine.languages.cubin import constant_bytes, read_entries
from engine.languages.diagnose import assembler_diagnostics, capped, front_end_diagnostics, stopped_early
from engine.languages.dwarf import BadDwarf, read_debug_info
from engine.languages.headers import HEADERS
from engine.languages.kernel_entries import distinct, resources, unknown_parameters
from engine.languages.names import display_name, instantiation
from engine.languages.nvrtc import Nvrtc, include_folders, nvrtc
from engine.languages.nvrtc_log import Report, assembler_messages, front_end_messages, resource_reports
from engine.languages.nvrtc_options import compiler_options, debug_options, ptx_options
from engine.languages.parameters import ParameterReader
from engine.languages.ptx_lines import PtxLines, clean_ptx, source_file_numbers, without_host_paths
from engine.languages.source_text import SourceText
from protocol.diagnostics import Diagnostic
from protocol.kernel import CompiledKernel, Entry
from protocol.run import CompileRequest
from protocol.source import Options, Source
from protocol.translation import Translation

_PREWARM = Source(text="__global__ void warm(float *x) { x[threadIdx.x] = 1.0f; }\n", file_name="warm.cu")


class CudaCpp:
    """The language `cuda-c++`."""

    name = "cuda-c++"

    @property
    def toolchain(self) -> str:
        return "NVRTC {}.{}".format(*nvrtc().version)

    def prewarm(self) -> None:
        """Loads the compiler and lets it make its tables, so that the processes forked from this one need not."""
        self.compile(CompileRequest(source=_PREWARM))

    def compile(self, request: CompileRequest, translation: Translation | None = None) -> Compiled:
        """Compiles for one architecture; the request's instantiations are template kernels, such as scale<float>."""
        source, options, architecture = request.source, request.options, request.architecture
        compiler = nvrtc()
        if architecture not in compiler.architectures:
            known = ", ".join(compiler.architectures)
            message = f"{self.toolchain} does not know {architecture}; it knows {known}"
            return Compiled((Diagnostic(severity="error", message=message, field="architecture", origin="request"),))
        text = SourceText(source.text, source.file_name)
        folders = include_folders()
        names = tuple(dict.fromkeys(request.instantiations))
        result = compiler.compile(
            text.compiled, source.file_name, compiler_options(options, architecture, folders), HEADERS, names
        )
        log = without_host_paths(result.log, folders)
        diagnostics = front_end_diagnostics(front_end_messages(log), text, names)
        if "\nError limit reached.\n" in log:
            diagnostics.append(stopped_early())
        refused = assembler_messages(log)
        if refused:
            lines = _assembled(compiler, text, options, architecture, names)
            diagnostics += assembler_diagnostics(refused, lines, text)
        if not result.ok and not any(item.severity == "error" for item in diagnostics):
            diagnostics.append(Diagnostic(severity="error", message=f"the compiler failed: {log.strip()[:2000]}"))
        if not result.ok:
            return Compiled(tuple(capped(diagnostics)))
        entries, more = _entries(compiler, text, options, architecture, names, result.cubin, log, result.lowered)
        if not entries:
            diagnostics.append(_no_kernel(text))
            return Compiled(tuple(capped(diagnostics)))
        diagnostics = capped([*diagnostics, *more])
        kernel = CompiledKernel(
            language="cuda-c++",
            architecture=architecture,
            toolchain=self.toolchain,
            ptx=clean_ptx(result.ptx, source.file_name, folders),
            entries=entries,
            warnings=tuple(diagnostics),
        )
        return Compiled(tuple(diagnostics), kernel, result.cubin)


def _assembled(
    compiler: Nvrtc, text: SourceText, options: Options, architecture: str, names: Sequence[str]
) -> PtxLines:
    """The PTX that the assembler was given: its messages name lines of it, and NVRTC returns none then."""
    folders = include_folders()
    result = compiler.compile(
        text.compiled, text.file_name, ptx_options(options, architecture, folders), HEADERS, names
    )
    return PtxLines(result.ptx, text.file_name)


def _entries(
    compiler: Nvrtc,
    text: SourceText,
    options: Options,
    architecture: str,
    names: Sequence[str],
    cubin: bytes,
    log: str,
    lowered: dict[str, str],
) -> tuple[tuple[Entry, ...], list[Diagnostic]]:
    """The kernels of a module in the order of the source, and a warning where one could not be described."""
    described = compiler.compile(
        text.compiled, text.file_name, debug_options(options, architecture, include_folders()), HEADERS, names
    )
    problems: list[Diagnostic] = []
    reader: ParameterReader | None = None
    try:
        reader = ParameterReader(read_debug_info(described.ptx))
    except BadDwarf as error:
        problems.append(_undescribed(f"the parameters' names and types are not known: {error}"))
    files = source_file_numbers(described.ptx, text.file_name)
    reports, constants = resource_reports(log), constant_bytes(cubin)
    found: list[Entry] = []
    for item in read_entries(cubin):
        parameters = reader.parameters(item.name, item.parameters) if reader else None
        if parameters is None:
            parameters = unknown_parameters(item)
            if reader:
                problems.append(_undescribed(f"the parameters of {item.name} are not known by name and type"))
        function = reader.functions.get(item.name) if reader else None
        own = display_name(item.name, function.name if function else "")
        asked = [expression for expression, name in lowered.items() if name == item.name]
        for display in asked or [own]:
            found.append(
                Entry(
                    name=item.name,
                    display=display,
                    parameters=parameters,
                    resources=resources(item, reports.get(item.name, Report()), constants),
                    line=function.line if function and function.file in files and function.line else None,
                )
            )
    found.sort(key=lambda entry: (entry.line or 0, entry.display))
    return distinct(found), problems


def _undescribed(message: str) -> Diagnostic:
    return Diagnostic(severity="warning", message=message, code="parameters", help="Arguments go by their sizes alone.")


def _no_kernel(text: SourceText) -> Diagnostic:
    line = next((number for number, line in enumerate(text.lines, 1) if "__global__" in line), None)
    if line is None:
        message = "the source defines no kernel that can be launched"
        help_text = "Write a __global__ function."
    else:
        message = "no kernel of the source is compiled: those that are templates exist once they are instantiated"
        help_text = f"Name an instantiation as the kernel of a launch, such as {instantiation(text.compiled.decode())}."
    return Diagnostic(severity="error", message=message, code="no-kernel", span=text.span(line or 1), help=help_text)
