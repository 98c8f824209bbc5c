"""Checks what a launch asks of its blocks together: clusters, and a grid that is resident as a whole."""

from __future__ import annotations

import math
from collections.abc import Iterator

from engine.devices.architectures import architectures
from engine.devices.occupancy import resident_blocks
from protocol.diagnostics import Diagnostic, Severity
from protocol.kernel import Entry
from protocol.launch import LaunchConfig, dim3

Extents = tuple[int, int, int]

PORTABLE_CLUSTER = 8
"""Blocks of a cluster on every GPU that has clusters (CUDA C++ Programming Guide, Thread Block Clusters)."""
LARGEST_CLUSTER = 16
"""On an H100 or H200, after opting in to a size that is not portable, which a launch here implies."""
_FIRST = 90
_AXES = "xyz"


def cluster_of(entry: Entry, config: LaunchConfig) -> Extents | None:
    """The launch's clusters: what the kernel fixes, else what the launch asks for."""
    return entry.cluster or (dim3(config.cluster) if config.cluster is not None else None)


def check_cooperation(
    entry: Entry, architecture: str, grid: Extents, block: Extents, config: LaunchConfig, step: str
) -> list[Diagnostic]:
    """Every reason for which blocks could not be together, and a warning where a kernel will miss its barrier.

    Grid, block and shared memory are possible by themselves already.
    """
    found = list(_cluster(entry, architecture, grid, config, f"{step}.config"))
    if config.cooperative:
        found += _cooperative(entry, architecture, grid, block, config, f"{step}.config.cooperative")
    elif entry.synchronises_grid:
        message = f"{entry.display} uses the grid's barrier, grid.sync(), and this launch is not cooperative"
        help_text = "Make the launch cooperative. is_valid() is no help: on a GPU it is true in every launch."
        found.append(_told("warning", "not-cooperative", message, f"{step}.config.cooperative", help_text))
    return found


def _cluster(entry: Entry, architecture: str, grid: Extents, config: LaunchConfig, path: str) -> Iterator[Diagnostic]:
    field = f"{path}.cluster"
    shape = cluster_of(entry, config)
    if shape is None:
        return
    size = " × ".join(map(str, shape))
    if int(architecture[3:]) < _FIRST:
        yield _told(
            "error", "cluster-architecture", f"{architecture} has no clusters of blocks; sm_90 and later do", field
        )
        return
    if entry.cluster is not None and config.cluster is not None and dim3(config.cluster) != entry.cluster:
        asked = " × ".join(map(str, dim3(config.cluster)))
        message = f"{entry.display} is compiled for clusters of {size} blocks, and the launch asks for {asked}"
        yield _told("error", "cluster-fixed", message, field, "Leave the clusters of the launch empty.")
        return
    if 0 in shape:
        yield _told(
            "error", "cluster-zero", f"a cluster of {size} holds no block; give at least 1 along each axis", field
        )
        return
    blocks = math.prod(shape)
    if blocks > LARGEST_CLUSTER:
        message = f"a cluster of {size} has {blocks:,} blocks; at most {LARGEST_CLUSTER} are possible"
        yield _told("error", "cluster-blocks", message, field)
    elif blocks > PORTABLE_CLUSTER:
        message = f"a cluster of {size} has {blocks} blocks; every GPU with clusters has room for {PORTABLE_CLUSTER}"
        help_text = (
            "In a program of your own, allow it with cudaFuncSetAttribute("
            "kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) first; it is done for you here."
        )
        yield _told("note", "cluster-portable", message, field, help_text)
    for axis, extent, whole in zip(_AXES, shape, grid, strict=True):
        if whole % extent:
            message = f"the grid has {whole:,} blocks along {axis}, which is no multiple of the cluster's {extent}"
            yield _told("error", "cluster-grid", message, f"{path}.grid")


def _cooperative(
    entry: Entry, architecture: str, grid: Extents, block: Extents, config: LaunchConfig, field: str
) -> Iterator[Diagnostic]:
    blocks = math.prod(grid)
    most = resident_blocks(architecture, entry.resources, grid, block, config.dynamic_shared_bytes)
    if blocks <= most:
        return
    gpu = architectures()[architecture].gpu
    each = most // gpu.sm_count
    message = (
        f"a cooperative grid is resident as a whole, and {blocks:,} blocks are too many: {gpu.name} has "
        f"{gpu.sm_count} SMs, and each holds {each} of these blocks, {most:,} together"
    )
    help_text = f"Launch at most {most:,} blocks and let each do more, in a loop over the grid's size."
    yield _told("error", "cooperative-grid", message, field, help_text)


def _told(severity: Severity, code: str, message: str, field: str, help_text: str | None = None) -> Diagnostic:
    return Diagnostic(severity=severity, code=code, message=message, origin="launch", field=field, help=help_text)
