"""Bad input by HTTP: status, field or line, words; and the next run is right."""

import json
import re
from typing import Any

import pytest

from protocol.result import RunResult
from tests.bad_input.cases import API, GOOD, UPLOADS, Api, Upload
from tests.bad_input.files import bad_array
from tests.service.harness import Served

pytestmark = pytest.mark.service


def good_body() -> dict[str, Any]:
    return {
        "source": {"text": GOOD},
        "options": {},
        "buffers": [{"name": "a", "dtype": "float32", "shape": [32], "init": {"kind": "arange"}}],
        "steps": [
            {
                "kind": "launch",
                "entry": "",
                "config": {"grid": [1], "block": [32]},
                "arguments": [{"kind": "buffer", "buffer": "a"}, {"kind": "scalar", "value": 2.5}],
            }
        ],
    }


def body_of(case: Api) -> str:
    body = good_body()
    for path, value in case.body.items():
        *parents, last = path.split(".")
        here: Any = body
        for part in parents:
            here = here[int(part) if part.isdigit() else part]
        here[int(last) if last.isdigit() else last] = value
    text = json.dumps(body)
    return text if case.text is None else text.replace(*case.text, 1)


def ended(served: Served, run_id: str) -> RunResult:
    assert served.events(run_id, seconds=40)[-1].kind == "finished"
    return RunResult.model_validate_json(json.dumps(served.http.get(f"/api/runs/{run_id}").json()["result"]))


def runs_well(served: Served) -> None:
    answer = served.http.post("/api/runs", json=good_body())
    assert answer.status_code == 202, answer.text
    result = ended(served, answer.json()["id"])
    assert (result.verdict, result.buffers[0].minimum, result.buffers[0].maximum) == ("ok", 2.5, 2.5)


@pytest.mark.parametrize("case", API, ids=lambda case: f"{case.item} {case.place or case.words}"[:60])
def test_a_run(whole: Served, case: Api) -> None:
    answer = whole.http.post("/api/runs", content=body_of(case), headers={"content-type": "application/json"})
    assert answer.status_code == case.status, answer.text
    if case.status != 202:
        problem = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert [fault["field"] for fault in problem["errors"]] == ([case.place] if case.place else [])
        assert re.search(case.words, problem["detail"]), problem
        return
    result = ended(whole, answer.json()["id"])
    told = [*result.diagnostics, *result.findings]
    assert re.fullmatch(case.verdict, result.verdict), result
    assert re.search(case.words, "\n".join([result.message, *(item.message for item in told)])), result
    if case.place:
        places = {str(item.span.line) for item in told if item.span} | {getattr(item, "field", None) for item in told}
        assert case.place in places, told


@pytest.mark.parametrize("case", UPLOADS, ids=lambda case: f"{case.item} {case.file}")
def test_an_upload(whole: Served, case: Upload) -> None:
    answer = whole.http.post("/api/uploads", content=bad_array(case.file))
    assert answer.status_code == case.status
    assert re.search(case.words, answer.json()["detail"]), answer.text


def test_a_missing_share(whole: Served) -> None:
    for name in ("1" * 11, "no-such", "../../etc"):
        answer = whole.http.get(f"/api/shares/{name}")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert whole.http.get("/api/shares/11111111111").json()["detail"] == "There is no such share."


def test_nothing_is_lost_by_all_that(whole: Served) -> None:
    runs_well(whole)
