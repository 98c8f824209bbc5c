"""What a request may film, and how a film that is too much says what to change."""

import json
from typing import Any

import pytest

from protocol.events import Event, EventRecord, Queued
from protocol.film import MAX_FRAMES, Film, Filmed, filmed_repeat, frame_count, least_every
from protocol.reading import Unreadable, read
from protocol.result import fold
from protocol.run import RunRequest

LAUNCH = {
    "kind": "launch",
    "config": {"grid": [1], "block": [1]},
    "arguments": [{"kind": "buffer", "buffer": "u"}],
}
SMALL, LARGE, HUGE = [16], [1 << 20], [1 << 23]


def request(film: Any, count: int = 100, shape: Any = SMALL, steps: Any = None) -> str:
    body = {
        "source": {"text": "__global__ void k(float *u) {}"},
        "buffers": [{"name": "u", "dtype": "float64", "shape": shape}],
        "steps": steps or [{"kind": "repeat", "count": count, "steps": [LAUNCH]}],
        "film": film,
    }
    return json.dumps(body)


def repeat(*steps: Any) -> dict[str, Any]:
    return {"kind": "repeat", "count": 2, "steps": steps}


@pytest.mark.parametrize(
    ("film", "count", "shape", "step"),
    [
        ({"buffer": "u"}, 239, SMALL, "steps.0"),
        ({"buffer": "u", "every": 10}, 100, SMALL, "steps.0"),
        ({"buffer": "u", "every": 100}, 100, SMALL, "steps.0"),
        ({"buffer": "u", "every": 1, "step": "steps.0"}, 7, LARGE, "steps.0"),
    ],
)
def test_a_film_of_a_repeat(film: Any, count: int, shape: Any, step: str) -> None:
    run = read(RunRequest, request(film, count, shape))
    assert run.film is not None
    assert filmed_repeat(run.steps, run.film) == (step, run.steps[0])


def test_a_request_without_a_film_says_nothing_of_one() -> None:
    body = json.loads(request(None))
    del body["film"]
    assert read(RunRequest, json.dumps(body)).film is None


TWO = [repeat(LAUNCH), LAUNCH, repeat(LAUNCH)]


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        (request({"buffer": "v"}), "film.buffer", "no buffer is called v"),
        (request({"buffer": "u", "every": 0}), "film.every", "greater than or equal to 1"),
        (request({"buffer": "u", "every": 1.5}), "film.every", "valid integer"),
        (request({"buffer": "u", "frames": 7}), "film.frames", "not known here"),
        (request({"buffer": "u"}, steps=[LAUNCH]), "film", "nothing is repeated"),
        (request({"buffer": "u"}, steps=TWO), "film.step", "2 repeats: name the one to film (steps.0, steps.2)"),
        (request({"buffer": "u", "step": "steps.1"}, steps=TWO), "film.step", "steps.1 is no repeat"),
        (request({"buffer": "u", "step": "steps.0.steps.0"}, steps=[repeat(repeat(LAUNCH))]), "film.step", "no other"),
        (request({"buffer": "u", "every": 101}), "film.every", "the repeat has 100 rounds: film every 100 or fewer"),
        (request({"buffer": "u"}, 240), "film.every", "241 frames, and at most 240 are kept: film every 2 rounds"),
        (request({"buffer": "u", "every": 3}, 10_000), "film.every", "3,334 frames, and at most 240"),
        (request({"buffer": "u"}, 100, LARGE), "film.every", "at most 8 are kept, since a film of u has at most 67,"),
        (request({"buffer": "u"}, 100, LARGE), "film.every", "film every 13 rounds or more"),
        (request({"buffer": "u", "every": 100}, 100, HUGE), "film.buffer", "two are the least"),
    ],
)
def test_a_fault_says_what_to_change(text: str, field: str, words: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(RunRequest, text)
    (fault,) = caught.value.faults
    assert fault.field == field
    assert words in fault.message


@pytest.mark.parametrize("most", [2, 3, 7, MAX_FRAMES])
@pytest.mark.parametrize("rounds", [1, 2, 8, 239, 240, 479, 480, 10_000])
def test_what_a_fault_proposes_is_the_least_that_fits(rounds: int, most: int) -> None:
    every = least_every(rounds, most)
    assert frame_count(rounds, every) <= most
    assert every == 1 or frame_count(rounds, every - 1) > most


def test_the_choice_of_a_repeat_among_several() -> None:
    run = read(RunRequest, request({"buffer": "u", "step": "steps.2"}, steps=TWO))
    assert filmed_repeat(run.steps, Film(buffer="u", step="steps.2")) == ("steps.2", run.steps[2])


def test_a_later_attempt_films_anew() -> None:
    """As the reducer has it: frames of a lost attempt are not mixed with those of the next."""
    frame = Filmed(buffer="a", round=0, dtype="int32", shape=(1,), digest="0" * 64, bytes=4)
    events: list[tuple[str, Event]] = [
        ("0-1", Queued(device="emulator")),
        ("1-1", frame),
        ("1-2", frame.model_copy(update={"round": 1})),
        ("2-1", frame),
    ]
    result = fold(EventRecord(id=place, at=0.0, event=event) for place, event in events)
    assert [item.round for item in result.film] == [0]
