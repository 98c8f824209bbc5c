"""A request id, one log line and the metrics of every request; the last resort for an exception."""

import re
import secrets
import time

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import Problem

log = structlog.get_logger("app.request")

_GIVEN = re.compile(r"[A-Za-z0-9\-]{8,64}")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_QUIET = ("/healthz", "/readyz", "/metrics")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """What /metrics tells of this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("warpyard_http_requests", "Requests", labels, registry=self.registry)
        self.seconds = Histogram(
            "warpyard_http_seconds",
            "Seconds until the first byte of the answer",
            ("method", "route"),
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self.streams = Gauge("warpyard_event_streams", "Event streams that are open", registry=self.registry)
        self.reaped = Counter("warpyard_reaped_runs", "Runs taken back from lost workers", registry=self.registry)


class Observe:
    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began = time.perf_counter()
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _GIVEN.fullmatch(given) else secrets.token_hex(8)
        status = 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
                self._metrics.seconds.labels(_method(scope), _route(scope)).observe(time.perf_counter() - began)
            await send(message)

        with structlog.contextvars.bound_contextvars(request=request_id):
            try:
                await self.app(scope, receive, send_noted)
            except Exception:
                log.exception("request failed", method=scope["method"], path=scope["path"])
                if status == 0:
                    problem = Problem(f"This is our fault. The log has it under {request_id}.")
                    await problem.response()(scope, receive, send_noted)
            finally:
                self._metrics.requests.labels(_method(scope), _route(scope), status).inc()
                level = "debug" if scope["path"] in _QUIET and status < 400 else "info"
                getattr(log, level)(
                    "request",
                    method=scope["method"],
                    path=scope["path"][:200],
                    status=status,
                    ms=round((time.perf_counter() - began) * 1000, 2),
                )


def _method(scope: Scope) -> str:
    """Anybody can make methods up, and each would be a series of its own."""
    return str(scope["method"]) if scope["method"] in _METHODS else "other"


def _route(scope: Scope) -> str:
    """The route's own path, so that ids in paths do not become labels."""
    return str(getattr(scope.get("route"), "path", "") or "other")
