"""A sandbox with a real GPU for tests marked `gpu`, and pieces of requests for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from protocol.events import Event, EventRecord, Finished
from protocol.result import RunResult, fold
from protocol.run import RunRequest
from sandbox.gpu_use import GpuUse
from sandbox.gpus import Gpu, find_gpus
from sandbox.launcher import JobLimits, Sandbox
from sandbox.pipeline import PipelineLimits, perform
from sandbox.profiles import compiling_kinds
from sandbox.stores import FolderBlobs, FolderCache, Stores

LIMITS = PipelineLimits(compile=JobLimits(wall=30), launch=JobLimits(wall=10, cpu=40, memory=4 << 30))


@dataclass
class Bench:
    """A sandbox with the first GPU, and what its runs keep."""

    gpu: Gpu
    box: Sandbox
    stores: Stores
    use: GpuUse

    def run(
        self, run: RunRequest, limits: PipelineLimits = LIMITS, cancelled: threading.Event | None = None
    ) -> tuple[RunResult, Finished]:
        events: list[Event] = []
        stop = cancelled or threading.Event()
        end = perform(self.box, run, self.gpu.device, self.stores, events.append, stop, limits, use=self.use)
        records = [EventRecord(id=f"1-{index}", at=0.0, event=event) for index, event in enumerate([*events, end])]
        return fold(records), end

    def array(self, result: RunResult, name: str) -> Any:
        event = next(item for item in result.buffers if item.name == name)
        return np.frombuffer(self.stores.blobs.get(event.digest) or b"", event.dtype).reshape(event.shape)

    def told(self, run: RunRequest, emit: Callable[[Event], None]) -> Finished:
        return perform(self.box, run, self.gpu.device, self.stores, emit, threading.Event(), LIMITS, use=self.use)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    gpu = find_gpus()[0]
    folder = tmp_path_factory.mktemp("gpu")
    with Sandbox(profiles=(*compiling_kinds(), "reference", "launch-gpu"), gpu=gpu) as box:
        use = GpuUse.opened(gpu)
        yield Bench(gpu, box, Stores(FolderCache(folder / "cache"), FolderBlobs(folder / "blobs")), use)
        use.close()


def request(bench: Bench, text: str, steps: list[Any], *buffers: dict[str, Any], **fields: Any) -> RunRequest:
    fields = {"architecture": bench.gpu.architecture, **fields}
    values = {"source": {"text": text}, "buffers": buffers, "steps": steps, **fields}
    return RunRequest.model_validate_json(json.dumps(values))


def launch(
    *arguments: str, grid: int = 1, block: int = 32, shared: int = 0, entry: str = "", **config: Any
) -> dict[str, Any]:
    return {
        "kind": "launch",
        "entry": entry,
        "config": {"grid": [grid], "block": [block], "dynamic_shared_bytes": shared, **config},
        "arguments": [{"kind": "buffer", "buffer": name} for name in arguments],
    }


def buffer(name: str, dtype: str = "int32", shape: int = 32, role: str = "inout", **init: Any) -> dict[str, Any]:
    init.setdefault("kind", "zeros")
    return {"name": name, "dtype": dtype, "shape": [shape], "role": role, "init": init}
