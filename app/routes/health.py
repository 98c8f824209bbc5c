"""Liveness, readiness with reasons, and metrics."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from pydantic import BaseModel
from sqlalchemy import text

from app.service import Served, Service
from store import keys
from store.version import REVISION
from store.workers import offered

router = APIRouter(tags=["health"])

PATIENCE = 2.0


class Health(BaseModel):
    status: str = "ok"


class Readiness(BaseModel):
    """`checks` says ok, or what is wrong, of the queue, the database, the blobs and the workers."""

    ready: bool
    checks: dict[str, str]


@router.get("/healthz")
async def healthz() -> Health:
    """The process lives."""
    return Health()


@router.get("/readyz", responses={503: {"model": Readiness, "description": "Something is missing"}})
async def readyz(service: Served, response: Response) -> Readiness:
    """Runs can be taken and sources compiled: queue, database and blobs answer, and workers live for both."""
    probes = {"queue": _queue, "database": _database, "blobs": _blobs, "workers": _workers}
    results = await asyncio.gather(*(_reason(probe(service)) for probe in probes.values()))
    checks = dict(zip(probes, results, strict=True))
    ready = all(result == "ok" for result in results)
    response.status_code = 200 if ready else 503
    return Readiness(ready=ready, checks=checks)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text"}},
)
async def metrics(service: Served) -> Response:
    """Prometheus metrics of this process and of the queue."""
    own = generate_latest(service.metrics.registry)
    return Response(own + generate_latest(await _shared(service)), media_type=CONTENT_TYPE_LATEST)


async def _reason(probe: Awaitable[str]) -> str:
    try:
        return await asyncio.wait_for(probe, PATIENCE)
    except TimeoutError:
        return f"no answer within {PATIENCE:g} s"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"


async def _queue(service: Service) -> str:
    await service.client.ping()
    return "ok"


async def _database(service: Service) -> str:
    async with service.engine.connect() as connection:
        found = await connection.scalar(text("select version_num from alembic_version"))
    return "ok" if found == REVISION else f"at revision {found}, not {REVISION}: run python -m store.migrate"


async def _blobs(service: Service) -> str:
    await asyncio.to_thread(service.blobs.check)
    return "ok"


async def _workers(service: Service) -> str:
    workers = await service.workers()
    refusals = " ".join(sorted({worker.refuses for worker in workers if worker.refuses}))
    if not offered(workers):
        return refusals or "no worker lives"
    if not any(worker.compiles and not worker.refuses for worker in workers):
        return refusals or "no worker compiles what is typed"
    return "ok"


async def _shared(service: Service) -> CollectorRegistry:
    """What all processes share is in Redis."""
    registry = CollectorRegistry()
    waiting = Gauge("warpyard_waiting_runs", "Runs in the queue", ("queue",), registry=registry)
    for queue in await service.client.smembers(keys.QUEUES):
        waiting.labels(queue).set(await service.client.zcard(keys.pending(str(queue))))
    running = Gauge("warpyard_running_runs", "Runs that a worker holds", registry=registry)
    running.set(await service.client.zcard(keys.RUNNING))
    ended = Gauge("warpyard_finished_runs", "Runs that have ended, by verdict", ("verdict",), registry=registry)
    verdicts: dict[Any, Any] = await service.client.hgetall(keys.VERDICTS)
    for verdict, count in verdicts.items():
        ended.labels(verdict).set(int(count))
    workers = Gauge("warpyard_workers", "Workers that live", registry=registry)
    workers.set(len(await service.workers()))
    lost = Gauge("warpyard_lost_attempts", "Attempts taken back from lost workers", registry=registry)
    lost.set(int(str(await service.client.get(keys.LOST) or 0)))
    return registry
