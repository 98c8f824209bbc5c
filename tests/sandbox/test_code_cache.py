"""Emulator code in the cache comes from compile children alone, and quick code gives way to good code there."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from conftest import open_box

from cli.local import MemoryBlobs
from emulator import CompiledEntry
from protocol.run import RunRequest
from sandbox.improvement import Improver
from sandbox.launcher import JobLimits, Sandbox
from sandbox.pipeline import PipelineLimits, perform
from sandbox.stores import FolderCache, Stores

LIMITS = PipelineLimits(compile=JobLimits(wall=20.0, cpu=40.0), launch=JobLimits(wall=10.0, cpu=20.0))
HEAD = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 data)
{
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
"""
STEP = "ld.global.u32 %r2, [%rd3]; add.s32 %r2, %r2, 1; st.global.u32 [%rd3], %r2;\n"


def run_of(steps: int) -> RunRequest:
    launch = {
        "kind": "launch",
        "config": {"grid": (1,), "block": (32,)},
        "arguments": ({"kind": "buffer", "buffer": "data"},),
    }
    source = {"language": "ptx", "text": f"{HEAD}{STEP * steps}ret;\n}}\n", "file_name": "twice.ptx"}
    buffers = ({"name": "data", "dtype": "int32", "shape": (32,), "init": {"kind": "zeros"}},)
    return RunRequest.model_validate({"source": source, "buffers": buffers, "steps": (launch,)})


class Watched(FolderCache):
    """A cache that knows what was put into it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.kept: dict[str, bytes] = {}

    def put(self, key: str, data: bytes) -> None:
        self.kept[key] = data
        super().put(key, data)

    @property
    def objects(self) -> list[CompiledEntry]:
        return [CompiledEntry.from_bytes(data) for data in self.kept.values() if data[:4] == b"PTXO"]


@pytest.fixture(scope="module")
def opened() -> Iterator[Sandbox]:
    with open_box("weak", ("compile", "launch")) as box:
        yield box


def performed(box: Any, stores: Stores, run: RunRequest, improver: Improver | None = None) -> str:
    events: list[object] = []
    finished = perform(box, run, "emulator", stores, events.append, threading.Event(), LIMITS, improver)
    return finished.verdict if finished.verdict == "ok" else finished.message


def test_good_code_follows_quick_code_into_the_cache(opened: Sandbox, tmp_path: Path) -> None:
    cache, improver = Watched(tmp_path), Improver()
    stores, run = Stores(cache, MemoryBlobs()), run_of(100)
    assert performed(opened, stores, run) == "ok"
    (quick,) = cache.objects
    assert quick.better
    cache.kept.clear()
    # A run from the cache brings nothing new of its own.
    assert performed(opened, stores, run) == "ok"
    assert cache.kept == {}
    assert performed(opened, stores, run, improver) == "ok"
    improver.wait()
    (good,) = cache.objects
    assert not good.better and len(good.code) < len(quick.code)
    cache.kept.clear()
    assert performed(opened, stores, run, improver) == "ok"
    improver.wait()
    assert cache.kept == {}


def test_small_kernels_have_good_code_at_once(opened: Sandbox, tmp_path: Path) -> None:
    cache, improver = Watched(tmp_path), Improver()
    assert performed(opened, Stores(cache, MemoryBlobs()), run_of(1), improver) == "ok"
    (good,) = cache.objects
    assert not good.better
    kept = dict(cache.kept)
    improver.wait()
    assert cache.kept == kept


@dataclass
class Forging:
    """A box whose launch children send code of their own."""

    box: Sandbox
    started: list[str] = field(default_factory=list)

    def start(self, kind: str, request: bytes, blobs: Mapping[str, bytes], limits: JobLimits) -> Any:
        self.started.append(kind)
        return self if kind == "launch" else self.box.start(kind, request, blobs, limits)

    def messages(self) -> Iterator[tuple[dict[str, str], bytes]]:
        yield {"artifact": "object", "key": "twice:32,1,1", "quality": "good"}, b"PTXO forged"

    def cancel(self) -> None: ...

    def wait(self) -> None: ...


def test_a_launch_child_cannot_put_code_there(opened: Sandbox, tmp_path: Path) -> None:
    cache, forging = Watched(tmp_path), Forging(opened)
    stores, run = Stores(cache, MemoryBlobs()), run_of(2)
    assert performed(opened, stores, run) == "ok"
    kept = dict(cache.kept)
    assert "broke the protocol" in performed(forging, stores, run)
    assert forging.started == ["launch"]
    assert cache.kept == kept
    assert performed(opened, stores, run) == "ok"


def test_one_improvement_at_a_time() -> None:
    improver, hold, did = Improver(), threading.Event(), []

    def first(stopping: threading.Event) -> None:
        hold.wait(10)
        did.append("first")

    improver.offer(first)
    improver.offer(lambda stopping: did.append("second"))
    hold.set()
    improver.wait()
    improver.offer(lambda stopping: did.append("third"))
    improver.close()
    improver.offer(lambda stopping: did.append("fourth"))
    assert did == ["first", "third"]
