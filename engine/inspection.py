"""Occupancy of every entry, for a page on which a kernel and its launch are being edited."""

from __future__ import annotations

from pydantic import TypeAdapter

from engine.devices.occupancy import curve, occupancy
from engine.emission import Emission
from engine.launching.limits import check_limits
from protocol.inspection import EntryOccupancy
from protocol.kernel import CompiledKernel
from protocol.launch import dim3
from protocol.run import OccupancyQuestion

_OCCUPANCY = TypeAdapter(tuple[EntryOccupancy, ...])


def occupancy_artifact(kernel: CompiledKernel, question: OccupancyQuestion, emission: Emission) -> bytes:
    """A JSON list of EntryOccupancy at the launch asked for; why it is not possible is told as a diagnostic."""
    grid, block, shared = dim3(question.grid), dim3(question.block), question.dynamic_shared_bytes
    found = []
    for entry in kernel.entries:
        problems = [
            item.model_copy(update={"field": (item.field or "").replace("question.config", "launch")})
            for item in check_limits(entry, kernel.architecture, grid, block, shared, "question")
        ]
        emission.diagnosed(problems)
        possible = all(item.severity != "error" for item in problems)
        found.append(
            EntryOccupancy(
                entry=entry.name,
                occupancy=occupancy(kernel.architecture, entry.resources, grid, block, shared) if possible else None,
                curve=curve(kernel.architecture, entry.resources, shared),
            )
        )
    return _OCCUPANCY.dump_json(tuple(found))
