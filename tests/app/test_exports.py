"""Runs to take away: what is downloaded, and the problem where there is nothing to download."""

import pytest

from protocol.events import Compiled, Finished
from protocol.kernel import Entry, Parameter, Resources
from tests.app.test_runs import problem
from tests.service.harness import SOURCE, Served, run_body

SCALE = Entry(
    name="_Z5scalePff",
    display="scale",
    parameters=(
        Parameter(name="a", type="float *", kind="pointer", dtype="float32", bytes=8, offset=0),
        Parameter(name="f", type="float", kind="scalar", dtype="float32", bytes=4, offset=8),
    ),
    resources=Resources(registers=8),
)


def compiled_run(served: Served, *entries: Entry) -> str:
    run_id: str = served.http.post("/api/runs", json=run_body()).json()["id"]
    held = served.claim(run_id)
    if entries:
        served.claims.emit(held, Compiled(architecture="sm_90", toolchain="NVRTC 13.0", entries=entries))
    served.claims.finish(held, Finished(verdict="ok" if entries else "compile-error"))
    return run_id


@pytest.mark.parametrize(
    ("query", "name", "media", "parts"),
    [
        ("", "kernel_cupy.py", "text/x-python", (f'SOURCE = r"""{SOURCE}"""', "np.float32(2.0),  # float f")),
        ("?format=cupy", "kernel_cupy.py", "text/x-python", ("cupy.RawModule(",)),
        ("?format=cu", "kernel_main.cu", "text/x-cuda", (SOURCE, "scale<<<dim3(1, 1, 1), dim3(32, 1, 1)>>>(")),
    ],
)
def test_a_run_is_taken_away(served: Served, query: str, name: str, media: str, parts: tuple[str, ...]) -> None:
    answer = served.http.get(f"/api/runs/{compiled_run(served, SCALE)}/export{query}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == f"{media}; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    for part in parts:
        assert part in answer.text


def test_what_cannot_be_taken_away_is_a_problem(served: Served) -> None:
    for run_id in ("1" * 11, "x"):
        problem(served.http.get(f"/api/runs/{run_id}/export"), 404)
    never = problem(served.http.get(f"/api/runs/{compiled_run(served)}/export?format=cu"), 409)
    assert never["type"].endswith("not-compiled")
    run_id = compiled_run(served, SCALE)
    (fault,) = problem(served.http.get(f"/api/runs/{run_id}/export?format=ptx"), 422)["errors"]
    assert fault["field"] == "format"
    other = SCALE.model_copy(update={"parameters": SCALE.parameters[:1]})
    (fault,) = problem(served.http.get(f"/api/runs/{compiled_run(served, other)}/export"), 422)["errors"]
    assert fault == {"field": "steps.0.arguments", "message": "2 given, but scale takes 1"}
