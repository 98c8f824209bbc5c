"""PTX: assembled as it is for resources and for a GPU, and read by the emulator's parser for the kernels in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from emulator import Module, Problem, parse
from engine.languages.assembler import Assembled, assemble, module_directives, newest_version
from engine.languages.compiled import Compiled
from engine.languages.cubin import CubinEntry
from engine.languages.diagnose import MAX_TEXT, capped
from engine.languages.kernel_entries import distinct, resources, unknown_parameters
from engine.languages.names import display_name, qualified_parts
from engine.languages.nvrtc import nvrtc
from engine.languages.nvrtc_log import AssemblerMessage, Report
from engine.languages.ptx_parameters import describe
from engine.languages.source_text import SourceText
from protocol.diagnostics import Diagnostic, Severity, Span
from protocol.kernel import CompiledKernel, Entry
from protocol.run import CompileRequest
from protocol.source import Options
from protocol.translation import Translation

_TARGET = re.compile(r"sm_(\d+)([af]?)$")
_QUOTED = re.compile(r"'([^']+)'")
_UNRESOLVED = re.compile(r"Unresolved extern (?:function|variable) '(?P<name>[^']+)'")
# What an option does before there is PTX, so that nothing is left for it to do here.
_MEANINGLESS = {
    "standard": "a C++ standard",
    "fast_math": "fast math",
    "fmad": "fmad",
    "defines": "macros",
    "default_device": "a default execution space",
}


class Ptx:
    """The language `ptx`."""

    name = "ptx"

    @property
    def toolchain(self) -> str:
        return "PTX assembler {}.{}".format(*nvrtc().version)

    def prewarm(self) -> None:
        newest_version()

    def compile(self, request: CompileRequest, translation: Translation | None = None) -> Compiled:
        """Assembles the module for one architecture, as the driver would do."""
        source, architecture = request.source, request.architecture
        text = SourceText(source.text, source.file_name)
        diagnostics = _unused_options(request.options)
        wanted, refused = _heading(source.text, architecture, text)
        if refused:
            return Compiled((*diagnostics, *refused))
        module, problems = parse(source.text, source.file_name)
        assembled = assemble(source.text, wanted, request.options.max_registers)
        diagnostics += [_told(item, source.text, text) for item in assembled.messages]
        if not assembled.cubin:
            return Compiled(tuple(capped(_sorted(diagnostics))))
        diagnostics += [_unread(item, text) for item in problems]
        entries = _entries(module, assembled)
        if not entries:
            return Compiled(tuple(capped([*diagnostics, _no_kernel(module, text)])))
        shown = tuple(capped(_sorted(diagnostics)))
        kernel = CompiledKernel(
            language=self.name,
            architecture=architecture,
            toolchain=self.toolchain,
            ptx=source.text,
            entries=entries,
            warnings=shown,
        )
        return Compiled(shown, kernel, assembled.cubin)


def _heading(ptx: str, architecture: str, text: SourceText) -> tuple[str, list[Diagnostic]]:
    """What to assemble for (sm_90a where the module asks for it), and why that cannot be."""
    directives = module_directives(ptx)
    found: list[Diagnostic] = []
    version = directives.get("version")
    if version is None:
        help_text = "PTX begins with .version 9.0, .target sm_90 and .address_size 64."
        found.append(_error("the text has no .version directive: is it PTX?", text.span(1), help_text))
    elif not (match := re.fullmatch(r"(\d{1,3})\.(\d{1,3})", version.value)):
        message = f".version {version.value} is no version of PTX, such as 9.0"
        found.append(_error(message, text.span(version.line)))
    elif (int(match[1]), int(match[2])) > newest_version():
        message = f"PTX {version.value} is newer than this assembler, which reads PTX {_dotted(newest_version())}"
        help_text = "Lower .version if the module uses nothing newer, or compile the source again with an older CUDA."
        found.append(_error(message, text.span(version.line), help_text))
    size = directives.get("address_size")
    if size is not None and size.value != "64":
        found.append(_error("only 64-bit addresses are supported", text.span(size.line), "Write .address_size 64."))
    target = directives.get("target")
    if target is None:
        if version is not None:
            found.append(_error("the module has no .target directive", text.span(version.line), "Write .target sm_90."))
        return architecture, found
    match = _TARGET.match(target.value.split(",")[0].strip())
    if match is None:
        message = f".target {target.value} names no architecture, such as sm_90"
        return architecture, [*found, _error(message, text.span(target.line))]
    number, chosen = int(match[1]), int(architecture[3:])
    fits = number <= chosen
    if match[2] == "a":
        fits = number == chosen
    elif match[2] == "f":
        fits = number <= chosen and number // 10 == chosen // 10
    if not fits:
        message = f"the module is for sm_{match[1]}{match[2]}, and the architecture chosen is {architecture}"
        help_text = f"Choose sm_{match[1]} as the architecture" + (", or lower .target." if number > chosen else ".")
        found.append(_error(message, text.span(target.line), help_text, field="architecture"))
    return f"{architecture}{match[2]}", found


def _entries(module: Module, assembled: Assembled) -> tuple[Entry, ...]:
    """The kernels, in the order of the text; their parameters by size alone where the parser did not get through."""
    found = [_entry(item, module, assembled.reports, assembled.constant_bytes) for item in assembled.entries]
    return distinct(sorted(found, key=lambda entry: (entry.line or 0, entry.display)))


def _entry(item: CubinEntry, module: Module, reports: Mapping[str, Report], constants: int) -> Entry:
    function = module.functions.get(item.name)
    described = describe(function, item) if function is not None and function.body is not None else None
    return Entry(
        name=item.name,
        display=display_name(item.name, ""),
        parameters=unknown_parameters(item) if described is None else described,
        resources=resources(item, reports.get(item.name, Report()), constants),
        line=function.line if function is not None and function.line else None,
    )


def _told(message: AssemblerMessage, ptx: str, text: SourceText) -> Diagnostic:
    """A message of the assembler at its line; one without a line stands where the name that it quotes is used."""
    words, help_text = message.text, None
    span = text.span(message.ptx_line) if message.ptx_line else None
    if unresolved := _UNRESOLVED.search(words):
        words = f"{'::'.join(qualified_parts(unresolved['name']))} is declared and used, but nowhere defined"
        help_text = "A module is assembled alone: define it here. printf is there as vprintf, malloc and free as such."
    if quoted := _QUOTED.search(message.text):
        span = _word(quoted[1], text, span)
    severity: Severity = "warning" if message.severity == "warning" else "error"
    return Diagnostic(severity=severity, message=words[:MAX_TEXT], origin="assembler", span=span, help=help_text)


def _word(name: str, text: SourceText, line: Span | None) -> Span | None:
    """Where a name stands on a line, or its last use in the whole text; the line where it is not found."""
    word = re.compile(rf"(?<![\w$%.]){re.escape(name)}(?![\w$])")
    numbers = [line.line] if line is not None else range(len(text.lines), 0, -1)
    for number in numbers:
        match = word.search(text.lines[number - 1])
        if match:
            return Span(line=number, column=match.start() + 1, end_line=number, end_column=match.end() + 1)
    return line


def _unread(problem: Problem, text: SourceText) -> Diagnostic:
    """The assembler takes it, and the emulator's parser does not: a run on a GPU is possible."""
    message = f"the emulator cannot read this: {problem.message}"
    return Diagnostic(
        severity="warning", message=message, origin="emulator", span=text.span(problem.ptx_line), help=problem.help
    )


def _unused_options(options: Options) -> list[Diagnostic]:
    given = [name for name in _MEANINGLESS if getattr(options, name) != getattr(Options(), name)]
    return [
        Diagnostic(
            severity="warning",
            message=f"PTX is not compiled, so {_MEANINGLESS[name]} cannot change it",
            origin="request",
            code="unused-option",
            field=f"options.{name}",
        )
        for name in given
    ]


def _no_kernel(module: Module, text: SourceText) -> Diagnostic:
    line = next((item.line for item in module.functions.values() if item.line), 1)
    help_text = "A kernel is an .entry: .visible .entry name(.param .u64 x) { … }"
    return _error("the module defines no kernel that can be launched", text.span(line), help_text, code="no-kernel")


def _sorted(items: Sequence[Diagnostic]) -> list[Diagnostic]:
    return sorted(items, key=lambda item: item.span.line if item.span else 0)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _error(
    message: str, span: Span | None, help_text: str | None = None, field: str | None = None, code: str = ""
) -> Diagnostic:
    return Diagnostic(
        severity="error", message=message, code=code, origin="assembler", span=span, field=field, help=help_text
    )
