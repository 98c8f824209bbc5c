"""The film of a run goes out as one array, frames first, whole or sliced, while it runs and afterwards."""

import io
import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from protocol.events import Finished
from protocol.film import Filmed
from protocol.run import RunRequest
from store.claims import HeldRun
from tests.app.test_runs import problem
from tests.service.harness import Served, run_body

FILM = np.arange(5 * 4 * 3, dtype="int32").reshape(5, 4, 3)


def started(served: Served) -> tuple[str, HeldRun]:
    run_id = served.post_run()
    return run_id, served.claim(run_id)


def emit_frames(served: Served, held: HeldRun, frames: Any, dtype: str) -> None:
    for number, frame in enumerate(frames):
        digest = served.app.state.service.blobs.put(frame.tobytes())
        event = Filmed(
            buffer="a",
            round=2 * number,
            dtype=dtype,  # type: ignore[arg-type]
            shape=frame.shape,
            digest=digest,
            bytes=frame.nbytes,
        )
        served.claims.emit(held, event)


def filmed(served: Served, frames: Any = FILM, dtype: str = "int32") -> str:
    run_id, held = started(served)
    emit_frames(served, held, frames, dtype)
    served.claims.finish(held, Finished(verdict="ok"))
    return run_id


SLICES = (
    *("...", ":", "0:2", "3", "-1", "::2", "::-1", "5:2", "0:0", "1:3,::2", "2,3,1", "...,2", "...,1,2,0", "...,1:,0"),
    *(":,1", "1:4,2,1", "0,...", "-1,...,0", " 1 : 3 , 2 "),
)


@pytest.mark.parametrize("text", SLICES)
def test_slices_are_numpys_with_the_frames_first(served: Served, text: str) -> None:
    answer = served.http.get(f"/api/runs/{filmed(served)}/film.npy", params={"slice": text})
    assert answer.status_code == 200, answer.text
    got, expected = np.load(io.BytesIO(answer.content)), eval(f"FILM[{text}]")
    assert (got.dtype, got.shape) == (FILM.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.headers["content-disposition"] == 'attachment; filename="a-film.npy"'
    assert "max-age" in answer.headers["cache-control"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", "index 5 is out of bounds for axis 0 with size 5"),
        ("-6", "index -6 is out of bounds"),
        ("0,4", "index 4 is out of bounds"),
        ("0:0,4", "index 4 is out of bounds"),
        ("1,1,1,1", "4 indices for 3 dimensions"),
        ("a", "is not an index"),
    ],
)
def test_a_wrong_slice_is_named(served: Served, text: str, message: str) -> None:
    answer = served.http.get(f"/api/runs/{filmed(served)}/film.npy", params={"slice": text})
    (error,) = problem(answer, 422)["errors"]
    assert error["field"] == "slice"
    assert message in error["message"]


def test_bfloat16_goes_out_as_uint16(served: Served) -> None:
    frames = np.array([[1.5, -2], [0, 3]], dtype=ml_dtypes.bfloat16)
    answer = served.http.get(f"/api/runs/{filmed(served, frames, 'bfloat16')}/film.npy")
    assert answer.headers["x-warpyard-dtype"] == "bfloat16"
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.content)).view(ml_dtypes.bfloat16), frames)


def test_what_there_is_of_a_running_film_is_not_kept_by_browsers(served: Served) -> None:
    run_id, held = started(served)
    problem(served.http.get(f"/api/runs/{run_id}/film.npy"), 404)
    emit_frames(served, held, FILM[:2], "int32")
    answer = served.http.get(f"/api/runs/{run_id}/film.npy")
    assert np.load(io.BytesIO(answer.content)).shape == (2, 4, 3)
    assert answer.headers["cache-control"] == "no-store"


def test_frames_that_are_gone(served: Served) -> None:
    run_id = filmed(served)
    problem(served.http.get("/api/runs/nothing/film.npy"), 404)
    for path in served.settings.data_dir.joinpath("blobs").rglob("*"):
        if path.is_file():
            path.write_bytes(b"cut")
    problem(served.http.get(f"/api/runs/{run_id}/film.npy"), 410)


FILMING = run_body(
    steps=[{"kind": "repeat", "count": 400, "steps": run_body()["steps"]}], film={"buffer": "a", "every": 4}
)


@pytest.mark.parametrize(
    ("film", "field", "words"),
    [
        ({"buffer": "b"}, "film.buffer", "no buffer is called b"),
        ({"buffer": "a"}, "film.every", "401 frames, and at most 240 are kept: film every 2 rounds or more"),
        ({"buffer": "a", "every": -1}, "film.every", "greater than or equal to 1"),
    ],
)
def test_a_film_that_cannot_be_taken_is_refused_at_its_field(served: Served, film: Any, field: str, words: str) -> None:
    (error,) = problem(served.http.post("/api/runs", json=FILMING | {"film": film}), 422)["errors"]
    assert error["field"] == field
    assert words in error["message"]


def test_a_link_holds_the_film(served: Served) -> None:
    made = served.http.post("/api/shares", json={"payload": {"request": FILMING}})
    assert made.status_code == 201, made.text
    request = served.http.get(f"/api/shares/{made.json()['id']}").json()["payload"]["request"]
    assert request["film"] == {"buffer": "a", "every": 4, "step": None}
    film = RunRequest.model_validate_json(json.dumps(request)).film
    assert film is not None and film.every == 4
