"""The format of stored payloads is frozen: links made by version 1 open for ever."""

import json
from pathlib import Path
from typing import Any

from protocol.run import SharePayload

DATA = Path(__file__).parent.parent / "data" / "protocol"


def test_a_share_of_version_1_opens_and_is_written_the_same() -> None:
    text = (DATA / "share_v1.json").read_text()
    written = json.loads(SharePayload.model_validate_json(text).model_dump_json())
    assert contains(written, json.loads(text))


def test_nothing_that_version_1_accepts_has_gone() -> None:
    """Every definition, property and alternative of the schema stored at the freeze is still there."""
    frozen = json.loads((DATA / "share_v1.schema.json").read_text())
    assert missing(frozen, SharePayload.model_json_schema(), "") == []


def contains(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(contains(a, b) for a, b in zip(whole, part, strict=True))
    return bool(whole == part)


def missing(old: Any, new: Any, path: str) -> list[str]:
    """Places where `new` lacks what `old` allowed; requirements may go but not come."""
    if isinstance(old, dict) and isinstance(new, dict):
        if old in new.get("oneOf", new.get("anyOf", [])):
            return []  # what was accepted here is now one of several alternatives
        if "const" in old and old["const"] in new.get("enum", []):
            new = {**new, "const": old["const"]}  # the one word of then is now one of several
        lost = [] if set(new.get("required", [])) <= set(old.get("required", [])) else [f"{path}.required"]
        for key, value in old.items():
            if key in ("description", "title", "required", "maximum", "maxLength", "maxItems", "examples"):
                continue
            lost += missing(value, new[key], f"{path}.{key}") if key in new else [f"{path}.{key}"]
        return lost
    if isinstance(old, list) and isinstance(new, list):
        return [f"{path}[{item}]" for item in old if item not in new]
    return [] if old == new else [f"{path}: {old!r} became {new!r}"]
