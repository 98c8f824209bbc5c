"""Compile only: what the page shows while a kernel is edited."""

import asyncio
import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.body import read_model
from app.clients import Caller, Client
from app.errors import Invalid, TimedOut, TooLarge, TooMany, TooSlow, Unavailable, Unsupported, documented
from app.hub import Subscription
from app.openapi import takes
from app.service import Served, Service
from app.tasks import end
from protocol.inspection import InspectReport, InspectRequest
from protocol.recognition import Recognised, RecogniseRequest
from protocol.run import CompileRequest
from store import keys
from store.identifiers import new_id

router = APIRouter(tags=["compile"])

LOOK_AGAIN = 1.0


@router.post(
    "/api/compile",
    response_model=InspectReport,
    responses=documented(Unsupported, TooSlow, TooLarge, Invalid, TooMany, Unavailable, TimedOut),
    openapi_extra=takes(InspectRequest),
)
async def inspect(request: Request, service: Served, client: Client) -> Response:
    """Entries, parameters, resources, occupancy and diagnostics. A client that goes away stops the work."""
    body = await read_model(request, InspectRequest, service.settings.max_body_bytes)
    return Response(await _asked(body, request, service, client), media_type="application/json")


@router.post(
    "/api/recognise",
    response_model=Recognised,
    responses=documented(Unsupported, TooSlow, TooLarge, Invalid, TooMany, Unavailable, TimedOut),
    openapi_extra=takes(RecogniseRequest),
)
async def recognise(request: Request, service: Served, client: Client) -> Response:
    """CuPy's kernels in a Python text, each as a run. The text is read, never executed."""
    body = await read_model(request, RecogniseRequest, service.settings.max_body_bytes)
    question = InspectRequest(compile=CompileRequest(source=body.source), recognise=True)
    report = InspectReport.model_validate_json(await _asked(question, request, service, client))
    found = report.recognised or Recognised(verdict=report.verdict, message=report.message)
    return Response(found.model_dump_json(), media_type="application/json")


async def _asked(body: InspectRequest, request: Request, service: Service, client: Caller) -> str:
    """The report of a worker that compiles, as JSON."""
    settings = service.settings
    await service.queue.take_token("compile", client, settings.compiles_per_second, settings.compiles_burst)
    await _check_workers(service)
    question = new_id()
    async with service.hub.subscribe(keys.answer(question)) as news:
        seconds = settings.inspect_timeout
        await service.client.set(keys.question(question), body.model_dump_json(), ex=int(seconds) + 5)
        tasks: list[asyncio.Task[Any]] = []
        try:
            await service.queue.ask(question, seconds)
            answering = asyncio.create_task(_answer(service, question, news))
            tasks = [answering, asyncio.create_task(_gone(request))]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise TimedOut("The client went away.")
            return answering.result()
        finally:
            await end(*tasks)
            # A worker that still works on it sees that nobody waits any more.
            await service.client.delete(keys.question(question))


async def _check_workers(service: Service) -> None:
    workers = await service.awaited(lambda worker: worker.compiles)
    if not any(worker.compiles and not worker.refuses for worker in workers):
        reasons = sorted({worker.refuses for worker in workers if worker.refuses})
        raise Unavailable(" ".join(reasons) or "No worker that compiles is running.", kind="no-compiler")
    if await service.client.llen(keys.COMPILE_QUEUE) >= service.settings.inspect_cap:
        raise Unavailable("Too many compilations wait. Try again in a moment.", kind="queue-full")


async def _answer(service: Service, question: str, news: Subscription) -> str:
    """The report as JSON. Raises TimedOut, Unavailable."""
    deadline = time.monotonic() + service.settings.inspect_timeout
    while time.monotonic() < deadline:
        await news.next(min(LOOK_AGAIN, service.settings.inspect_timeout))
        if news.closed:
            raise Unavailable("The service restarts. Try again in a moment.")
        answer = await service.client.getdel(keys.answer(question))
        if answer is not None:
            return str(answer)
    raise TimedOut(f"No worker answered within {service.settings.inspect_timeout:g} s.")


async def _gone(request: Request) -> None:
    """Returns once the client has gone away; the body has been read by then."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
