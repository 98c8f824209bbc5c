"""What `warpyard run` keeps of a run: buffers and the film, each as a .npy file."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.usage import Refused

if TYPE_CHECKING:
    from protocol.events import BufferRead
    from protocol.film import Filmed
    from protocol.result import RunResult
    from protocol.run import RunRequest

Blob = Callable[[str], bytes | None]


@dataclass(frozen=True)
class Kept:
    """Files by the buffer that goes there, and the file of the film."""

    buffers: dict[str, Path]
    film: Path | None = None

    def check(self, request: "RunRequest") -> None:
        """Raises Refused where the run will have nothing of the kind."""
        readable = {buffer.name for buffer in request.buffers if buffer.role != "in"}
        for name in self.buffers:
            if name not in readable:
                known = ", ".join(sorted(readable))
                raise Refused(f"--save {name}: not a buffer that is read back (there are: {known})")
        if self.film is not None and request.film is None:
            raise Refused("--save-film: there is no film to keep: name a buffer with --film NAME")

    def save(self, result: "RunResult", blob: Blob) -> None:
        """Writes the files; says where there was nothing to write. Raises Refused."""
        for name, path in self.buffers.items():
            read = [event for event in result.buffers if event.name == name]
            _write(f"--save {name}", path, read[:1], blob, f"{name} was not read back", stacked=False)
        if self.film is not None:
            _write("--save-film", self.film, result.film, blob, "the run left no frame", stacked=True)


def save_targets(save: Sequence[str] | None, film: str | None) -> Kept:
    """From the options as typed. Raises Refused."""
    targets = {}
    for text in save or ():
        name, equals, path = text.partition("=")
        if not equals or not name:
            raise Refused(f"--save {text}: expected NAME=file.npy")
        targets[name] = _target(f"--save {text}", path, "NAME=file.npy")
    return Kept(targets, None if film is None else _target(f"--save-film {film}", film, "file.npy"))


def _target(option: str, path: str, expected: str) -> Path:
    if not path.endswith(".npy"):
        raise Refused(f"{option}: expected {expected}")
    if not Path(path).parent.is_dir():
        raise Refused(f"{option}: {Path(path).parent} is no folder")
    return Path(path)


def _write(
    option: str,
    path: Path,
    events: "Sequence[BufferRead] | Sequence[Filmed]",
    blob: Blob,
    missing: str,
    *,
    stacked: bool,
) -> None:
    import numpy

    from cli.report import array_of

    pairs = [(event, blob(event.digest)) for event in events]
    arrays = [array_of(event, data) for event, data in pairs if data is not None]
    if not arrays or len(arrays) < len(pairs):
        typer.echo(f"warpyard: {missing}, so {path} is not written", err=True)
        return
    array = numpy.stack(arrays) if stacked else arrays[0]
    array = array.view(numpy.uint16) if events[0].dtype == "bfloat16" else array
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # A file that was there stays whole where the disk is full.
        with part.open("wb") as file:
            numpy.lib.format.write_array_header_1_0(file, numpy.lib.format.header_data_from_array_1_0(array))
            file.write(array.reshape(-1).view(numpy.uint8).data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Refused(f"{option}: {path}: {(error.strerror or str(error)).lower()}", code=1) from None
