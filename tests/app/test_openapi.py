"""The OpenAPI document is complete, and the application keeps to it whatever it is sent."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from store import keys
from tests.app.test_service_routes import REPORT
from tests.service.harness import Served

CHECKS = (
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
EXAMPLES = 12
STREAMS = "/api/runs/{run_id}/events"


def document(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = served.http.get("/api/openapi.json").json()
    return found


@contextmanager
def answering(served: Served) -> Iterator[None]:
    """A worker that answers every compile-only question."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.005):
            while (message := served.redis.rpop(keys.COMPILE_QUEUE)) is not None:
                question = json.loads(str(message))["headers"]["id"]
                served.redis.set(keys.answer(question), REPORT.model_dump_json())
                served.redis.publish(keys.answer(question), "")

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        found = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return found.union(*map(references, node.values()))
    return set().union(*map(references, node)) if isinstance(node, list) else set()


def test_every_reference_leads_somewhere(served: Served) -> None:
    found = document(served)
    names = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert references(found) <= names


def test_bodies_and_errors_are_documented(served: Served) -> None:
    paths = document(served)["paths"]
    for path, model in (
        ("/api/runs", "RunRequest"),
        ("/api/compile", "InspectRequest"),
        ("/api/shares", "NewShare"),
    ):
        operation = paths[path]["post"]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": f"#/components/schemas/{model}"}
        for status in ("413", "415", "422", "429", "503"):
            assert list(operation["responses"][status]["content"]) == ["application/problem+json"]
    assert "text/event-stream" in paths[STREAMS]["get"]["responses"]["200"]["content"]
    schemas = document(served)["components"]["schemas"]
    assert {"RunResult", "EventRecord", "SharePayload", "InspectReport", "DeviceInfo"} <= set(schemas)


def test_generated_requests_get_documented_answers(served: Served) -> None:
    """Whatever schemathesis makes of the document: no 500, and only answers that the document has."""
    schema = schemathesis.openapi.from_dict(document(served))
    operations = [result.ok() for result in schema.get_all_operations()]
    operations = [operation for operation in operations if operation.path != STREAMS]
    assert len(operations) >= 12
    tried: Counter[str] = Counter()
    for operation in operations:

        def send(data: Any, operation: Any) -> None:
            modes = st.sampled_from(list(schemathesis.GenerationMode))
            case = data.draw(operation.as_strategy(generation_mode=data.draw(modes)))
            answer = case.call(base_url=served.url, timeout=10)
            case.validate_response(answer, checks=CHECKS)
            tried[operation.label] += 1

        bounded = settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            derandomize=True,
        )
        with answering(served):
            bounded(given(data=st.data(), operation=st.just(operation))(send))()
    assert all(tried[operation.label] for operation in operations), tried


def test_the_document_is_json_for_a_client_generator(served: Served) -> None:
    found = document(served)
    assert found["openapi"].startswith("3.")
    assert found["info"]["title"] == "Warpyard"
    assert len(json.dumps(found)) < 500_000
    for path, item in found["paths"].items():
        for method, operation in item.items():
            assert operation.get("summary"), (method, path)
            assert operation.get("description"), (method, path)
