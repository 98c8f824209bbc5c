"""A run to take away: a CuPy script, or a CUDA C++ program that nvcc builds."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.errors import Conflict, Invalid, NotFound, Unavailable, documented
from app.service import Served
from protocol.run import RunRequest
from store.identifiers import is_id
from takeaway import Format, NotExportable, export

router = APIRouter(tags=["runs"])
MEDIA_TYPES: dict[Format, str] = {
    "cupy": "text/x-python; charset=utf-8",
    "cu": "text/x-cuda; charset=utf-8",
    "kernel-tuner": "text/x-python; charset=utf-8",
}


@router.get(
    "/api/runs/{run_id}/export",
    response_class=Response,
    responses={
        200: {
            "description": "The program, as a file to save",
            "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()},
        },
        **documented(NotFound, Conflict, Invalid, Unavailable),
    },
)
async def export_run(
    run_id: str,
    service: Served,
    form: Annotated[
        Format,
        Query(alias="format", description="cupy: a Python script; cu: CUDA C++ with main(); kernel-tuner: of a sweep"),
    ] = "cupy",
) -> Response:
    """A program of one file that makes the same launches on the same data, without Warpyard."""
    run = await service.events.find(run_id) if is_id(run_id) else None
    if run is None:
        raise NotFound("There is no such run.")
    compiled = run.result().compiled
    if compiled is None:
        raise Conflict("This run has not compiled, so that its kernels' parameters are not known.", kind="not-compiled")
    request = RunRequest.model_validate_json(run.request)
    try:
        made = await asyncio.to_thread(export, request, compiled.entries, form)
    except NotExportable as error:
        raise Invalid.field(error.field, error.message) from None
    headers = {
        "Content-Disposition": f'attachment; filename="{made.file_name}"',
        "Cache-Control": "private, no-cache",
    }
    return Response(made.text, headers=headers, media_type=MEDIA_TYPES[form])
