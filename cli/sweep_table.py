"""The table of a sweep: a row for each block shape, the fastest one marked."""

import re
from collections.abc import Sequence

from cli.terminal import Terminal, plain
from protocol.sweep import Swept

HEAD = ("block", "threads", "occupancy", "limited by", "registers", "time", "")


def sweep_lines(terminal: Terminal, shapes: Sequence[Swept]) -> list[str]:
    """Rows in the order of the request, then which clock the times are of and what the shapes met."""
    best = best_of(shapes)
    rows = [_row(shape, shape is best) for shape in shapes]
    widths = [max(len(row[column]) for row in [HEAD, *rows]) for column in range(len(HEAD))]
    lines = [terminal.paint("dim", spread(HEAD, widths))]
    for shape, row in zip(shapes, rows, strict=True):
        line = spread(row, widths)
        lines.append(terminal.paint("good", line) if shape is best else line)
    timed = next((shape for shape in shapes if shape.seconds is not None), None)
    if timed is not None:
        clock = "GPU events" if timed.clock == "gpu-events" else "wall time of the CPU, not GPU time"
        lines.append(terminal.paint("dim", f"times: {plain(timed.device_name)}, {clock}; medians"))
    return [*lines, *(f"  {plain(message)}" for message in _met(shapes))]


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
    """The fastest shape among those whose results are the first one's."""
    ran = [shape for shape in shapes if shape.seconds is not None and shape.same_as_first is not False]
    return min(ran, key=lambda shape: shape.seconds or 0.0, default=None)


def _row(shape: Swept, best: bool) -> tuple[str, ...]:
    x, y, z = shape.block
    used = (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)
    threads = f"{x * y * z:,}"
    share, limiters = "", ""
    if shape.occupancy is not None:
        share = f"{100 * shape.occupancy.warps_per_sm / shape.occupancy.max_warps_per_sm:.0f} %"
        limiters = ", ".join(shape.occupancy.limiters)
    time = {"refused": "not possible", "failed": "defect", "not-run": "not run"}.get(shape.state, "")
    if shape.seconds is not None:
        time = f"{shape.seconds * 1e6:,.2f} µs" if shape.seconds < 1e-4 else f"{shape.seconds * 1e3:,.3f} ms"
    note = "best" if best else ""
    if shape.same_as_first is False:
        note = f"results differ ({plain(shape.differs_at)}): the kernel depends on its block"
    return "x".join(map(str, used)), threads, share, limiters, str(shape.registers), time, note


def spread(row: Sequence[str], widths: Sequence[int], left: frozenset[int] = frozenset({0, 3, 6})) -> str:
    """Text to the left, in the columns `left`, numbers to the right."""
    cells = [
        cell.ljust(width) if column in left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
