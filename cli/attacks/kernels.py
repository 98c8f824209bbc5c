"""Attacks in CUDA C++: compiled and launched with one block of 32 threads, buffers of 1,024 zeros, integers 1,024."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from cli.attacks.corpus import Attack, demand
from cli.attacks.house import House
from cli.attacks.planted import Planted
from protocol.events import Event
from protocol.inspection import InspectRequest
from protocol.kernel import Entry
from protocol.run import CompileRequest, RunRequest
from protocol.source import Source
from sandbox.inspection import inspect
from sandbox.launcher import JobLimits, Sandbox
from sandbox.pipeline import PipelineLimits, perform
from sandbox.stores import FolderBlobs, FolderCache, Stores

LIMITS = PipelineLimits(
    compile=JobLimits(wall=30, cpu=8, memory=512 << 20), launch=JobLimits(wall=20, cpu=8, memory=512 << 20)
)
HARMLESS = 'extern "C" __global__ void k(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = 6 * 7; }'
_FORTY_TWO = bytes.fromhex("00002842")
_NAMES = {"names match ^[A-Za-z_]\\w{0,127}$": "k\u0000"}
"""Where this is the check, the attack is not the source but the name of the kernel that a request asks for."""
_ANSWER_BYTES = 4 << 20
_DIAGNOSTICS = 200


@dataclasses.dataclass
class Ending:
    """How a source fared: its verdict, everything that came back, the PTX's size in bytes, results by name."""

    verdict: str
    said: bytes
    ptx: int = 0
    diagnostics: int = 0
    buffers: dict[str, bytes] = dataclasses.field(default_factory=dict)


def _limits(attack: Attack) -> PipelineLimits:
    """Short only where a limit is an expected end: no verdict may hang on how busy this machine is."""
    compile, launch = LIMITS.compile, LIMITS.launch
    if {"limit:cpu", "any"} & set(attack.expect):
        compile = dataclasses.replace(compile, cpu=1)
    if "limit:wall" in attack.expect:
        launch = dataclasses.replace(launch, wall=2)
    return PipelineLimits(compile, launch)


def request_for(source: Source, entry: Entry, name: str | None = None) -> RunRequest:
    """A launch of an entry, or of one called `name`. Raises ValidationError."""
    buffers: list[dict[str, object]] = []
    arguments: list[dict[str, object]] = []
    for index, parameter in enumerate(entry.parameters):
        if parameter.kind == "pointer":
            buffers.append({"name": f"b{index}", "dtype": parameter.dtype or "float32", "shape": [1024]})
            arguments.append({"kind": "buffer", "buffer": f"b{index}"})
        else:
            arguments.append({"kind": "scalar", "value": 1024})
    launch = {
        "kind": "launch",
        "entry": entry.name if name is None else name,
        "config": {"grid": [1], "block": [32]},
        "arguments": arguments,
    }
    values = {"source": source.model_dump(), "buffers": buffers, "steps": [launch], "device": "emulator"}
    return RunRequest.model_validate_json(json.dumps(values))


def fare(box: Sandbox, text: bytes, folder: Path, name: str | None = None, limits: PipelineLimits = LIMITS) -> Ending:
    """Compile, then launch the first entry (or the entry called `name`), as a user's request would."""
    try:
        source = Source(text=text.decode())
    except (UnicodeDecodeError, ValidationError) as error:
        return Ending("4xx", str(error).encode()[:10_000])
    stores = Stores(FolderCache(folder / "cache"), FolderBlobs(folder / "blobs"))
    report = inspect(box, InspectRequest(compile=CompileRequest(source=source)), stores, threading.Event(), limits)
    ending = Ending(report.verdict, report.model_dump_json().encode(), len(report.ptx), len(report.diagnostics))
    if report.verdict != "ok":
        return ending
    if not report.entries:
        return dataclasses.replace(ending, verdict="compile-error")
    entry = next((entry for entry in report.entries if entry.display.startswith("k")), report.entries[0])
    try:
        run = request_for(source, entry, name)
    except ValidationError as error:
        return dataclasses.replace(ending, verdict="4xx", said=ending.said + str(error).encode())
    events: list[Event] = []
    finished = perform(box, run, "emulator", stores, events.append, threading.Event(), limits)
    said = b"\n".join([ending.said, *(event.model_dump_json().encode() for event in events)])
    for event in events:
        if event.kind == "buffer-read":
            ending.buffers[event.name] = stores.blobs.get(event.digest) or b""
    return dataclasses.replace(ending, verdict=finished.verdict, said=said + finished.message.encode())


# What a corpus's words about a row ask for, beyond the standard; each raises GotThrough.


def _no_host_file(ending: Ending) -> None:
    for word in (b"localhost", b"root:", b"PATH="):
        demand(word not in ending.said, f"{word.decode()} came back")


def _sizes_bounded(ending: Ending) -> None:
    demand(len(ending.said) < _ANSWER_BYTES, f"{len(ending.said)} bytes came back")
    demand(ending.diagnostics <= _DIAGNOSTICS, f"{ending.diagnostics} diagnostics came back")


CHECKS: dict[str, tuple[Callable[[Ending], None], ...]] = {
    "std": (),
    "no canary": (_no_host_file,),
    "no host file": (_no_host_file,),
    "within limits; PTX size bounded": (_sizes_bounded,),
    "worker alive": (),
    "log bounded; UI markers bounded": (_sizes_bounded,),
    "refused with 4xx or compiled as given: validator and compiler see the same text": (),
    "the right kernel is launched or a clear error": (),
    "4xx or compile error": (),
    "GPU context dropped; next job ok": (),
    "names checked after compilation, not by text": (),
    "worker alive; result refused": (),
    "seccomp + Landlock hold": (),
    "no crash of the worker": (),
    "no 500": (),
    "size limit is in bytes, before queueing": (),
    "names match ^[A-Za-z_]\\w{0,127}$": (),
    "analysis is not by regex": (),
}


def play(attack: Attack, box: Sandbox, planted: Planted, folder: Path) -> str:
    """The verdict of an attack that was held; `folder` for the compile cache. Raises GotThrough."""
    house = House.seen(box, planted)
    ending = fare(box, attack.source, folder, _NAMES.get(attack.check), _limits(attack))
    attack.judge(ending.verdict)
    demand(b"This is our fault" not in ending.said, "a fault of our own")
    house.nothing_said(ending.said)
    for check in CHECKS.get(attack.check, ()):
        check(ending)
    house.nobody_left()
    house.zygotes_live()
    house.no_new_file()
    house.room_unchanged()
    after = fare(box, HARMLESS.encode(), folder, limits=PipelineLimits())
    demand(after.verdict == "ok", f"the next kernel ended with {after.verdict}: {after.said[-500:]!r}")
    demand(after.buffers["b0"][:128] == _FORTY_TWO * 32, "the next kernel's result is wrong")
    return ending.verdict
