"""Hostile request bodies rewritten for today's API: a good request with one value of the old body in its place.

A body is taken apart as text, because what makes it hostile may be what no JSON parser accepts: NaN, 20,000 brackets,
integers of 100,000 digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from cli.attacks.corpus import GotThrough
from cli.attacks.kernels import HARMLESS

_HERE = "\u2603"
"""Where the hostile text goes; in no body by itself."""
_FIELDS = {
    "source": "source.text",
    "kernel": "steps.0.entry",
    "grid": "steps.0.config.grid",
    "block": "steps.0.config.block",
    "shared_bytes": "steps.0.config.dynamic_shared_bytes",
    "args": "steps.0.arguments",
}
_IGNORED = ("language", "note")


def good_body() -> dict[str, object]:
    """A request that is accepted and runs."""
    buffer = {"kind": "buffer", "buffer": "a"}
    launch = {
        "kind": "launch",
        "entry": "k",
        "config": {"grid": [1], "block": [32]},
        "arguments": [buffer, {"kind": "scalar", "value": 32}],
    }
    return {
        "source": {"text": HARMLESS},
        "buffers": [{"name": "a", "dtype": "float32", "shape": [32]}],
        "steps": [launch],
        "device": "emulator",
    }


def bodies(old: str) -> Iterator[tuple[str, str]]:
    """(field, body) a hostile value. Raises GotThrough where the old body cannot be taken apart."""
    for key, text in members(old):
        name = json.loads(key)
        if name in _IGNORED:
            continue
        if name in _FIELDS:
            yield _FIELDS[name], _with(_FIELDS[name], text)
        elif name == "buffers":
            for item in elements(text):
                sizes = [value for field, value in members(item) if field == '"size"']
                yield from (("buffers.0.shape", _with("buffers.0.shape", f"[{size}]")) for size in sizes)
        elif name == "files":
            yield from (("source.file_name", _with("source.file_name", file)) for file, _ in members(text))
        else:
            yield name, _with(name, text)


def _with(field: str, text: str) -> str:
    body: object = good_body()
    *path, last = field.split(".")
    place = body
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place[part]  # type: ignore[index]
    assert isinstance(place, dict)
    place[last] = _HERE
    return json.dumps(body).replace(json.dumps(_HERE), text)


def members(text: str) -> list[tuple[str, str]]:
    """(key, value) of an object's text, both as they are written."""
    pairs = [_split(part, ":") for part in _split(_inside(text, "{}"), ",")]
    if any(len(pair) < 2 for pair in pairs):
        raise GotThrough(f"no JSON object: {text[:80]}")
    return [(pair[0].strip(), ":".join(pair[1:]).strip()) for pair in pairs]


def elements(text: str) -> list[str]:
    """The items of an array's text."""
    return _split(_inside(text, "[]"), ",")


def _inside(text: str, brackets: str) -> str:
    text = text.strip()
    if text[:1] != brackets[0] or text[-1:] != brackets[1]:
        raise GotThrough(f"expected {brackets}: {text[:80]}")
    return text[1:-1]


def _split(text: str, separator: str) -> list[str]:
    """At the separators outside strings and brackets."""
    parts, begin, depth, quoted, position = [], 0, 0, False, 0
    while position < len(text):
        letter = text[position]
        if quoted:
            position += letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == separator and depth == 0:
            parts.append(text[begin:position])
            begin = position + 1
        position += 1
    rest = text[begin:]
    return [*parts, rest] if rest.strip() or parts else []
