"""The events of a run as a stream that can be resumed."""

from collections.abc import AsyncIterable
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.clients import Client
from app.errors import Invalid, NotFound, TooMany, Unavailable, documented
from app.event_log import START, Place, place_of
from app.service import Served
from store.identifiers import is_id

router = APIRouter(tags=["runs"])

RETRY_MS = 500


class NothingMore(Exception):
    """The reader has had the last event: 204 tells an EventSource to stop asking."""


def install(app: FastAPI) -> None:
    @app.exception_handler(NothingMore)
    async def _nothing(_request: Request, _error: NothingMore) -> Response:
        return Response(status_code=204)


async def _place(
    run_id: str, service: Served, last_event_id: Annotated[str | None, Header(max_length=40)] = None
) -> Place:
    """Where to go on. Raises NotFound, Invalid, NothingMore; nothing of the answer has been sent by then."""
    if not is_id(run_id):
        raise NotFound("There is no such run.")
    try:
        place = place_of(last_event_id) if last_event_id else START
    except ValueError:
        raise Invalid.field("last-event-id", "give the id of an event, such as 1-7") from None
    state = await service.events.state(run_id)
    if state is None:
        raise NotFound("There is no such run.")
    if state == "finished" and place != START and not await service.events.more(run_id, place):
        raise NothingMore
    return place


async def _counted(service: Served, client: Client) -> AsyncIterable[None]:
    """One of the streams that this process serves at once. Raises TooMany, Unavailable."""
    if service.streams[client.id] >= service.settings.max_streams_per_client:
        raise TooMany(f"{service.streams[client.id]} event streams of yours are open already.", 5, kind="streams")
    if service.streams.total() >= service.settings.max_streams:
        raise Unavailable("Too many event streams are open. Try again in a moment.", kind="streams")
    service.streams[client.id] += 1
    service.metrics.streams.inc()
    try:
        yield
    finally:
        service.streams[client.id] -= 1
        if not service.streams[client.id]:
            del service.streams[client.id]
        service.metrics.streams.dec()


@router.get(
    "/api/runs/{run_id}/events",
    response_class=EventSourceResponse,
    dependencies=[Depends(_counted)],
    responses={
        **documented(NotFound, Invalid, TooMany, Unavailable),
        204: {"description": "The event of Last-Event-ID was the last one"},
    },
)
async def stream_events(
    run_id: str, service: Served, place: Annotated[Place, Depends(_place)]
) -> AsyncIterable[ServerSentEvent]:
    """Each event once and in order: `id` is <attempt>-<sequence>, `event` its kind, `data` an EventRecord.

    A connection that breaks goes on after Last-Event-ID. The stream ends after `finished`.
    """
    yield ServerSentEvent(retry=RETRY_MS, comment="warpyard")
    async for told in service.events.follow(run_id, place):
        yield ServerSentEvent(id=told.id, event=told.kind, raw_data=told.record)
