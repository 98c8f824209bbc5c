"""Finds the kernel that a launch names."""

from __future__ import annotations

from collections.abc import Sequence

from engine.languages.names import same_expression
from protocol.diagnostics import Diagnostic
from protocol.kernel import ArgumentType, CompiledKernel, Entry

_SHOWN = 8


def find_entry(
    kernel: CompiledKernel, name: str, step: str, types: Sequence[ArgumentType] | None = None
) -> Entry | Diagnostic:
    """The entry of a launch, by the name that the user or the PTX gives it; a diagnostic where none is meant.

    `types`: of the launch's arguments, where the language compiles a kernel for them, perhaps several times.
    """
    field = f"{step}.entry"
    if types is not None:
        wanted = name.strip() or next(iter(_names(kernel)), "") if len(_names(kernel)) == 1 else name
        own = [entry for entry in kernel.entries if _plain(entry) == wanted and entry.types is not None]
        found = next((entry for entry in own if _fits(entry, types, exactly=True)), None)
        found = found or next((entry for entry in own if _fits(entry, types, exactly=False)), None)
        if found is not None:
            return found
    shown = ", ".join(entry.display for entry in kernel.entries[:_SHOWN])
    if len(kernel.entries) > _SHOWN:
        shown += f" and {len(kernel.entries) - _SHOWN} more"
    if not name.strip():
        if len(kernel.entries) == 1:
            return kernel.entries[0]
        message = f"the source has {len(kernel.entries)} kernels; name the one to launch"
        return _error(message, field, f"There are: {shown}.")
    for entry in kernel.entries:
        if name == entry.name or same_expression(name, entry.display):
            return entry
    overloads = [entry for entry in kernel.entries if same_expression(name, entry.display.partition("(")[0])]
    if len(overloads) > 1:
        choices = ", ".join(entry.display for entry in overloads[:_SHOWN])
        return _error(f"{name} is overloaded; name it with its parameters", field, f"There are: {choices}.")
    return _error(f"no kernel is called {name}", field, f"There are: {shown}.")


def _names(kernel: CompiledKernel) -> list[str]:
    return list(dict.fromkeys(_plain(entry) for entry in kernel.entries))


def _plain(entry: Entry) -> str:
    """Without the types that tell entries of one name apart."""
    return entry.display.partition("(")[0]


def _fits(entry: Entry, types: Sequence[ArgumentType], exactly: bool) -> bool:
    """Whether an entry is for these arguments; not exactly: numbers are converted."""
    by_name = {item.name: item for item in types}
    own = entry.types or ()
    given = list(types)
    if types and None not in by_name:
        given = [by_name[item.name] for item in entry.parameters if item.name in by_name]
    return len(given) == len(own) and all(
        (one.kind, one.dimensions) == (other.kind, other.dimensions)
        and (one.dtype == other.dtype or (not exactly and one.kind == "number"))
        for one, other in zip(given, own, strict=True)
    )


def _error(message: str, field: str, help_text: str) -> Diagnostic:
    return Diagnostic(severity="error", message=message, origin="launch", code="entry", field=field, help=help_text)
