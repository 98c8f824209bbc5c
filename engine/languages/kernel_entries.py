"""What every language tells of the kernels in its object code: names that are distinct, resources, bare parameters."""

from __future__ import annotations

from collections.abc import Sequence

from engine.languages.cubin import CubinEntry
from engine.languages.nvrtc_log import Report
from protocol.kernel import Entry, Parameter, Resources

MAX_THREADS = 1024
"""Of a block, where the source gives no bound."""


def distinct(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Kernels of one name get their parameter types into the name by which they are called."""
    counts: dict[str, int] = {}
    for entry in entries:
        counts[entry.display] = counts.get(entry.display, 0) + 1
    return tuple(
        entry
        if counts[entry.display] == 1
        else entry.model_copy(
            update={"display": f"{entry.display}({', '.join(item.type for item in entry.parameters)})"}
        )
        for entry in entries
    )


def resources(item: CubinEntry, report: Report, constants: int) -> Resources:
    """`constants`: bytes of the module's __constant__ variables."""
    return Resources(
        registers=report.registers,
        static_shared_bytes=report.shared,
        local_bytes=report.stack,
        spill_store_bytes=report.spill_stores,
        spill_load_bytes=report.spill_loads,
        constant_bytes=constants,
        barriers=report.barriers,
        max_threads_per_block=item.max_threads or MAX_THREADS,
    )


def unknown_parameters(item: CubinEntry) -> tuple[Parameter, ...]:
    """Where nothing but offsets and sizes is known."""
    return tuple(
        Parameter(name=f"parameter_{index}", type="?", kind="unknown", bytes=size, offset=offset)
        for index, (offset, size) in enumerate(item.parameters)
    )
