"""Reads a model from JSON and says of each fault which field it is in, in words."""

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from protocol.base import FieldError

M = TypeVar("M", bound=BaseModel)

MAX_FAULTS = 20
MAX_NESTING = 64


@dataclass(frozen=True)
class Fault:
    """One thing to mend. `field` is a path such as steps.0.config.block; empty for the whole."""

    field: str
    message: str


class Unreadable(ValueError):
    """The text is not such a model."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(
            "; ".join(f"{fault.field}: {fault.message}" if fault.field else fault.message for fault in faults)
        )
        self.faults = faults


def read(model: type[M], text: bytes | str) -> M:
    """The model that `text` holds as JSON. Raises Unreadable."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if nesting(raw) > MAX_NESTING:
        raise Unreadable((Fault("", f"the JSON is nested more than {MAX_NESTING} deep"),))
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        details = error.errors(include_url=False)
    if details[0]["type"] == "json_invalid":
        raise Unreadable((Fault("", f"this is not JSON: {details[0].get('ctx', {}).get('error', 'syntax error')}"),))
    payload = json.loads(raw)
    by_field: dict[str, list[ErrorDetails]] = {}
    for item in details:
        by_field.setdefault(_path(item, payload), []).append(item)
    for field in [field for field, items in by_field.items() if items[0]["type"] == "too_short"]:
        # A list with a faulty item counts as short by that item: the item's own fault says what to mend.
        if any(other.startswith(f"{field}.") for other in by_field):
            del by_field[field]
    raise Unreadable(tuple(Fault(field, _words(items)) for field, items in list(by_field.items())[:MAX_FAULTS]))


def nesting(raw: bytes) -> int:
    """Greatest depth of brackets outside strings."""
    deepest = depth = 0
    inside = escaped = False
    for byte in raw.translate(None, delete=_PLAIN):
        if inside:
            inside = escaped or byte != 0x22
            escaped = byte == 0x5C and not escaped
        elif byte == 0x22:
            inside = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


_PLAIN = bytes(set(range(256)) - set(b'"\\[]{}' + b"/bfnrtu"))
"""Bytes that decide nothing about nesting. What may follow a backslash stays, so that an escape keeps its partner."""


def _path(item: ErrorDetails, payload: Any) -> str:
    """The place in the payload, without the names of alternatives that pydantic puts between."""
    cause = item.get("ctx", {}).get("error")
    kept: list[str] = []
    here: Any = payload
    for position, part in enumerate(item["loc"]):
        inside_list = isinstance(here, list) and isinstance(part, int) and part < len(here)
        if inside_list or (isinstance(here, dict) and part in here):
            here = here[part]
        elif not (item["type"] == "missing" and position == len(item["loc"]) - 1):
            continue
        kept.append(str(part))
    if isinstance(cause, FieldError):
        kept.append(cause.field)
    return ".".join(kept)


_FORMS = {
    r"^[A-Za-z_][A-Za-z0-9_]{0,63}$": "a name is a C identifier of at most 64 characters",
    r"^[^\x00-\x1f\x7f]*$": "this is one line without control characters",
    r"^sm_(75|80|86|87|89|90|100|103|110|120|121)$": "architectures are sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, "
    "sm_100, sm_103, sm_110, sm_120 and sm_121",
    r"^(auto|emulator|gpu|gpu:[a-z0-9][a-z0-9\-]{0,31})$": "a device is auto, emulator, gpu or gpu:<type>",
    r"^[0-9a-f]{64}$": "a digest is 64 hexadecimal digits in lower case",
    r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}$": "a file name has letters, digits, _ . and - only, at most 64",
}
"""Patterns of the protocol, in words."""


def _words(items: list[ErrorDetails]) -> str:
    """One sentence for all faults of a field: alternatives of one type each say what they would have taken."""
    item = next((item for item in items if item["type"] in ("finite_number", "value_error")), items[0])
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        return "this field is not known here"
    if item["type"] == "missing":
        return "this field is required"
    if item["type"] == "value_error":
        return message
    if item["type"] == "string_pattern_mismatch":
        message = _FORMS.get(item["ctx"]["pattern"], item["msg"])
    elif item is items[0]:
        message = " or ".join(dict.fromkeys(other["msg"] for other in items))
    value = item["input"]
    return f"{message}; it is {str(value)[:60]!r}" if isinstance(value, str | int | float | bool) else message
