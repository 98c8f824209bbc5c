"""The linter's question: its faults are told at their fields."""

import json

import pytest

from protocol.inspection import InspectRequest
from protocol.reading import Unreadable, read

LAUNCH = {"kind": "launch", "config": {"grid": [1], "block": [32]}}
CASES = [
    ({"steps": [{**LAUNCH, "arguments": [{"kind": "buffer", "buffer": "x"}]}]}, "lint.steps.0.arguments.0.buffer"),
    ({"steps": [{"kind": "swap", "first": "a", "second": "b"}]}, "lint.steps"),
    ({"steps": []}, "lint.steps"),
    ({"steps": [LAUNCH], "buffers": [{"name": "x", "dtype": "float32", "shape": [1]}] * 2}, "lint.buffers.1.name"),
    ({"steps": [LAUNCH], "device": "gpu"}, "lint.device"),
]


@pytest.mark.parametrize(("lint", "field"), CASES)
def test_a_fault_is_at_its_field(lint: object, field: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(InspectRequest, json.dumps({"compile": {"source": {"text": "k"}}, "lint": lint}))
    assert caught.value.faults[0].field == field
