"""The table of a sweep: a row for each cell that was tried, the best one marked."""

import re
from collections.abc import Sequence

from cli.terminal import Terminal, plain
from protocol.sweep import Concluded, Swept

_STATES = {"refused": "not possible", "failed": "defect", "not-run": "not run"}


def sweep_lines(terminal: Terminal, shapes: Sequence[Swept], conclusion: Concluded | None = None) -> list[str]:
    """Rows in the order of the request, then what the times are, what it comes to, and what the cells met."""
    tried = [shape for shape in shapes if shape.state != "excluded"]
    best = best_of(tried)
    macros = list(dict.fromkeys(name for shape in tried for name in shape.macros))
    estimated = any(shape.estimate is not None for shape in tried)
    clock = "GPU time" if any(shape.clock == "gpu-events" for shape in tried) else "CPU time"
    head = ["block", *macros, "threads", "occupancy", "limited by", "waves", "registers"]
    head += [*(["spills"] if any(shape.spill_bytes for shape in tried) else []), *(["estimate"] if estimated else [])]
    head += [clock, ""]
    rows = [_row(shape, head, shape is best) for shape in tried]
    left = frozenset({0, head.index("limited by"), len(head) - 1})
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [terminal.paint("dim", spread(head, widths, left))]
    for shape, row in zip(tried, rows, strict=True):
        line = spread(row, widths, left)
        lines.append(terminal.paint("good", line) if shape is best else line)
    if len(tried) < len(shapes):
        lines.append(terminal.paint("dim", f"{len(shapes) - len(tried)} cells are left out by the restrictions"))
    lines += [terminal.paint("dim", line) for line in _clocks(tried)]
    if conclusion is not None:
        lines.append(plain(conclusion.text))
    return [*lines, *(f"  {plain(message)}" for message in _met(tried))]


def _clocks(shapes: Sequence[Swept]) -> list[str]:
    lines = []
    estimate = next((shape.estimate for shape in shapes if shape.estimate is not None), None)
    if estimate is not None:
        line = f"estimate: for the {estimate.gpu}, from a sample of blocks; no measurement"
        if estimate.judged_on:
            line += (
                f" (on the {estimate.judged_on} half of such estimates were within {estimate.median_error:g} ×, "
                f"nine of ten within {estimate.p90_error:g} × of the time"
            )
            line += ")" if estimate.judged_on == estimate.gpu else f"; on the {estimate.gpu} nobody has judged them)"
        lines.append(line)
    timed = next((shape for shape in shapes if shape.seconds is not None), None)
    if timed is not None:
        clock = "GPU events" if timed.clock == "gpu-events" else "wall time of the CPU, not GPU time"
        lines.append(f"times: {plain(timed.device_name)}, {clock}; medians")
    return lines


def _met(shapes: Sequence[Swept]) -> list[str]:
    """What the shapes met; messages that differ in numbers alone, as one with how many more there are."""
    alike: dict[str, list[str]] = {}
    for message in dict.fromkeys(
        item.message for shape in shapes for item in shape.diagnostics if item.severity != "note"
    ):
        alike.setdefault(re.sub(r"\d[\d,]*", "0", message), []).append(message)
    return [
        first + (f" ({len(more)} more {'shape' if len(more) == 1 else 'shapes'} likewise)" if more else "")
        for first, *more in alike.values()
    ]


def best_of(shapes: Sequence[Swept]) -> Swept | None:
    """The fastest cell of those with right results: by GPU time, else by the estimate, else by the emulator's own."""
    right = [
        shape
        for shape in shapes
        if shape.seconds is not None and shape.same_as_first is not False and shape.passed is not False
    ]
    estimated = [shape for shape in right if shape.estimate is not None]
    return min(estimated or right, key=lambda shape: _ranked(shape) or 0.0, default=None)


def _ranked(shape: Swept) -> float | None:
    measured = shape.clock == "gpu-events" or shape.estimate is None
    return shape.seconds if measured else shape.estimate.seconds if shape.estimate else None


def _row(shape: Swept, head: Sequence[str], best: bool) -> tuple[str, ...]:
    x, y, z = shape.block
    used = (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)
    cells = {"block": "x".join(map(str, used)), "threads": f"{x * y * z:,}", **shape.macros}
    held = shape.occupancy
    if held is not None:
        cells["occupancy"] = f"{100 * held.warps_per_sm / held.max_warps_per_sm:.0f} %"
        cells["limited by"] = ", ".join(held.limiters)
        cells["waves"] = f"{held.waves:.3g}"
    if shape.registers:
        cells["registers"] = str(shape.registers)
    cells["spills"] = f"{shape.spill_bytes} B" if shape.spill_bytes else ""
    cells["estimate"] = _time(shape.estimate.seconds) if shape.estimate else ""
    note = "best" if best else ""
    if shape.same_as_first is False:
        note = f"results differ ({plain(shape.differs_at)}): the kernel depends on its block"
    if shape.passed is False:
        note = "the results are wrong"
    cells[""] = note
    times = _time(shape.seconds) if shape.seconds is not None else _STATES.get(shape.state, "")
    return tuple(plain(cells.get(name, times if name.endswith("time") else "")) for name in head)


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f} µs" if seconds < 1e-4 else f"{seconds * 1e3:,.3f} ms"


def spread(row: Sequence[str], widths: Sequence[int], left: frozenset[int] = frozenset({0, 3, 6})) -> str:
    """Text to the left, in the columns `left`, numbers to the right."""
    cells = [
        cell.ljust(width) if column in left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
