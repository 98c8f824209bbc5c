"""The page itself, for / and for every link."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.errors import NotFound
from app.service import Served

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
async def index(service: Served) -> Response:
    return service.page.index()


@router.api_route("/k/{share_id}", methods=["GET", "HEAD"])
async def link(share_id: str, service: Served) -> Response:
    """The page looks the share up itself, and says so where there is none."""
    return service.page.index()


@router.get("/{path:path}")
async def asset(path: str, request: Request, service: Served) -> Response:
    if path.startswith("api/"):
        raise NotFound("There is no such resource.")
    return service.page.asset(path, request.headers)
