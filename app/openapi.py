"""The OpenAPI document: bodies are read raw, so their schemas are put in here."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.errors import ProblemDetails
from protocol.events import EventRecord

_REF = "#/components/schemas/{model}"


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """For `openapi_extra=` of a route whose body is JSON of `model`."""
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": _REF.format(model=model.__name__)}}},
        }
    }


def install(app: FastAPI, bodies: tuple[type[BaseModel], ...]) -> None:
    """Makes app.openapi() complete: request bodies, problem details, and the events inside a stream."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                separate_input_output_schemas=False,
            )
            models = [(model, "validation") for model in (*bodies, ProblemDetails, EventRecord)]
            _, extra = models_json_schema(models, ref_template=_REF)  # type: ignore[arg-type]
            document.setdefault("components", {}).setdefault("schemas", {}).update(extra["$defs"])
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = build  # type: ignore[method-assign]
