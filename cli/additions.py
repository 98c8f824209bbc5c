"""What `warpyard run` adds to a launch: block shapes to try, a NumPy reference, instruments, and a film."""

import ast
import json
from dataclasses import dataclass
from pathlib import Path

from cli.usage import Refused, refusal
from protocol.launch import Launch, dim3, walk
from protocol.reading import Unreadable, read
from protocol.run import RunRequest

ONE_AXIS = tuple((threads,) for threads in range(32, 1025, 32))
"""Every whole number of warps that a block can have."""
TWO_AXES = tuple((x, y) for x in (8, 16, 32, 64, 128) for y in (1, 2, 4, 8, 16, 32) if 32 <= x * y <= 1024)

NAMES = (
    ("sweep", "--try-sizes"),
    ("checks", "--reference"),
    ("instruments", "--check and --count"),
    ("film.every", "--film-every"),
    ("film", "--film"),
)
"""Paths in the request, and what the user typed there."""


@dataclass(frozen=True)
class Additions:
    """As typed; None where nothing was."""

    sizes: str | None = None
    reference: Path | None = None
    relative: float | None = None
    absolute: float | None = None
    check: bool = False
    count: bool = False
    film: str | None = None
    film_every: int | None = None

    @property
    def instruments(self) -> tuple[str, ...]:
        return tuple(name for name, wanted in (("checks", self.check), ("counters", self.count)) if wanted)

    def __post_init__(self) -> None:
        if self.reference is None and (self.relative, self.absolute) != (None, None):
            raise Refused("--rtol and --atol go with --reference")


def extended(request: RunRequest, additions: Additions) -> RunRequest:
    """The request with what was added. Raises Refused."""
    if additions == Additions():
        return request
    instruments = dict.fromkeys((*request.instruments, *additions.instruments))
    whole = request.model_dump(mode="json") | {"instruments": list(instruments)}
    if additions.sizes is not None:
        whole["sweep"] = {"blocks": shapes(additions.sizes, request)}
    if additions.film is not None or additions.film_every is not None:
        whole["film"] = _film(additions, request)
    if additions.reference is not None:
        text = _read(additions.reference)
        check: dict[str, object] = {"kind": "numpy", "text": text, "buffers": _defined(text, request)}
        tolerance = {"relative": additions.relative, "absolute": additions.absolute}
        check |= {name: value for name, value in tolerance.items() if value is not None}
        whole["checks"] = [*whole["checks"], check]
    try:
        return read(RunRequest, json.dumps(whole))
    except Unreadable as error:
        raise refusal(error, NAMES) from None


def _film(additions: Additions, request: RunRequest) -> dict[str, object]:
    """The request's own film with what was typed instead; of another buffer a film of its own."""
    own = request.film.model_dump(mode="json") if request.film is not None else {}
    if additions.film is not None:
        own |= {"buffer": additions.film}
    if "buffer" not in own:
        raise Refused("--film-every goes with --film NAME: the launch has no film of its own")
    return own if additions.film_every is None else own | {"every": additions.film_every}


def shapes(text: str, request: RunRequest) -> list[tuple[int, ...]]:
    """Block shapes from text such as 32,64,128 or 16x16,32x8; all is every size for a launch of as many axes."""
    if text.strip() == "all":
        blocks = [dim3(step.config.block) for _, step in walk(request.steps) if isinstance(step, Launch)]
        return list(TWO_AXES if any(y > 1 for _, y, _ in blocks) else ONE_AXIS)
    found = []
    for part in text.split(","):
        try:
            shape = tuple(int(extent) for extent in part.split("x"))
        except ValueError:
            shape = ()
        if not 1 <= len(shape) <= 3:
            raise Refused(f"--try-sizes {text}: {part!r} is no block shape: give 32,64,128 or 16x16,32x8, or all")
        found.append(shape)
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"--reference {path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise Refused(f"--reference {path}: byte {error.object[error.start]:#04x} is not UTF-8") from None


def _defined(text: str, request: RunRequest) -> list[str]:
    """The buffers that are read back and that the text assigns to: all of them where it is no Python."""
    names = [buffer.name for buffer in request.buffers if buffer.role != "in"]
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return names  # the run tells what is wrong, at its line
    mentioned = {node.id for node in nodes if isinstance(node, ast.Name)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found = [name for name in names if name in stored] or [name for name in names if name in mentioned]
    if not found:
        raise Refused(f"--reference assigns to none of the buffers that are read back ({', '.join(names) or 'none'})")
    return found
