"""Runs through the two entry points of a child, as the sandbox would make them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from engine import child_entry
from protocol.events import Event
from protocol.kernel import CompiledKernel
from protocol.run import CompileJob, LaunchRequest, RunRequest, compile_request

EVENT: TypeAdapter[Any] = TypeAdapter(Event)


@dataclass
class Job:
    """What a child sent: checked frames, as the host would read them."""

    events: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    buffers: dict[str, bytes] = field(default_factory=dict)

    def __call__(self, header: Any, payload: bytes | memoryview) -> None:
        assert len(json.dumps(header, allow_nan=False)) < 1 << 20
        if "artifact" in header:
            name = header["artifact"] if "key" not in header else f"object:{header['key']}"
            self.artifacts[name] = bytes(payload)
            return
        event = header["event"]
        if event["kind"] in ("buffer-read", "filmed"):
            self.buffers[event.get("name") or f"frame {event['round']}"] = bytes(payload)
            assert "digest" not in event
            event = {**event, "digest": "0" * 64}
        EVENT.validate_json(json.dumps(event))
        self.events.append(event)

    def kind(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == name]

    def messages(self, severity: str = "error") -> list[str]:
        items = [event["diagnostic"] for event in self.kind("diagnosed")]
        return [item["message"] for item in items if item["severity"] == severity]


def compiled(run: RunRequest, kernel: CompiledKernel | None = None) -> Job:
    job = Job()
    request = CompileJob(request=compile_request(run), run=run, device="emulator", kernel=kernel)
    child_entry.compile_job(request.model_dump_json().encode(), {}, job)
    return job


def launched(
    run: RunRequest,
    code: Job,
    kernel: CompiledKernel | None = None,
    uploads: dict[str, memoryview] | None = None,
    **options: Any,
) -> Job:
    kernel = kernel or CompiledKernel.model_validate_json(code.artifacts["kernel"])
    blobs = {name: memoryview(data) for name, data in code.artifacts.items() if name.startswith("object:")}
    job = Job()
    request = LaunchRequest(run=run, kernel=kernel, device="emulator", **options).model_dump_json().encode()
    child_entry.launch_job(request, {**blobs, **(uploads or {})}, job)
    return job


def request(text: str, **fields: Any) -> RunRequest:
    return RunRequest.model_validate_json(json.dumps({"source": {"text": text}, **fields}))


def one(text: str, *buffers: dict[str, Any], grid: int = 1, block: int = 32, **fields: Any) -> RunRequest:
    """A run of one launch, whose arguments are all its buffers."""
    arguments = [{"kind": "buffer", "buffer": buffer["name"]} for buffer in buffers]
    step = {"kind": "launch", "config": {"grid": [grid], "block": [block]}, "arguments": arguments}
    return request(text, buffers=buffers, steps=[step], **fields)


def buffer(name: str, dtype: str = "int32", shape: int = 32, role: str = "inout", **init: Any) -> dict[str, Any]:
    init.setdefault("kind", "zeros")
    return {"name": name, "dtype": dtype, "shape": [shape], "role": role, "init": init}


def ran(run: RunRequest, **options: Any) -> Job:
    code = compiled(run)
    assert code.messages() == []
    return launched(run, code, **options)


def array(job: Job, name: str, dtype: str = "int32") -> Any:
    return np.frombuffer(job.buffers[name], dtype)
