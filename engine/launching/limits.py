"""Checks a launch's grid, block and shared memory against the architecture, in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from engine.devices.architectures import Limits, architectures
from engine.devices.occupancy import block_limits
from protocol.diagnostics import Diagnostic, Severity
from protocol.kernel import Entry

_AXES = "xyz"


def check_limits(
    entry: Entry,
    architecture: str,
    grid: Sequence[int],
    block: Sequence[int],
    dynamic_shared_bytes: int,
    step: str,
) -> list[Diagnostic]:
    """Every reason for which this launch would fail, and notes; `step` is its path, such as steps.0."""
    limits = architectures()[architecture]
    config = f"{step}.config"
    found = list(_block(entry, architecture, limits, block, f"{config}.block"))
    found += _grid(architecture, limits, grid, f"{config}.grid")
    found += _shared(entry, architecture, limits, dynamic_shared_bytes, f"{config}.dynamic_shared_bytes")
    if not found or all(item.severity != "error" for item in found):
        found += _registers(entry, architecture, limits, math.prod(block), f"{config}.block")
    return found


def _block(entry: Entry, architecture: str, limits: Limits, block: Sequence[int], field: str) -> Iterator[Diagnostic]:
    threads = math.prod(block)
    size = " × ".join(map(str, block))
    for axis, extent, most in zip(_AXES, block, limits.max_block, strict=True):
        if extent < 1:
            yield _error("block-zero", f"the block has {extent} threads along {axis}; give at least 1", field)
        elif extent > most:
            yield _error(
                "block-axis", f"the block has {extent:,} threads along {axis}; at most {most:,} are possible", field
            )
    if threads > limits.max_threads_per_block:
        yield _error(
            "block-threads",
            f"a block of {size} has {threads:,} threads; {architecture} allows {limits.max_threads_per_block:,}",
            field,
            "Make the block smaller and the grid larger.",
        )
    elif threads > entry.resources.max_threads_per_block:
        bound = entry.resources.max_threads_per_block
        yield _error(
            "launch-bounds",
            f"a block of {size} has {threads:,} threads, but {entry.display} is compiled for at most {bound:,}",
            field,
            "Make the block smaller, or raise __launch_bounds__ in the source.",
        )


def _grid(architecture: str, limits: Limits, grid: Sequence[int], field: str) -> Iterator[Diagnostic]:
    for axis, extent, most in zip(_AXES, grid, limits.max_grid, strict=True):
        if extent < 1:
            yield _error("grid-zero", f"the grid has {extent} blocks along {axis}; give at least 1", field)
        elif extent > most:
            yield _error(
                "grid-axis", f"the grid has {extent:,} blocks along {axis}; {architecture} allows {most:,}", field
            )


def _shared(
    entry: Entry, architecture: str, limits: Limits, dynamic_shared_bytes: int, field: str
) -> Iterator[Diagnostic]:
    static = entry.resources.static_shared_bytes
    total = static + dynamic_shared_bytes
    parts = f"{static:,} bytes static and {dynamic_shared_bytes:,} dynamic" if static else "all of it dynamic"
    if total > limits.shared_per_block_optin:
        yield _error(
            "shared-memory",
            f"a block needs {total:,} bytes of shared memory ({parts}); "
            f"{architecture} has {limits.shared_per_block_optin:,} a block",
            field,
        )
    elif total > limits.shared_per_block:
        yield _message(
            "note",
            "shared-opt-in",
            f"a block needs {total:,} bytes of shared memory ({parts}); {limits.shared_per_block:,} are usual",
            field,
            "In a program of your own, raise the limit with cudaFuncSetAttribute("
            "kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first; it is done for you here.",
        )


def _registers(entry: Entry, architecture: str, limits: Limits, threads: int, field: str) -> Iterator[Diagnostic]:
    registers = entry.resources.registers

    def fits(size: int) -> bool:
        return all(item.blocks for item in block_limits(limits, size, registers, 0) if item.resource == "registers")

    if fits(threads):
        return
    most = max((size for size in range(limits.warp_size, threads, limits.warp_size) if fits(size)), default=0)
    yield _error(
        "registers",
        f"{entry.display} takes {registers} registers a thread, {registers * threads:,} for a block of {threads:,} "
        f"threads; {architecture} gives a block {limits.registers_per_block:,}",
        field,
        f"At most {most:,} threads a block fit. __launch_bounds__, or a register limit in the options, lowers its use.",
    )


def _error(code: str, message: str, field: str, help_text: str | None = None) -> Diagnostic:
    return _message("error", code, message, field, help_text)


def _message(severity: Severity, code: str, message: str, field: str, help_text: str | None) -> Diagnostic:
    return Diagnostic(severity=severity, code=code, message=message, origin="launch", field=field, help=help_text)
