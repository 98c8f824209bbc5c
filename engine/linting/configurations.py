"""What the extents of a launch show by themselves, whether the source compiles or not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from engine.devices.architectures import architectures
from engine.launching.limits import check_limits
from engine.linting.context import finding
from protocol.arguments import Buffer
from protocol.diagnostics import Diagnostic, Fix
from protocol.gpus import gpu_table
from protocol.kernel import Entry, Resources
from protocol.launch import Cover, Launch, LaunchConfig, dim3, resolve_grid

WARP = 32


def configuration(
    path: str, step: Launch, buffers: Sequence[Buffer], architecture: str, entry: Entry | None
) -> Iterator[Diagnostic]:
    """Limits of the chosen GPU, blocks that are no whole warps, and GPUs on which the launch is not possible."""
    config = step.config
    grid, block = resolve_grid(config, buffers), dim3(config.block)
    shared = config.dynamic_shared_bytes
    known = entry or Entry(name=step.entry, display=step.entry, resources=Resources(registers=0))
    wrong = [item for item in check_limits(known, architecture, grid, block, shared, path) if item.severity == "error"]
    codes = {item.code for item in wrong}
    for item in wrong:
        if item.code == "block-axis" and "block-threads" in codes:
            continue
        # A zero grid that comes of a zero block is one fault.
        if item.code == "grid-zero" and isinstance(config.grid, Cover):
            continue
        fix = _fix(item, path, config, grid, block, known, architecture)
        yield item.model_copy(update={"origin": "lint", "fix": fix})
    if wrong:
        return
    yield from _whole_warps(path, config, grid, block)
    yield from _other_gpus(path, known, architecture, shared)


def _fix(
    item: Diagnostic,
    path: str,
    config: LaunchConfig,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    entry: Entry,
    architecture: str,
) -> Fix | None:
    limits = architectures()[architecture]
    match item.code:
        case "block-threads" | "launch-bounds" | "block-axis":
            most = min(limits.max_threads_per_block, entry.resources.max_threads_per_block)
            smaller = [max(1, extent) for extent in block]
            while math.prod(smaller) > most or any(
                have > may for have, may in zip(smaller, limits.max_block, strict=True)
            ):
                axis = max(range(3), key=lambda index: smaller[index] / limits.max_block[index] + smaller[index])
                smaller[axis] = -(-smaller[axis] // 2)
            return with_block(path, config, grid, block, smaller)
        case "block-zero":
            return with_block(path, config, grid, block, [max(1, extent) for extent in block])
        case "grid-zero":
            value = _trimmed([max(1, extent) for extent in grid])
            return Fix(title="Use at least 1 block along every axis", field=f"{path}.config.grid", value=value)
        case "shared-memory":
            room = limits.shared_per_block_optin - entry.resources.static_shared_bytes
            if room < 0:
                return None
            title = f"Use {room:,} bytes, all there are"
            return Fix(title=title, field=f"{path}.config.dynamic_shared_bytes", value=room)
    return None


def with_block(path: str, config: LaunchConfig, grid: Sequence[int], block: Sequence[int], new: Sequence[int]) -> Fix:
    """Another block, with a grid of as many threads, rounded up."""
    value = config.model_dump(mode="json")
    value["block"] = _trimmed(new)
    if not isinstance(config.grid, Cover):
        value["grid"] = _trimmed(
            [-(-blocks * max(1, old) // now) for blocks, old, now in zip(grid, block, new, strict=True)]
        )
    return Fix(title=f"Use a block of {' × '.join(map(str, _trimmed(new)))}", field=f"{path}.config", value=value)


def _trimmed(extents: Sequence[int]) -> list[JsonValue]:
    kept: list[JsonValue] = list(extents)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return kept


def _whole_warps(
    path: str, config: LaunchConfig, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> Iterator[Diagnostic]:
    threads, blocks = math.prod(block), math.prod(grid)
    idle = -threads % WARP
    # A launch of less than one warp is for something small.
    if not idle or blocks * threads <= WARP:
        return
    warps = (threads + idle) // WARP
    step = WARP // math.gcd(WARP, block[1] * block[2])
    wider = [-(-block[0] // step) * step, block[1], block[2]]
    fix = with_block(path, config, grid, block, wider) if math.prod(wider) <= 1024 else None
    kind = "1 warp" if warps == 1 else f"{warps} warps"
    yield finding(
        "warning",
        "partial-warp",
        f"a block of {threads:,} threads is {kind}, and {idle} of the {warps * WARP:,} lanes have no thread: "
        f"{100 * idle / (warps * WARP):.0f} % of its lanes stay idle",
        field=f"{path}.config.block",
        help="Make the block a multiple of 32 threads.",
        fix=fix,
    )


def _other_gpus(path: str, entry: Entry, architecture: str, shared: int) -> Iterator[Diagnostic]:
    total = entry.resources.static_shared_bytes + shared
    table = architectures()
    refused = [
        gpu
        for gpu in gpu_table().gpus
        if gpu.architecture != architecture and total > table[gpu.architecture].shared_per_block_optin
    ]
    if not refused:
        return
    least = min(table[gpu.architecture].shared_per_block_optin for gpu in refused)
    names = ", ".join(gpu.name for gpu in refused)
    yield finding(
        "note",
        "other-gpus",
        f"{total:,} bytes of shared memory a block do not fit on {names}",
        field=f"{path}.config.dynamic_shared_bytes",
        help=f"At most {least:,} bytes fit on all of them.",
    )


def uncompiled(path: str, step: Launch, buffers: Sequence[Buffer]) -> Iterator[Diagnostic]:
    """What the numbers alone say of a grid, while the source does not compile."""
    config = step.config
    used = {item.buffer for item in step.arguments if item.kind == "buffer"}
    largest = max((item for item in buffers if item.name in used), key=lambda item: item.elements, default=None)
    if largest is None or isinstance(config.grid, Cover):
        return
    threads = math.prod(config.grid) * math.prod(config.block)
    if 0 < threads < largest.elements:
        yield finding(
            "note",
            "grid-and-array",
            f"the launch has {threads:,} threads, and {largest.name} has {largest.elements:,} elements: each thread "
            "must do several",
            field=f"{path}.config.grid",
            fix=Fix(
                title=f"Size the grid to cover {largest.name}",
                field=f"{path}.config.grid",
                value=Cover(buffer=largest.name).model_dump(mode="json"),
            ),
        )
