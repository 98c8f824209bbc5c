"""Python kernels of Numba: their PTX, which a child that may execute Python made before, is assembled here."""

from __future__ import annotations

from collections.abc import Iterator

from engine.languages.assembler import Assembled, assemble
from engine.languages.compiled import Compiled
from engine.languages.cubin import CubinEntry
from engine.languages.diagnose import MAX_TEXT, capped
from engine.languages.kernel_entries import distinct, resources
from engine.languages.nvrtc import nvrtc
from engine.languages.nvrtc_log import AssemblerMessage, Report
from engine.languages.ptx_lines import PtxLines
from engine.languages.source_text import SourceText
from protocol.diagnostics import Diagnostic
from protocol.kernel import CompiledKernel, Entry, Parameter, Resources
from protocol.run import CompileRequest
from protocol.translation import TranslatedEntry, Translation


class Numba:
    """The language `numba`."""

    name = "numba"

    @property
    def toolchain(self) -> str:
        return "PTX assembler {}.{}".format(*nvrtc().version)

    def prewarm(self) -> None:
        """Nothing: the assembler is that of PTX."""

    def compile(self, request: CompileRequest, translation: Translation | None = None) -> Compiled:
        """Assembles the translation for one architecture; kernels that no launch gives types for are only listed."""
        assert translation is not None, "a source of this language is translated first"
        assembled = Assembled(b"", ())
        diagnostics: list[Diagnostic] = []
        if translation.ptx:
            assembled = assemble(translation.ptx, request.architecture, request.options.max_registers)
            text = SourceText(request.source.text, request.source.file_name)
            lines = PtxLines(translation.ptx, request.source.file_name)
            diagnostics = capped([_told(item, lines, text) for item in assembled.messages])
            if not assembled.cubin:
                return Compiled(tuple(diagnostics))
        layouts = {item.name: item for item in assembled.entries}
        try:
            entries = distinct([_entry(item, layouts, assembled) for item in translation.entries])
        except ValueError as error:
            message = f"the kernels' parameters are not as Numba describes them: {error}"
            return Compiled((*diagnostics, Diagnostic(severity="error", message=message, origin="assembler")))
        kernel = CompiledKernel(
            language=self.name,
            architecture=request.architecture,
            toolchain=translation.toolchain,
            ptx=translation.ptx,
            entries=entries,
            warnings=tuple(diagnostics),
        )
        return Compiled(tuple(diagnostics), kernel, assembled.cubin)


def _entry(item: TranslatedEntry, layouts: dict[str, CubinEntry], assembled: Assembled) -> Entry:
    """With offsets and resources from the object code. ValueError where that has other parameters."""
    if not item.name:
        return Entry(
            name=item.display,
            display=item.display,
            parameters=item.parameters,
            resources=Resources(registers=0),
            line=item.line,
            compiled=False,
        )
    if item.name not in layouts:
        raise ValueError(f"{item.display} is not there")
    layout = layouts[item.name]
    return Entry(
        name=item.name,
        display=item.display,
        parameters=tuple(_laid_out(item, layout)),
        resources=resources(layout, assembled.reports.get(item.name, Report()), assembled.constant_bytes),
        line=item.line,
        types=item.types,
    )


def _laid_out(item: TranslatedEntry, layout: CubinEntry) -> Iterator[Parameter]:
    places = iter(layout.parameters)
    for parameter in item.parameters:
        own = [next(places, (0, 0)) for _ in parameter.pieces or (parameter.bytes,)]
        if tuple(size for _, size in own) != (parameter.pieces or (parameter.bytes,)):
            raise ValueError(f"{parameter.name} of {item.display}")
        yield parameter.model_copy(update={"offset": own[0][0]})
    if next(places, None) is not None:
        raise ValueError(f"{item.display} has more of them")


def _told(message: AssemblerMessage, lines: PtxLines, text: SourceText) -> Diagnostic:
    """A message of the assembler, at the line of the source that its line of PTX came from."""
    place = lines.source(message.ptx_line) if message.ptx_line else None
    return Diagnostic(
        severity="warning" if message.severity == "warning" else "error",
        message=message.text[:MAX_TEXT],
        origin="assembler",
        span=text.span(place.line) if place else None,
    )
