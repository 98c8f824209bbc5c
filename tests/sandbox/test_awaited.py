"""What a launch may send back beside its events: each buffer once, each frame of its film in order, as declared."""

import json
from typing import Any

import pytest

from protocol.run import RunRequest
from sandbox.receive import Awaited, Misbehaved, event_of

RUN = RunRequest.model_validate_json(
    json.dumps(
        {
            "source": {"text": "__global__ void k(int *u) {}"},
            "buffers": [
                {"name": "u", "dtype": "int32", "shape": [2, 3]},
                {"name": "in", "dtype": "int32", "shape": [6], "role": "in"},
            ],
            "steps": [
                {"kind": "repeat", "count": 5, "steps": [{"kind": "launch", "config": {"grid": [1], "block": [1]}}]}
            ],
            "film": {"buffer": "u", "every": 2},
        }
    )
)
OF_U = {"dtype": "int32", "shape": [2, 3]}


def read(name: str = "u", **fields: Any) -> dict[str, Any]:
    return {"kind": "buffer-read", "name": name, **OF_U, **fields}


def frame(number: int, **fields: Any) -> dict[str, Any]:
    return {"kind": "filmed", "buffer": "u", "round": number, **OF_U, **fields}


def receive(*events: dict[str, Any], run: RunRequest = RUN, size: int = 24) -> None:
    awaited = Awaited(run)
    for event in events:
        event_of({"event": event}, allowed=("timed",), awaited=awaited, payload=bytes(size))


@pytest.mark.parametrize("events", [[frame(0), frame(2), frame(4), read()], [read()], [frame(0)], [read(), frame(0)]])
def test_what_is_awaited_is_taken(events: Any) -> None:
    receive(*events)


UNFILMED = RUN.model_copy(update={"film": None})


@pytest.mark.parametrize(
    ("events", "run", "size", "words"),
    [
        ([read(), read()], RUN, 24, "or twice"),
        ([read("in", shape=[6])], RUN, 24, "not asked for"),
        ([read("other")], RUN, 24, "not asked for"),
        ([read(dtype="uint32")], RUN, 24, "another type"),
        ([read()], RUN, 23, "another type, shape or size"),
        ([frame(0), frame(0)], RUN, 24, "out of order"),
        ([frame(2)], RUN, 24, "out of order"),
        ([frame(0), frame(2), frame(4), frame(6)], RUN, 24, "not asked for"),
        ([frame(0), frame(1)], RUN, 24, "out of order"),
        ([frame(0, buffer="in")], RUN, 24, "not asked for"),
        ([frame(0, shape=[6])], RUN, 24, "another type, shape or size"),
        ([frame(0)], RUN, 25, "another type, shape or size"),
        ([frame(0)], UNFILMED, 24, "not asked for"),
        ([{**frame(0), "round": -2}], RUN, 24, "malformed filmed event"),
        ([{"kind": "found"}], RUN, 24, "may not send"),
    ],
)
def test_what_is_not_awaited_is_refused(events: Any, run: RunRequest, size: int, words: str) -> None:
    with pytest.raises(Misbehaved, match=words):
        receive(*events, run=run, size=size)


def test_a_job_that_awaits_nothing_may_send_neither() -> None:
    for event in (read(), frame(0)):
        with pytest.raises(Misbehaved, match="may not send"):
            event_of({"event": event}, allowed=("timed",), payload=bytes(24))
