"""Reads examples/<id>.cu: a kernel whose first comment holds its launch in TOML; data/ has the files that they ship."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.reading import Unreadable, read
from protocol.run import SharePayload

_FRONT = re.compile(r"\A/\*! warpyard[ \t]*\n(?P<toml>.*?)^[ \t]*\*/[ \t]*\n", re.DOTALL | re.MULTILINE)
_ID = re.compile(r"[a-z0-9][a-z0-9\-]{0,63}")
_FILE = re.compile(r"[a-z0-9][a-z0-9\-]{0,63}\.npy")
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
    files: tuple[tuple[str, Path], ...] = ()
    """Shipped .npy files by their digest, which the payload has as uploads: whoever runs the example stores them."""


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
    files = dict(_shipped(request, path))
    payload = {"title": front["title"], "request": request, "views": front.get("views", {})}
    try:
        body = json.dumps(payload, allow_nan=False)
        parsed = read(SharePayload, body)
    except Unreadable as error:
        raise ExampleError(f"{path.name}: {error}") from None
    except (TypeError, ValueError) as error:
        raise ExampleError(f"{path.name}: {error}: write dates, inf and nan as text") from None
    return Example(
        id=path.stem,
        title=front["title"],
        summary=front["summary"].strip(),
        payload=parsed,
        reference=front.get("reference", ""),
        order=float(order),
        files=tuple(files.items()),
    )


def _shipped(request: dict[str, Any], path: Path) -> Iterator[tuple[str, Path]]:
    """Makes uploads of the buffers that start from a shipped file, and names the files by digest. ExampleError."""
    buffers = request.get("buffers")
    for index, buffer in enumerate(buffers if isinstance(buffers, list) else ()):
        init = buffer.get("init") if isinstance(buffer, dict) else None
        if not isinstance(init, dict) or init.get("kind") != "file":
            continue
        place, name = f"{path.name}: request.buffers.{index}.init", init.get("name")
        if set(init) != {"kind", "name"} or not isinstance(name, str) or not _FILE.fullmatch(name):
            raise ExampleError(f'{place}: a file is {{ kind = "file", name = "small-letters.npy" }}')
        file = path.parent / "data" / name
        try:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise ExampleError(f"{place}: data/{name}: {error.strerror}") from None
        buffer["init"] = {"kind": "upload", "digest": digest}
        yield digest, file
