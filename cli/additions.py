"""What `run` and `sweep` add to a launch: cells to try, a NumPy reference, instruments, an estimate, and a film."""

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.usage import Refused, refusal
from protocol.launch import Launch, dim3, walk
from protocol.reading import Unreadable, read
from protocol.run import RunRequest

ONE_AXIS = tuple((threads,) for threads in range(32, 1025, 32))
"""Every whole number of warps that a block can have."""
TWO_AXES = tuple((x, y) for x in (8, 16, 32, 64, 128) for y in (1, 2, 4, 8, 16, 32) if 32 <= x * y <= 1024)

THREE_AXES = tuple(
    (x, y, z) for x in (4, 8, 16, 32, 64) for y in (2, 4, 8, 16) for z in (2, 4, 8) if 64 <= x * y * z <= 1024
)
POWERS = tuple((1 << power,) for power in range(5, 11))
SETS = {"pow2": POWERS, "multiples": ONE_AXIS, "2d": TWO_AXES, "3d": THREE_AXES}
"""Shapes by the name that --blocks takes."""

NAMES = (
    ("sweep.where", "--where"),
    ("sweep.grid", "--grid-of"),
    ("sweep.dynamic_shared_bytes", "--shared-of"),
    ("sweep.macros", "--macro"),
    ("sweep.sample", "--random"),
    ("sweep.seed", "--seed"),
    ("sweep", "--blocks"),
    ("estimate", "--estimate-on"),
    ("baselines", "--baseline"),
    ("checks", "--reference"),
    ("instruments", "--check and --count"),
    ("film.every", "--film-every"),
    ("film", "--film"),
)
"""Paths in the request, and what the user typed there."""


@dataclass(frozen=True)
class Sweeping:
    """A sweep as typed."""

    blocks: str
    macros: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    grid: str = ""
    shared: str = ""
    sample: int | None = None
    seed: int = 0


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
    estimate: bool = False
    estimate_on: str = ""
    sweep: "Sweeping | None" = None
    baselines: tuple[Path, ...] = ()
    twin: bool = False

    @property
    def instruments(self) -> tuple[str, ...]:
        return tuple(name for name, wanted in (("checks", self.check), ("counters", self.count)) if wanted)

    def __post_init__(self) -> None:
        if self.reference is None and not self.twin and (self.relative, self.absolute) != (None, None):
            raise Refused("--rtol and --atol go with --reference or --twin")

    def first_macros(self, defined: Sequence[str]) -> list[str]:
        """A value for each macro that a sweep varies and nobody has given, so that the source compiles by itself."""
        given = {text.partition("=")[0] for text in defined}
        axes = [] if self.sweep is None else macro_axes(self.sweep.macros)
        return [f"{axis['name']}={axis['values'][0]}" for axis in axes if axis["name"] not in given]


def macro_axes(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Macros from texts such as TILE=8,16,32. Raises Refused."""
    axes = []
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not values.strip():
            raise Refused(f"--macro {text}: give a name and values, as in TILE=8,16,32")
        axes.append({"name": name.strip(), "values": [value.strip() for value in values.split(",")]})
    return axes


def _sweep(sweep: Sweeping, request: RunRequest) -> dict[str, object]:
    blocks = SETS.get(sweep.blocks.strip()) or shapes(sweep.blocks, request, "--blocks")
    return {
        "blocks": blocks,
        "macros": macro_axes(sweep.macros),
        "where": sweep.where,
        "grid": [part.strip() for part in sweep.grid.split(";")] if sweep.grid else [],
        "dynamic_shared_bytes": sweep.shared,
        "sample": sweep.sample,
        "seed": sweep.seed,
    }


def extended(request: RunRequest, additions: Additions) -> RunRequest:
    """The request with what was added. Raises Refused."""
    if additions == Additions():
        return request
    instruments = dict.fromkeys((*request.instruments, *additions.instruments))
    whole = request.model_dump(mode="json") | {"instruments": list(instruments)}
    if additions.sizes is not None:
        whole["sweep"] = {"blocks": shapes(additions.sizes, request)}
    if additions.sweep is not None:
        whole["sweep"] = _sweep(additions.sweep, request)
    if additions.estimate or additions.estimate_on:
        whole["estimate"] = additions.estimate_on or "auto"
    if additions.baselines:
        whole["baselines"] = [
            {"name": path.stem[:40] or "baseline", "text": _read(path, "--baseline")} for path in additions.baselines
        ]
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
        names = NAMES if additions.sweep is not None else (("sweep", "--try-sizes"), *NAMES)
        raise refusal(error, names) from None


def _film(additions: Additions, request: RunRequest) -> dict[str, object]:
    """The request's own film with what was typed instead; of another buffer a film of its own."""
    own = request.film.model_dump(mode="json") if request.film is not None else {}
    if additions.film is not None:
        own |= {"buffer": additions.film}
    if "buffer" not in own:
        raise Refused("--film-every goes with --film NAME: the launch has no film of its own")
    return own if additions.film_every is None else own | {"every": additions.film_every}


def shapes(text: str, request: RunRequest, option: str = "--try-sizes") -> list[tuple[int, ...]]:
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
            sets = "all" if option == "--try-sizes" else "all or one of " + ", ".join(SETS)
            raise Refused(f"{option} {text}: {part!r} is no block shape: give 32,64,128 or 16x16,32x8, or {sets}")
        found.append(shape)
    return found


def _read(path: Path, option: str = "--reference") -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{option} {path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise Refused(f"{option} {path}: byte {error.object[error.start]:#04x} is not UTF-8") from None


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
