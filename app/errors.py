"""Every error that a client sees: RFC 9457 problem details, with the field at fault.

Problem
├── Invalid          422  a body or a parameter; errors[].field is a path such as steps.0.config.block
├── NotFound         404
├── TooSlow          408
├── TooLarge         413
├── TooMany          429  with Retry-After
├── Unavailable      503  something that the service needs is away; the reason is in detail
└── NoSpace          507  the disk of the service is full
"""

import errno
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from redis.exceptions import OutOfMemoryError, RedisError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from protocol.reading import Fault

log = structlog.get_logger(__name__)

FULL, LOCKED = "database or disk is full", "database is locked"
"""How SQLite says so."""
OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT)
MEDIA_TYPE = "application/problem+json"
TYPE = "urn:warpyard:problem:"


class FieldFault(BaseModel):
    """One thing to mend in a request."""

    field: str
    """A path in the body, such as steps.0.config.block; empty for the whole."""
    message: str


class ProblemDetails(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    errors: tuple[FieldFault, ...] = ()


class Problem(Exception):
    """An answer that is not the one asked for."""

    status = 500
    kind = "internal"
    title = "Internal error"

    def __init__(
        self,
        detail: str,
        errors: Iterable[Fault] = (),
        headers: Mapping[str, str] | None = None,
        kind: str = "",
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.kind = kind or self.kind

    def response(self) -> Response:
        body = ProblemDetails(
            type=TYPE + self.kind,
            title=self.title,
            status=self.status,
            detail=self.detail,
            errors=tuple(FieldFault(field=fault.field, message=fault.message) for fault in self.errors),
        )
        return Response(body.model_dump_json(), self.status, self.headers, MEDIA_TYPE)


class Invalid(Problem):
    status, kind, title = 422, "invalid", "The request is not valid"

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> "Invalid":
        faults = tuple(faults)
        first = faults[0]
        return cls(f"{first.field}: {first.message}" if first.field else first.message, faults)

    @classmethod
    def field(cls, field: str, message: str) -> "Invalid":
        return cls.of([Fault(field, message)])


class NotFound(Problem):
    status, kind, title = 404, "not-found", "Not found"


class Forbidden(Problem):
    status, kind, title = 403, "forbidden", "Forbidden"


class BadHost(Problem):
    status, kind, title = 400, "host", "Unknown host name"


class Unsupported(Problem):
    status, kind, title = 415, "media-type", "Unsupported media type"


class Conflict(Problem):
    status, kind, title = 409, "conflict", "Conflict"


class Gone(Problem):
    status, kind, title = 410, "gone", "No longer kept"


class TooSlow(Problem):
    status, kind, title = 408, "too-slow", "The body came too slowly"


class TooLarge(Problem):
    status, kind, title = 413, "too-large", "Too large"


class TooMany(Problem):
    status, kind, title = 429, "too-many", "Too many requests"

    def __init__(self, detail: str, seconds: float, kind: str = "") -> None:
        super().__init__(detail, headers={"Retry-After": str(max(1, round(seconds + 0.5)))}, kind=kind)


class Unavailable(Problem):
    status, kind, title = 503, "unavailable", "Not available now"

    def __init__(self, detail: str, kind: str = "") -> None:
        super().__init__(detail, headers={"Retry-After": "5"}, kind=kind)


class NoSpace(Problem):
    status, kind, title = 507, "storage", "No space left"

    def __init__(self, what: str) -> None:
        super().__init__(f"The disk of this service is full, so {what}. Try again once its operator has made space.")


class TimedOut(Problem):
    status, kind, title = 504, "timeout", "No answer in time"


class _Plain(Problem):
    """What the framework itself answers, such as 405."""

    def __init__(self, error: HTTPException) -> None:
        super().__init__(str(error.detail), headers=error.headers)
        self.status, self.title = error.status_code, str(error.detail)
        self.kind = str(error.detail).lower().replace(" ", "-")


def documented(*problems: type[Problem]) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of a route."""
    return {
        problem.status: {
            "description": problem.title,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for problem in problems
    }


def install(app: FastAPI) -> None:
    """Makes every exception of a route a problem."""

    @app.exception_handler(Problem)
    async def _problem(_request: Request, error: Problem) -> Response:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def _parameters(_request: Request, error: RequestValidationError) -> Response:
        faults = [Fault(".".join(map(str, item["loc"][1:])), item["msg"]) for item in error.errors()]
        return Invalid.of(faults).response()

    @app.exception_handler(HTTPException)
    async def _http(_request: Request, error: HTTPException) -> Response:
        return _Plain(error).response()

    @app.exception_handler(RedisError)
    async def _redis(_request: Request, error: RedisError) -> Response:
        log.error("redis", error=str(error))
        if isinstance(error, OutOfMemoryError) or str(error).startswith("MISCONF"):
            return Unavailable("The queue takes nothing more: its memory or its disk is full.", kind="queue").response()
        return Unavailable("The queue does not answer. Try again in a moment.", kind="queue").response()

    @app.exception_handler(SQLAlchemyError)
    async def _database(_request: Request, error: SQLAlchemyError) -> Response:
        log.error("database", error=str(error))
        if FULL in str(error):
            return NoSpace("nothing was saved").response()
        why = "is locked by another program" if LOCKED in str(error) else "does not answer"
        return Unavailable(f"The database {why}. Nothing was saved; try again in a moment.", kind="database").response()

    @app.exception_handler(OSError)
    async def _storage(_request: Request, error: OSError) -> Response:
        if error.errno not in OUT_OF_SPACE:
            raise error
        log.error("storage", error=str(error))
        return NoSpace("the file was not kept").response()
