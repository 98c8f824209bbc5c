"""Finds out from a kernel's PTX whether its blocks meet: at the grid's barrier, or in clusters."""

from __future__ import annotations

import re

from protocol.kernel import CompiledKernel, Entry

# Where the driver tells a kernel of the grid's barrier, see cooperative_groups/details/driver_abi.h.
_GRID = re.compile(r"%envreg[12]\b")
_CLUSTERS = re.compile(r"%cluster_|%n?clusterid\b|\bbarrier\.cluster\b|\bmapa\b|\bshared::cluster\b.*\bmulticast\b")
_SHAPE = re.compile(r"^\s*\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", re.MULTILINE)
_FUNCTION = re.compile(r"^(?:\s*\.(?:visible|weak|extern)\b)*\s*\.(?P<kind>entry|func)\b(?P<head>[^{;]*)", re.MULTILINE)
_NAME = re.compile(r"([\w$]+)\s*(?:\(|$)")


def with_cooperation(kernel: CompiledKernel) -> CompiledKernel:
    """The kernel with what its entries need of a launch. What a function holds counts for every entry."""
    texts: dict[str, str] = {}
    common = ""
    starts = list(_FUNCTION.finditer(kernel.ptx))
    for index, match in enumerate(starts):
        end = starts[index + 1].start() if index + 1 < len(starts) else len(kernel.ptx)
        text = kernel.ptx[match.start() : end]
        name = _NAME.search(match["head"])
        if match["kind"] == "entry" and name is not None:
            texts[name[1]] = text
        else:
            common += text
    return kernel.model_copy(
        update={"entries": tuple(_described(entry, texts.get(entry.name, ""), common) for entry in kernel.entries)}
    )


def _described(entry: Entry, own: str, common: str) -> Entry:
    shape = _SHAPE.search(own)
    text = own + common
    return entry.model_copy(
        update={
            "synchronises_grid": _GRID.search(text) is not None,
            "uses_clusters": shape is not None or _CLUSTERS.search(text) is not None,
            "cluster": tuple(int(extent or 1) for extent in shape.groups()) if shape else None,
        }
    )
