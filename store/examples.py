"""Reads examples/<id>.cu: a kernel whose first comment holds its launch in TOML."""

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.reading import Unreadable, read
from protocol.run import SharePayload

_FRONT = re.compile(r"\A/\*! warpyard[ \t]*\n(?P<toml>.*?)^[ \t]*\*/[ \t]*\n", re.DOTALL | re.MULTILINE)
_ID = re.compile(r"[a-z0-9][a-z0-9\-]{0,63}")
_OWN = {"title", "summary", "order", "reference", "views"}


class ExampleError(ValueError):
    """An example that cannot be read; the message begins with the file's name."""


@dataclass(frozen=True)
class Example:
    id: str
    title: str
    summary: str
    payload: SharePayload
    reference: str
    """NumPy code that computes what the kernel must; for tests."""
    order: float = 0.0


def load_examples(folder: Path) -> list[Example]:
    """All examples of a folder by `order`, then by id. Raises ExampleError."""
    if not folder.is_dir():
        raise ExampleError(f"{folder} is not a folder of examples")
    return sorted((read_example(path) for path in folder.glob("*.cu")), key=lambda item: (item.order, item.id))


def read_example(path: Path) -> Example:
    """One example. The source that is shown is the file without its front matter. Raises ExampleError."""
    if not _ID.fullmatch(path.stem):
        raise ExampleError(f"{path.name}: an example's name has small letters, digits and hyphens only")
    text = path.read_text(encoding="utf-8")
    found = _FRONT.match(text)
    if found is None:
        raise ExampleError(f"{path.name}: the first line must be '/*! warpyard', and a later one '*/'")
    try:
        front: dict[str, Any] = tomllib.loads(found["toml"])
    except tomllib.TOMLDecodeError as error:
        raise ExampleError(f"{path.name}: the front matter is not TOML: {error}") from None
    for name in ("title", "summary"):
        if not isinstance(front.get(name), str) or not front[name].strip():
            raise ExampleError(f"{path.name}: {name}: a text is required")
    if not isinstance(front.get("reference", ""), str):
        raise ExampleError(f"{path.name}: reference: NumPy code as text is required")
    order = front.get("order", 0)
    if isinstance(order, bool) or not isinstance(order, int | float):
        raise ExampleError(f"{path.name}: order: a number is required")
    request = {name: value for name, value in front.items() if name not in _OWN}
    request["source"] = {"text": text[found.end() :].lstrip("\n"), **request.get("source", {})}
    request["source"].setdefault("file_name", "kernel.cu")
    payload = {"title": front["title"], "request": request, "views": front.get("views", {})}
    try:
        body = json.dumps(payload, allow_nan=False)
        parsed = read(SharePayload, body)
    except Unreadable as error:
        raise ExampleError(f"{path.name}: {error}") from None
    except (TypeError, ValueError) as error:
        raise ExampleError(f"{path.name}: {error}: write dates, inf and nan as text") from None
    return Example(
        path.stem, front["title"], front["summary"].strip(), parsed, front.get("reference", ""), float(order)
    )
