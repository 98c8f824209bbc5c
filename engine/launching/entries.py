"""Finds the kernel that a launch names."""

from __future__ import annotations

from engine.languages.names import same_expression
from protocol.diagnostics import Diagnostic
from protocol.kernel import CompiledKernel, Entry

_SHOWN = 8


def find_entry(kernel: CompiledKernel, name: str, step: str) -> Entry | Diagnostic:
    """The entry of a launch, by the name that the user or the PTX gives it; a diagnostic where none is meant."""
    field = f"{step}.entry"
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


def _error(message: str, field: str, help_text: str) -> Diagnostic:
    return Diagnostic(severity="error", message=message, origin="launch", code="entry", field=field, help=help_text)
