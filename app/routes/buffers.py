"""Result buffers as .npy, whole or sliced."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from app.arrays import encode, parse_slice, stored_array
from app.errors import Gone, Invalid, NotFound, TooLarge, Unavailable, documented
from app.service import Served
from protocol.base import Name
from store.identifiers import is_id

router = APIRouter(tags=["runs"])
MEDIA_TYPE = "application/octet-stream"


@router.get(
    "/api/runs/{run_id}/buffers/{name}.npy",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A .npy file; bfloat16 as uint16, which the header X-Warpyard-DType then says",
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        },
        **documented(NotFound, Gone, Invalid, TooLarge, Unavailable),
    },
)
async def get_buffer(
    run_id: str,
    name: Name,
    service: Served,
    slice_: Annotated[
        str, Query(alias="slice", max_length=200, description="NumPy's basic slicing, such as 0:10,::2")
    ] = "...",
) -> StreamingResponse:
    """A buffer as it was at the end of the run."""
    run = await service.events.find(run_id) if is_id(run_id) else None
    read = next((buffer for buffer in run.result().buffers if buffer.name == name), None) if run else None
    if read is None:
        raise NotFound("There is no such run." if run is None else f"No buffer {name} was read back.")
    data = await service.view(read.digest)
    if data is None or len(data) != read.bytes:
        raise Gone("The contents of this buffer are no longer kept: run it again.")
    array = stored_array(data, read.dtype, read.shape)
    try:
        array = array[parse_slice(slice_, array.ndim)]
    except (ValueError, IndexError) as error:
        raise Invalid.field("slice", str(error)) from None
    if array.nbytes > service.settings.max_download_bytes:
        raise TooLarge(f"That is {array.nbytes:,} bytes; at most {service.settings.max_download_bytes:,} go at once.")
    size, pieces = encode(array[...])
    headers = {
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{name}.npy"',
        "Cache-Control": "private, max-age=3600",
        "ETag": f'"{read.digest[:32]}"',
        "X-Warpyard-DType": read.dtype,
    }
    return StreamingResponse(pieces, headers=headers, media_type=MEDIA_TYPE)
