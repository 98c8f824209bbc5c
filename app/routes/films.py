"""The film of a run as one .npy: its frames stacked along a first axis, all of them or a slice."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from app.arrays import Array, encode_stack, frame_slice, parse_slice, stored_array
from app.errors import Gone, Invalid, NotFound, TooLarge, Unavailable, documented
from app.routes.buffers import MEDIA_TYPE
from app.service import Served, Service
from protocol.film import Filmed
from store.identifiers import is_id

router = APIRouter(tags=["runs"])


@router.get(
    "/api/runs/{run_id}/film.npy",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A .npy file; bfloat16 as uint16, which the header X-Warpyard-DType then says",
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        },
        **documented(NotFound, Gone, Invalid, TooLarge, Unavailable),
    },
)
async def get_film(
    run_id: str,
    service: Served,
    slice_: Annotated[
        str,
        Query(alias="slice", max_length=200, description="NumPy's basic slicing; the first axis is the frames"),
    ] = "...",
) -> StreamingResponse:
    """The frames that the run has told of so far; the rounds that they show stand in its `filmed` events."""
    run = await service.events.find(run_id) if is_id(run_id) else None
    result = run.result() if run else None
    if result is None or not result.film:
        raise NotFound("There is no such run." if result is None else "This run has no film.")
    first = result.film[0]
    try:
        shape = (len(result.film), *first.shape)
        chosen, within = frame_slice(parse_slice(slice_, len(shape)), shape)
    except (ValueError, IndexError) as error:
        raise Invalid.field("slice", str(error)) from None
    wanted = [chosen] if isinstance(chosen, int) else chosen
    frames = [await _frame(service, result.film[index]) for index in wanted]
    # A slice of no frames has a shape too.
    like = frames[0] if frames else stored_array(memoryview(bytes(first.bytes)), first.dtype, first.shape)
    try:
        parts, like = [frame[within][...] for frame in frames], like[within][...]
    except IndexError as error:
        raise Invalid.field("slice", str(error)) from None
    if like.nbytes * len(parts) > service.settings.max_download_bytes:
        raise TooLarge(f"At most {service.settings.max_download_bytes:,} bytes go at once: take a slice.")
    size, pieces = encode_stack(parts, like, single=isinstance(chosen, int))
    headers = {
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{first.buffer}-film.npy"',
        # While it runs, more frames come.
        "Cache-Control": "private, max-age=3600" if result.state == "finished" else "no-store",
        "X-Warpyard-DType": first.dtype,
    }
    return StreamingResponse(pieces, headers=headers, media_type=MEDIA_TYPE)


async def _frame(service: Service, frame: Filmed) -> Array:
    data = await service.view(frame.digest)
    if data is None or len(data) != frame.bytes:
        raise Gone("The frames of this film are no longer kept: run it again.")
    return stored_array(data, frame.dtype, frame.shape)
