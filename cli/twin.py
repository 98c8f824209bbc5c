"""One request on the emulator and on a GPU, and where the results differ."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from cli.running import Running

if TYPE_CHECKING:
    from protocol.comparison import BufferDifference
    from protocol.events import BufferRead

Kept = dict[str, tuple["BufferRead", bytes]]


def twin_run(running: Running, relative: float, absolute: float) -> int:
    """Runs both and tells of each buffer; exit code 1 where one differs by more than the tolerance.

    Raises Refused where there is no GPU, before anything is run.
    """
    from cli.devices import resolve
    from cli.terminal import output
    from store.comparing import difference

    gpu = resolve("gpu")
    terminal = output()
    results: list[Kept] = []
    for device in ("emulator", gpu.name):
        terminal.line(terminal.paint("dim", f"on {device}:"))
        own = Running(dataclasses.replace(running.options, device=device), running.additions, running.kept, False)
        code = own.perform()
        if code:
            return code
        results.append(own.buffers)
    code = 0
    for name, (read, data) in results[0].items():
        _, more = results[1][name]
        found = difference(read, memoryview(data), memoryview(more), relative, absolute)
        bad = found.beyond if relative or absolute else found.differing
        code = code or int(bool(bad))
        terminal.line(terminal.paint("error" if bad else "good", f"twin  {name}  {told(found)}"))
    return code


def told(found: BufferDifference) -> str:
    """Such as: the same to the bit."""
    if found.equal:
        return "the same to the bit"
    place = f"[{', '.join(map(str, found.index or ()))}]"
    text = f"{found.differing:,} of {found.elements:,} elements differ, first {place}: {found.first} and {found.second}"
    if found.largest_absolute is not None:
        text += f"; at most by {found.largest_absolute}"
    if found.largest_ulps is not None:
        text += f", {found.largest_ulps:,} units in the last place"
    if found.beyond is not None:
        text += f"; {found.beyond:,} beyond the tolerance"
    return text
