"""The corpus's CUDA C++ rows, compiled and run: one block of 32 threads, buffers of 1,024 zeros, integers 1,024."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from attacks import Attack, corpus, listing, room
from planted import Planted, lives, processes, zygotes
from pydantic import ValidationError

from protocol.events import Event
from protocol.inspection import InspectRequest
from protocol.kernel import Entry
from protocol.run import CompileRequest, RunRequest
from protocol.source import Source
from sandbox.inspection import inspect
from sandbox.launcher import JobLimits, Sandbox
from sandbox.pipeline import PipelineLimits, perform
from sandbox.stores import FolderBlobs, FolderCache, Stores

KERNELS = corpus("cu")
LIMITS = PipelineLimits(
    compile=JobLimits(wall=30, cpu=8, memory=512 << 20), launch=JobLimits(wall=20, cpu=8, memory=512 << 20)
)


def limits_for(attack: Attack) -> PipelineLimits:
    """Short only where a limit is an expected end: no verdict may hang on how busy this machine is."""
    compile, launch = LIMITS.compile, LIMITS.launch
    if {"limit:cpu", "any"} & set(attack.expect):
        compile = dataclasses.replace(compile, cpu=1)
    if "limit:wall" in attack.expect:
        launch = dataclasses.replace(launch, wall=2)
    return PipelineLimits(compile, launch)


HARMLESS = 'extern "C" __global__ void k(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = 6 * 7; }'
_WEAK_SAMPLE = {"cu02_inc_environ", "cu12_bigarr", "cu15_nest", "cu27_oob_write", "cu30_shellcode"}
# The attack of this row is not its source but the names that a request asks to launch.
_NAMES = {"cu41_name_injection": "k\u0000"}
_ANSWER_BYTES = 4 << 20
_DIAGNOSTICS = 200


@dataclasses.dataclass
class Ending:
    """How a source fared: its verdict, everything that came back, and the PTX's size in bytes."""

    verdict: str
    said: bytes
    ptx: int = 0
    diagnostics: int = 0
    buffers: dict[str, bytes] = dataclasses.field(default_factory=dict)


def request_for(source: Source, entry: Entry, name: str | None = None) -> RunRequest:
    buffers, arguments = [], []
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


# What the corpus's words about a row ask for, beyond the standard; each raises AssertionError.


def no_host_file(ending: Ending) -> None:
    for word in (b"localhost", b"root:", b"PATH="):
        assert word not in ending.said


def sizes_bounded(ending: Ending) -> None:
    assert len(ending.said) < _ANSWER_BYTES
    assert ending.diagnostics <= _DIAGNOSTICS


CHECKS: dict[str, tuple[Callable[[Ending], None], ...]] = {
    "std": (),
    "no canary": (no_host_file,),
    "no host file": (no_host_file,),
    "within limits; PTX size bounded": (sizes_bounded,),
    "worker alive": (),
    "log bounded; UI markers bounded": (sizes_bounded,),
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


def play(attack: Attack, box: Sandbox, planted: Planted, folder: Path) -> None:
    before, files, free, servers = processes(box), listing(), room(), zygotes(box)
    connections = len(planted.connections)
    ending = fare(box, attack.source, folder, _NAMES.get(attack.id), limits_for(attack))
    expected = {"any"} & set(attack.expect) or set(attack.expect)
    assert expected == {"any"} or ending.verdict in expected, ending
    assert b"This is our fault" not in ending.said
    for word in (b"PWNED", b"CANARY"):
        assert word not in ending.said
    for check in CHECKS[attack.check]:
        check(ending)
    assert not processes(box) - before
    assert zygotes(box) == servers
    assert all(map(lives, servers))
    assert len(planted.connections) == connections
    assert {
        folder: sorted(new for new in now - files[folder] if "PWNED" in new) for folder, now in listing().items()
    } == {folder: [] for folder in files}
    assert free[0] - room()[0] < 2 << 30
    after = fare(box, HARMLESS.encode(), folder, limits=PipelineLimits())
    assert after.verdict == "ok", after
    assert after.buffers["b0"][:4] == bytes.fromhex("00002842"), "42.0 in every one of the first 32 elements"


@pytest.mark.parametrize("attack", KERNELS, ids=lambda attack: attack.id)
def test_kernel_attack_strong(attack: Attack, strong: Sandbox, planted: Planted, tmp_path: Path) -> None:
    play(attack, strong, planted, tmp_path)


@pytest.mark.parametrize(
    "attack",
    [pytest.param(attack, marks=() if attack.id in _WEAK_SAMPLE else pytest.mark.long) for attack in KERNELS],
    ids=lambda attack: attack.id,
)
def test_kernel_attack_weak(attack: Attack, weak: Sandbox, planted: Planted, tmp_path: Path) -> None:
    play(attack, weak, planted, tmp_path)


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ('k"; import os; os.system("touch /tmp/PWNED_name") #', ("4xx", "error")),
        ("../../k", ("4xx", "error")),
        ("k\u0000", ("4xx",)),
        ("k\n", ("4xx",)),
    ],
)
def test_names_reach_no_shell(strong: Sandbox, tmp_path: Path, name: str, verdicts: tuple[str, ...]) -> None:
    ending = fare(strong, HARMLESS.encode(), tmp_path, name)
    assert ending.verdict in (*verdicts, "compile-error"), ending
    assert not Path("/tmp/PWNED_name").exists()
