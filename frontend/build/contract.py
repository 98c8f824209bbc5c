"""Writes src/contract/cases.json: what the protocol answers, for the page's tests to answer alike."""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from protocol.arguments import Buffer  # noqa: E402
from protocol.dtypes import read_number  # noqa: E402
from protocol.events import EventRecord  # noqa: E402
from protocol.launch import MAX_DEPTH, MAX_LAUNCHES, MAX_STEPS, LaunchConfig, resolve_grid  # noqa: E402
from protocol.result import fold  # noqa: E402
from protocol.run import SharePayload  # noqa: E402
from store.examples import load_examples  # noqa: E402

TARGET = ROOT / "frontend" / "src" / "contract" / "cases.json"

NUMBERS = [
    *("0", "1", "-1", "255", "256", "0xff", "-0x80", "1_000", "1__0", "007", "00", "+5", "1.5", ".5", "1.", "1e-3"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551615", "1e400"),
    *("nan", "-inf", "Infinity", "true", "FALSE", "yes", "", " 7 ", "1+2j", "1 + 2j", "2j", "-j", "1+", "one"),
]
DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "complex64"]
GRIDS = [
    *(([1000], [256], 1), ([512, 512], [16, 16], 1), ([3, 5, 7], [2, 2, 2], 1)),
    *(([2, 3, 5, 7], [4, 1, 1], 1), ([10], [0], 1), ([17, 33], [32], 1), ([33, 1], [32, 2], 1)),
    *(([1024, 4], [256], 4), ([1024], [256], 2), ([6, 10, 4], [4, 4], 2), ([7], [2], 4), ([4], [32], 4)),
]

WARNING = {"severity": "warning", "message": "unused", "span": {"line": 3, "column": 5}}
LAUNCHED = {"step": "steps.0", "entry": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "dynamic_shared_bytes": 0}
FOUND = {"class": "memory", "code": "out-of-bounds", "message": "too far", "block": [0, 0, 0]}
READ = {"name": "a", "dtype": "float32", "shape": [4], "digest": "0" * 64, "bytes": 16}
FILMED = {"buffer": "a", "round": 0, "dtype": "float32", "shape": [4], "digest": "0" * 64, "bytes": 16, "minimum": 0}
CHECKED = {"buffer": "a", "passed": False, "differing": 1, "index": [2], "got": "nan", "expected": 1.5}
QUEUED = {"kind": "queued", "device": "emulator", "position": 2}
STREAMS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "nothing": [],
    "queued": [("0-1", QUEUED)],
    "running": [("0-1", QUEUED), ("1-1", {"kind": "compiling", "attempt": 1, "worker": "w"})],
    "a whole run": [
        ("0-1", QUEUED),
        ("1-1", {"kind": "compiling", "attempt": 1}),
        ("1-2", {"kind": "timed", "stage": "compile", "seconds": 0.25}),
        ("1-3", {"kind": "diagnosed", "diagnostic": WARNING}),
        ("1-4", {"kind": "compiled", "architecture": "sm_90", "toolchain": "NVRTC 13.0", "entries": []}),
        ("1-5", {"kind": "launched", "device": "emulator", "device_name": "PTX emulator", **LAUNCHED}),
        ("1-6", {"kind": "printed", "text": "a 🙂\n"}),
        ("1-7", {"kind": "printed", "text": "b\n"}),
        ("1-8", {"kind": "found", **FOUND}),
        ("1-9", {"kind": "counted", "step": "steps.0", "counters": {"instructions": 12}}),
        ("1-10", {"kind": "filmed", **FILMED}),
        ("1-11", {"kind": "filmed", **FILMED, "round": 5}),
        ("1-12", {"kind": "buffer-read", **READ}),
        ("1-13", {"kind": "checked", **CHECKED}),
        ("1-14", {"kind": "finished", "verdict": "error", "message": "stopped", "seconds": 1.5}),
    ],
    "a second attempt replaces the first": [
        ("0-1", QUEUED),
        ("1-1", {"kind": "compiling", "attempt": 1}),
        ("1-2", {"kind": "printed", "text": "lost"}),
        ("2-1", {"kind": "compiling", "attempt": 2}),
        ("1-3", {"kind": "printed", "text": "stale"}),
        ("2-2", {"kind": "printed", "text": "kept"}),
    ],
    "events after the end": [
        ("1-1", {"kind": "finished", "verdict": "limit:wall", "message": "longer than 10 s"}),
        ("1-2", {"kind": "timed", "stage": "total", "seconds": 10.0}),
    ],
}


def number_case(text: str, dtype: str) -> bool:
    try:
        read_number(text, dtype)
    except ValueError:
        return False
    return True


def stream_case(pairs: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    texts = [json.dumps({"id": id_, "at": 1.0, "event": event}) for id_, event in pairs]
    records = [EventRecord.model_validate_json(text) for text in texts]
    return {
        "records": [record.model_dump(mode="json") for record in records],
        "result": fold(records).model_dump(mode="json"),
    }


def grid_case(shape: list[int], block: list[int], components: int) -> list[int]:
    buffer = Buffer(name="a", dtype="uint8", shape=tuple(shape))
    grid = {"kind": "cover", "buffer": "a", "components": components}
    config = LaunchConfig.model_validate_json(json.dumps({"grid": grid, "block": block}))
    return list(resolve_grid(config, [buffer]))


def payloads() -> dict[str, Any]:
    frozen = json.loads((ROOT / "tests" / "data" / "protocol" / "share_v1.json").read_text())
    found = {example.id: example.payload for example in load_examples(ROOT / "examples")}
    found["everything version 1 can say"] = SharePayload.model_validate_json(json.dumps(frozen))
    return {name: payload.model_dump(mode="json", exclude_none=True) for name, payload in found.items()}


def document() -> str:
    cases = {
        "steps": {"launches": MAX_LAUNCHES, "steps": MAX_STEPS, "depth": MAX_DEPTH},
        "numbers": [[text, dtype, number_case(text, dtype)] for text in NUMBERS for dtype in DTYPES],
        "grids": [[shape, block, vector, grid_case(shape, block, vector)] for shape, block, vector in GRIDS],
        "streams": {name: stream_case(pairs) for name, pairs in STREAMS.items()},
        "payloads": payloads(),
    }
    return json.dumps(cases, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(document())
