"""Reads examples/<id>.cu, .ptx or .py: a kernel with its launch in TOML before; data/ has the files they ship."""

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
_PYTHON_FRONT = re.compile(r"\A'''! warpyard[ \t]*\n(?P<toml>.*?)^'''[ \t]*\n", re.DOTALL | re.MULTILINE)
_LANGUAGES = {".cu": "cuda-c++", ".ptx": "ptx", ".py": "numba"}
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
    paths = (path for path in folder.iterdir() if path.suffix in _LANGUAGES)
    return sorted((read_example(path) for path in paths), key=lambda item: (item.order, item.id))


def read_example(path: Path) -> Example:
    """One example. The source that is shown is the file without its front matter. Raises ExampleError."""
    if not _ID.fullmatch(path.stem):
        raise ExampleError(f"{path.name}: an example's name has small letters, digits and hyphens only")
    text = path.read_text(encoding="utf-8")
    begin, end, front = ("'''", "'''", _PYTHON_FRONT) if path.suffix == ".py" else ("/*", "*/", _FRONT)
    found = front.match(text)
    if found is None:
        raise ExampleError(f"{path.name}: the first line must be {begin}! warpyard, and a later one {end}")
    try:
        given: dict[str, Any] = tomllib.loads(found["toml"])
    except tomllib.TOMLDecodeError as error:
        raise ExampleError(f"{path.name}: the front matter is not TOML: {error}") from None
    for name in ("title", "summary"):
        if not isinstance(given.get(name), str) or not given[name].strip():
            raise ExampleError(f"{path.name}: {name}: a text is required")
    if not isinstance(given.get("reference", ""), str):
        raise ExampleError(f"{path.name}: reference: NumPy code as text is required")
    order = given.get("order", 0)
    if isinstance(order, bool) or not isinstance(order, int | float):
        raise ExampleError(f"{path.name}: order: a number is required")
    request = {name: value for name, value in given.items() if name not in _OWN}
    request["source"] = {"text": text[found.end() :].lstrip("\n"), **request.get("source", {})}
    request["source"].setdefault("language", _LANGUAGES[path.suffix])
    request["source"].setdefault("file_name", f"kernel{path.suffix}")
    files = dict(_shipped(request, path))
    payload = {"title": given["title"], "request": request, "views": given.get("views", {})}
    try:
        body = json.dumps(payload, allow_nan=False)
        parsed = read(SharePayload, body)
    except Unreadable as error:
        raise ExampleError(f"{path.name}: {error}") from None
    except (TypeError, ValueError) as error:
        raise ExampleError(f"{path.name}: {error}: write dates, inf and nan as text") from None
    return Example(
        id=path.stem,
        title=given["title"],
        summary=given["summary"].strip(),
        payload=parsed,
        reference=given.get("reference", ""),
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
