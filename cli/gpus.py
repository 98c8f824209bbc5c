"""GPUs that a kernel might run on: how it fits each of them, and `warpyard gpus`, what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.usage import Refused

if TYPE_CHECKING:
    from cli.terminal import Terminal
    from protocol.gpus import GpuFacts
    from protocol.inspection import GpuFit

_FIT = ("GPU", "", "registers", "spills", "shared", "occupancy", "limited by")
_FACTS = ("GPU", "", "SMs", "clock", "memory", "bandwidth", "L2", "FP32", "FP64", "tensor FP16", "power")


def gpus(
    name: Annotated[str, typer.Argument(help="One of them, for its cloud instances and sources.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """What is known of the GPUs that a kernel is fitted to, and where it comes from."""
    from cli.terminal import output
    from protocol.gpus import gpu_table

    table = gpu_table()
    if as_json:
        typer.echo(table.model_dump_json())
        return
    found = [facts for facts in table.gpus if name.casefold() in facts.name.casefold()]
    if not found:
        raise Refused(f"no GPU is called {name!r}: there are {', '.join(facts.name for facts in table.gpus)}")
    terminal = output()
    for line in _lines(terminal, _FACTS, [_facts(facts) for facts in found], frozenset({0, 1})):
        terminal.line(line)
    if name:
        for facts in found:
            _tell(terminal, facts)
    terminal.line(terminal.paint("dim", f"as published, looked up on {table.checked}; peaks at boost clock, dense"))


def fit_lines(terminal: Terminal, fits: Sequence[GpuFit], with_waves: bool) -> list[str]:
    """A row for each GPU: what the kernel takes there, or why it cannot run; for a real grid, its waves too."""
    if not fits:
        return []
    head = (*_FIT, "waves", "tail") if with_waves else _FIT
    return [
        f"  {line}" for line in _lines(terminal, head, [_fit(fit, with_waves) for fit in fits], frozenset({0, 1, 6}))
    ]


def _fit(fit: GpuFit, with_waves: bool) -> tuple[str, ...]:
    taken = fit.resources
    row: tuple[str, ...] = (fit.gpu, fit.architecture)
    if taken is None or fit.occupancy is None:
        return (*row, f"not possible: {fit.why_not}")
    where = fit.occupancy
    row += (str(taken.registers), f"{taken.spill_store_bytes + taken.spill_load_bytes} B")
    row += (f"{taken.static_shared_bytes:,} B", f"{100 * where.warps_per_sm / where.max_warps_per_sm:.0f} %")
    row += (", ".join(where.limiters),)
    return (*row, f"{where.waves:.3g}", f"{100 * where.tail:.0f} %") if with_waves else row


def _facts(facts: GpuFacts) -> tuple[str, ...]:
    return (
        facts.name, facts.architecture, str(facts.sm_count), f"{facts.boost_mhz:,} MHz",
        f"{facts.memory_gb} GB {facts.memory_kind}", f"{facts.memory_gb_per_second:,.0f} GB/s", f"{facts.l2_mib:g} MiB",
        f"{facts.fp32_tflops:g}", f"{facts.fp64_tflops:g}", f"{facts.tensor_fp16_tflops:,g} TFLOP/s",
        f"{facts.watts:,} W",
    )  # fmt: skip


def _tell(terminal: Terminal, facts: GpuFacts) -> None:
    terminal.line(f"{facts.name}:")
    for item in facts.instances:
        count = f"{item.gpus} GPU{'s' if item.gpus > 1 else ''}"
        terminal.line(f"  {item.cloud} {item.name} ({count}): {item.suits}")
    if not facts.instances:
        terminal.line("  no instance of the great clouds is known that carries it")
    terminal.line(terminal.paint("dim", f"  sources: {'; '.join(facts.sources)}"))


def _lines(terminal: Terminal, head: Sequence[str], rows: Sequence[Sequence[str]], left: frozenset[int]) -> list[str]:
    """A row shorter than the head ends in a text of any width."""
    from cli.sweep_table import spread

    whole = [row for row in [head, *rows] if len(row) == len(head)]
    widths = [max(len(row[column]) for row in whole) for column in range(len(head))]
    for column in (0, 1):
        widths[column] = max(widths[column], *(len(row[column]) for row in rows))
    lines = [terminal.paint("dim", spread(head, widths, left))]
    for row in rows:
        last = frozenset() if len(row) == len(head) else frozenset({len(row) - 1})
        lines.append(spread(row, widths[: len(row)], left | last))
    return lines
