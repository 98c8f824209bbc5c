"""Writes the OpenAPI document of the protocol's models, from which openapi-typescript makes src/api/schema.ts."""

import json
import sys
from pathlib import Path

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from protocol.comparison import Comparison  # noqa: E402
from protocol.devices import DeviceInfo  # noqa: E402
from protocol.events import EventRecord  # noqa: E402
from protocol.inspection import InspectReport, InspectRequest  # noqa: E402
from protocol.recognition import Recognised, RecogniseRequest  # noqa: E402
from protocol.result import RunResult  # noqa: E402
from protocol.run import RunRequest, SharePayload  # noqa: E402

# Answers that hold a whole request go with what is sent: a request has one form.
SENT: list[type[BaseModel]] = [RunRequest, InspectRequest, SharePayload, InspectReport, RecogniseRequest, Recognised]
RECEIVED: list[type[BaseModel]] = [RunResult, EventRecord, DeviceInfo, Comparison]


def document() -> str:
    """OpenAPI 3.1 with one component a model, as JSON text."""
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "validation") for model in SENT]
    models += [(model, "serialization") for model in RECEIVED]
    _, schema = models_json_schema(models, ref_template="#/components/schemas/{model}")
    whole = {
        "openapi": "3.1.0",
        "info": {"title": "Warpyard protocol", "version": "1"},
        "paths": {},
        "components": {"schemas": schema["$defs"]},
    }
    return json.dumps(whole, sort_keys=True)


if __name__ == "__main__":
    sys.stdout.write(document())
