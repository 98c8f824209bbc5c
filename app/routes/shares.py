"""Links that show the same for ever."""

import asyncio
import datetime as dt
import hashlib
import json

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from app.body import read_model
from app.clients import Client
from app.errors import Invalid, NoSpace, NotFound, TooLarge, TooMany, TooSlow, Unavailable, Unsupported, documented
from app.openapi import takes
from app.service import Served, Service
from app.uploads import check_uploads, uploads_of
from protocol.base import Model
from protocol.run import RunRequest, SharePayload
from store.blobs import StorageFull
from store.identifiers import Identifier, is_id, new_id
from store.tables import Share, now

router = APIRouter(tags=["shares"])

_PLACE = "payload.request."
FOREVER = "public, max-age=31536000, immutable"


class NewShare(Model):
    payload: SharePayload
    parent: Identifier | None = None
    """The share that this one was made from."""
    run: Identifier | None = None
    """A finished run of this payload, whose results the link shows and the service keeps."""


class Shared(BaseModel):
    id: str
    url: str
    content_hash: str


class ShareAnswer(BaseModel):
    id: str
    parent: str | None
    created_at: dt.datetime
    content_hash: str
    payload: SharePayload
    run: str | None = None


def content_hash(payload: SharePayload) -> str:
    """SHA-256 of the payload's JSON with sorted keys and without spaces."""
    canonical = json.dumps(payload.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


@router.post(
    "/api/shares",
    status_code=201,
    responses=documented(Unsupported, TooSlow, TooLarge, Invalid, TooMany, Unavailable, NoSpace),
    openapi_extra=takes(NewShare),
)
async def create_share(request: Request, response: Response, service: Served, client: Client) -> Shared:
    """Keeps a payload, and the uploads that it names, for good."""
    settings = service.settings
    share = await read_model(request, NewShare, settings.max_body_bytes)
    await service.queue.take_token("share", client, settings.runs_per_second, settings.runs_burst)
    await _keep_uploads(service, share.payload)
    if share.run is not None:
        await _keep_results(service, share.run, share.payload)
    row = Share(
        id=new_id(),
        parent=share.parent,
        content_hash=content_hash(share.payload),
        payload=share.payload.model_dump_json(),
        run=share.run,
        created_at=now(),
    )
    answer = Shared(id=row.id, url=f"/k/{row.id}", content_hash=row.content_hash)
    async with AsyncSession(service.engine) as session:
        if share.parent is not None and await session.get(Share, share.parent) is None:
            raise Invalid.field("parent", "there is no such share")
        session.add(row)
        await session.commit()
    response.headers["Location"] = f"/api/shares/{answer.id}"
    return answer


@router.get(
    "/api/shares/{share_id}",
    responses={**documented(NotFound, Unavailable), 304: {"description": "As before"}},
    response_model=ShareAnswer,
)
async def get_share(share_id: str, request: Request, service: Served) -> Response:
    """What a link holds; it never changes."""
    headers = {"ETag": f'"{share_id}"', "Cache-Control": FOREVER}
    answer = await share_of(service, share_id)
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(answer, headers=headers, media_type="application/json")


async def share_of(service: Service, share_id: str) -> bytes:
    """A ShareAnswer as JSON, from memory where it has been asked for lately. Raises NotFound."""
    answer = service.shares.get(share_id)
    if answer is None:
        answer = await _stored_share(service, share_id)
        service.shares.put(share_id, answer)
    return answer


async def _stored_share(service: Service, share_id: str) -> bytes:
    """A ShareAnswer as JSON. Raises NotFound."""
    async with AsyncSession(service.engine) as session:
        row = await session.get(Share, share_id) if is_id(share_id) else None
    if row is None:
        raise NotFound("There is no such share.")
    answer = ShareAnswer(
        id=row.id,
        parent=row.parent,
        created_at=row.created_at,
        content_hash=row.content_hash,
        payload=SharePayload.model_validate_json(row.payload),
        run=row.run,
    )
    return answer.model_dump_json().encode()


async def _keep_uploads(service: Service, payload: SharePayload) -> None:
    await check_uploads(service.blobs, payload.request, _PLACE)
    for field, buffer, digest in uploads_of(payload.request):
        try:
            if not await asyncio.to_thread(service.blobs.keep, digest):
                message = f"the file for {buffer.name} is not here any more: upload it again"
                raise Invalid.field(_PLACE + field, message)
        except StorageFull:
            raise Unavailable("There is no room for more shared files.", kind="storage") from None


async def _keep_results(service: Service, run_id: str, payload: SharePayload) -> None:
    """The buffers and frames of a finished run of the same source, for as long as the link is. Raises Invalid."""
    run = await service.events.find(run_id)
    result = run.result() if run is not None else None
    if run is None or result is None or result.state != "finished":
        raise Invalid.field("run", "there is no such run, or it has not finished")
    if RunRequest.model_validate_json(run.request).source != payload.request.source:
        raise Invalid.field("run", "this run was of another source")
    try:
        for digest in (*(read.digest for read in result.buffers), *(frame.digest for frame in result.film)):
            if not await asyncio.to_thread(service.blobs.keep, digest):
                raise Invalid.field("run", "the results of this run are no longer kept: run it again")
    except StorageFull:
        raise Unavailable("There is no room for more shared results.", kind="storage") from None
