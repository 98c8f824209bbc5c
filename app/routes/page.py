"""The page itself, for / and for every link."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.arrays import stored_array
from app.embed import Shown, embedded
from app.errors import NotFound
from app.routes.shares import ShareAnswer, share_of
from app.service import Served, Service

router = APIRouter(include_in_schema=False)
MOST_BUFFERS = 8
FIRST_ELEMENTS = 8


@router.api_route("/", methods=["GET", "HEAD"])
async def index(service: Served) -> Response:
    return service.page.index()


@router.api_route("/k/{share_id}", methods=["GET", "HEAD"])
async def link(share_id: str, service: Served) -> Response:
    """The page looks the share up itself, and says so where there is none."""
    return service.page.index()


@router.get("/embed/{share_id}")
async def embed(share_id: str, service: Served) -> Response:
    """A link for other sites, with the results that it carries. The only page that may be framed."""
    share = ShareAnswer.model_validate_json(await share_of(service, share_id))
    shown = await _shown(service, share.run) if share.run is not None else None
    return embedded(share.id, share.payload, shown, service.settings.embed_ancestors or ("*",))


async def _shown(service: Service, run_id: str) -> Shown | None:
    run = await service.events.find(run_id)
    if run is None:
        return None
    result = run.result()
    first: dict[str, str] = {}
    for read in result.buffers[:MOST_BUFFERS]:
        data = await service.view(read.digest)
        if data is not None and len(data) == read.bytes:
            values = stored_array(data, read.dtype, read.shape).reshape(-1)
            if read.dtype != "bfloat16":
                more = ", …" if values.size > FIRST_ELEMENTS else ""
                first[read.name] = f"[{', '.join(str(value) for value in values[:FIRST_ELEMENTS])}{more}]"
    return Shown(result, run.created_at, first)


@router.get("/{path:path}")
async def asset(path: str, request: Request, service: Served) -> Response:
    if path.startswith("api/"):
        raise NotFound("There is no such resource.")
    return service.page.asset(path, request.headers)
