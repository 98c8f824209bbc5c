"""Two runs side by side."""

import asyncio
import math
from typing import Annotated

from fastapi import APIRouter, Query

from app.errors import Invalid, NotFound, Unavailable, documented
from app.event_log import StoredRun
from app.service import Served, Service
from protocol.comparison import BufferDifference, Comparison, compare_times
from protocol.events import BufferRead
from protocol.run import RunRequest
from store.comparing import difference
from store.identifiers import is_id

router = APIRouter(tags=["runs"])


@router.get("/api/runs/{run_id}/compare/{other_id}", responses=documented(NotFound, Invalid, Unavailable))
async def compare_runs(
    run_id: str,
    other_id: str,
    service: Served,
    relative: Annotated[float, Query(ge=0, le=1e9, allow_inf_nan=False, description="Tolerance, of the first")] = 0.0,
    absolute: Annotated[float, Query(ge=0, le=1e300, allow_inf_nan=False, description="Tolerance beside it")] = 0.0,
) -> Comparison:
    """Where the results of two finished runs differ, and whether their times compare."""
    first, second = await _found(service, run_id), await _found(service, other_id)
    results = first.result(), second.result()
    buffers = [await _compared(service, read, results[1].buffers, relative, absolute) for read in results[0].buffers]
    known = {item.name for item in buffers}
    missing = [read for read in results[1].buffers if read.name not in known]
    return Comparison(
        first=run_id,
        second=other_id,
        same_source=_source(first) == _source(second),
        buffers=(*buffers, *(_lonely(read, "first") for read in missing)),
        times=compare_times(results[0].timings, results[1].timings),
    )


def _source(run: StoredRun) -> str:
    return RunRequest.model_validate_json(run.request).source.text


async def _found(service: Service, run_id: str) -> StoredRun:
    run = await service.events.find(run_id) if is_id(run_id) else None
    if run is None:
        raise NotFound(f"There is no run {run_id[:20]}." if is_id(run_id) else "There is no such run.")
    return run


async def _compared(
    service: Service, read: BufferRead, others: tuple[BufferRead, ...], relative: float, absolute: float
) -> BufferDifference:
    other = next((item for item in others if item.name == read.name), None)
    if other is None:
        return _lonely(read, "second")
    if (read.dtype, read.shape) != (other.dtype, other.shape):
        shapes = f"{read.dtype}{list(read.shape)} and {other.dtype}{list(other.shape)}"
        return BufferDifference(name=read.name, why_not=f"they are {shapes}")
    if read.digest == other.digest:
        return BufferDifference(name=read.name, dtype=read.dtype, equal=True, elements=math.prod(read.shape))
    data, more = await service.view(read.digest), await service.view(other.digest)
    if data is None or more is None:
        return BufferDifference(
            name=read.name, dtype=read.dtype, why_not="they differ; the contents are no longer kept"
        )
    return await asyncio.to_thread(difference, read, data, more, relative, absolute)


def _lonely(read: BufferRead, where: str) -> BufferDifference:
    return BufferDifference(name=read.name, why_not=f"the {where} run has no such buffer")
