"""Runs: send, look up, cancel."""

import datetime as dt
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, StringConstraints

from app.body import read_model
from app.clients import Client
from app.errors import (
    Conflict,
    Invalid,
    NoSpace,
    NotFound,
    TooLarge,
    TooMany,
    TooSlow,
    Unavailable,
    Unsupported,
    documented,
)
from app.openapi import takes
from app.service import Served
from app.uploads import check_uploads
from protocol.result import RunResult
from protocol.run import RunRequest
from store.identifiers import is_id
from store.workers import NoDevice, WrongArchitecture, offered, resolve

router = APIRouter(tags=["runs"])

IdempotencyKey = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,64}$")] | None,
    Header(description="Of a request that may be sent twice: the second one gets the first one's run."),
]


class Accepted(BaseModel):
    """A run that waits; `position` counts the runs ahead of it."""

    id: str
    state: Literal["queued", "running", "finished"]
    device: str
    position: int


class Place(BaseModel):
    """`ahead` counts the runs that are taken up before it; `seconds` until it is, about, where that is known."""

    id: str
    state: Literal["queued", "running", "finished"]
    ahead: int
    seconds: float | None


class State(BaseModel):
    id: str
    state: Literal["queued", "running", "finished"]


class RunAnswer(BaseModel):
    id: str
    created_at: dt.datetime
    request: RunRequest
    result: RunResult


@router.post(
    "/api/runs",
    status_code=202,
    responses=documented(Unsupported, TooSlow, TooLarge, Invalid, Conflict, TooMany, Unavailable),
    openapi_extra=takes(RunRequest),
)
async def create_run(
    request: Request,
    response: Response,
    service: Served,
    client: Client,
    idempotency_key: IdempotencyKey = None,
) -> Accepted:
    """Queues a run. Its events are at /api/runs/{id}/events."""
    run = await read_model(request, RunRequest, service.settings.max_body_bytes)
    try:
        device = resolve(run, await service.awaited(lambda worker: bool(worker.devices)))
    except NoDevice as error:
        raise Unavailable(str(error), kind="no-device") from None
    except WrongArchitecture as error:
        raise Invalid.field("architecture", str(error)) from None
    await check_uploads(service.blobs, run)
    admitted = await service.queue.admit(run, device, client, idempotency_key)
    response.headers["Location"] = f"/api/runs/{admitted.id}"
    return Accepted.model_validate(
        {"id": admitted.id, "state": admitted.state, "device": admitted.device, "position": admitted.position}
    )


@router.get("/api/runs/{run_id}", responses=documented(NotFound, Unavailable))
async def get_run(run_id: str, service: Served) -> RunAnswer:
    """The request and what has come of it by now."""
    run = await service.events.find(run_id) if is_id(run_id) else None
    if run is None:
        raise NotFound("There is no such run.")
    return RunAnswer(
        id=run.id,
        created_at=run.created_at,
        request=RunRequest.model_validate_json(run.request),
        result=run.result(),
    )


@router.get("/api/runs/{run_id}/place", responses=documented(NotFound, Unavailable))
async def get_place(run_id: str, service: Served) -> Place:
    """How long the line is before a run. Clients take turns, so a run may be overtaken by those of others."""
    slots = {device.id: device.workers for device in offered(await service.workers())}
    place = await service.queue.place(run_id, lambda device: slots.get(device, 1)) if is_id(run_id) else None
    state = place.state if place else await service.events.state(run_id) if is_id(run_id) else None
    if state is None:
        raise NotFound("There is no such run.")
    return Place.model_validate(
        {
            "id": run_id,
            "state": state,
            "ahead": place.ahead if place else 0,
            "seconds": place.seconds if place else None,
        }
    )


@router.delete("/api/runs/{run_id}", status_code=202, responses=documented(NotFound, Unavailable, NoSpace))
async def cancel_run(run_id: str, service: Served) -> State:
    """Asks for the end of a run, queued or running; a finished one stays as it is."""
    state = await service.queue.cancel(run_id) if is_id(run_id) else None
    if state is None and is_id(run_id):
        state = await service.events.state(run_id)
    if state is None:
        raise NotFound("There is no such run.")
    return State.model_validate({"id": run_id, "state": state})
